"""A picture of calibration: how often triples of a given probability are true."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transa.data.result_files import check_target
from transa.errors import InputError
from transa.evaluation import Classification
from transa.evaluation.calibration import BINS, Reliability
from transa.evaluation.measures import wilson_interval
from transa.storage import atomic_file

SUFFIXES = (".png", ".svg", ".pdf")


def plot_reliability(result: Classification, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the share of true triples against their probability, bin by bin, and how many triples each bin holds.

    Parameters
    ----------
    result
        A classification with probabilities.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether it may replace a file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if result.probabilities is None or result.calibrator is None:
        raise InputError("a picture of reliability needs probabilities: choose a calibration", path=target)
    check_target(target, SUFFIXES, overwrite=overwrite)
    bins = Reliability.of(result.probabilities, result.labels)
    calibration = result.summary()["calibration"]
    figure = Figure(figsize=(6, 6), layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])

    filled = np.flatnonzero(bins.count)
    share = bins.true[filled] / bins.count[filled]
    spans = np.array([wilson_interval(int(bins.true[bin_]), int(bins.count[bin_])) for bin_ in filled]).T
    upper.plot([0, 1], [0, 1], "--", color="#666666", label="perfect calibration")
    upper.errorbar(
        bins.predicted[filled],
        share,
        yerr=np.maximum([share - spans[0], spans[1] - share], 0),
        fmt="o",
        color="#0072B2",
        capsize=3,
        markersize=5,
        label="share that is true, with its 95 % interval",
    )
    upper.set_ylabel("share of true triples")
    upper.set_ylim(-0.02, 1.02)
    sample = "" if result.population == len(result.triples) else f", a sample of {len(result.triples):,}"
    upper.set_title(
        f"Reliability on {result.split}{sample}: {calibration['method']}, "
        f"Brier {calibration['brier']:.3f}, ECE {calibration['ece']:.3f}"
    )

    false = bins.count - bins.true
    centres = (np.arange(BINS) + 0.5) / BINS
    width = 0.9 / BINS
    lower.bar(centres, bins.true, width, color="#0072B2", label="true")
    lower.bar(centres, false, width, bottom=bins.true, color="#E69F00", hatch="///", edgecolor="white", label="false")
    lower.set_xlabel("probability that a triple is true")
    lower.set_ylabel("triples")
    lower.set_xlim(-0.02, 1.02)
    lower.set_ylim(0, 1.2 * bins.count.max())  # room for the figures above the bars
    for centre, count in zip(centres, bins.count, strict=True):
        lower.annotate(f"{count:,}", (centre, count), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    lines, bars = upper.get_legend_handles_labels(), lower.get_legend_handles_labels()
    names = lines[1] + [f"{name} triples" for name in bars[1]]
    figure.legend(lines[0] + bars[0], names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    with atomic_file(target, overwrite=overwrite) as file:
        figure.savefig(file, format=target.suffix.lower()[1:], dpi=120)
    return target
