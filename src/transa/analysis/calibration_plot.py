"""A picture of calibration: how often triples of a given probability are true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transa.analysis.drawing import BLUE, GREY, ORANGE, drawing
from transa.errors import InputError
from transa.evaluation import Classification
from transa.evaluation.calibration import BINS, Reliability
from transa.evaluation.measures import wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_calibration(result: Classification, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the share of true triples against their probability, bin by bin, and how many triples each bin holds.

    Parameters
    ----------
    result
        A classification with probabilities.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether to replace a file that is there.
    """
    if result.probabilities is None or result.calibrator is None:
        raise InputError("a picture of calibration needs probabilities: choose a calibration", path=target)
    bins = Reliability.of(result.probabilities, result.labels)
    calibration = result.summary()["calibration"]
    sample = "" if result.population == len(result.triples) else f", a sample of {len(result.triples):,}"
    with drawing(target, 6, 6, overwrite=overwrite) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        upper.set_title(
            f"Calibration on {result.split}{sample}: {calibration['method']}, "
            f"Brier {calibration['brier']:.3f}, ECE {calibration['ece']:.3f}"
        )
        _draw_shares(upper, bins)
        _draw_counts(lower, bins)
        lines, bars = upper.get_legend_handles_labels(), lower.get_legend_handles_labels()
        names = lines[1] + [f"{name} triples" for name in bars[1]]
        figure.legend(lines[0] + bars[0], names, loc="outside lower center", ncols=2, frameon=False)
    return target


def _draw_shares(axes: Axes, bins: Reliability) -> None:
    """Draw the share of true triples in each bin that holds any, beside the diagonal of perfect calibration."""
    filled = np.flatnonzero(bins.count)
    share = bins.true[filled] / bins.count[filled]
    spans = np.array([wilson_interval(int(bins.true[bin_]), int(bins.count[bin_])) for bin_ in filled]).T
    axes.plot([0, 1], [0, 1], "--", color=GREY, label="perfect calibration")
    axes.errorbar(
        bins.predicted[filled],
        share,
        yerr=np.maximum([share - spans[0], spans[1] - share], 0),
        fmt="o",
        color=BLUE,
        capsize=3,
        markersize=5,
        label="share that is true, with its 95 % interval",
    )
    axes.set_ylabel("share of true triples")
    axes.set_ylim(-0.02, 1.02)


def _draw_counts(axes: Axes, bins: Reliability) -> None:
    """Draw how many true and false triples each bin holds."""
    centres = (np.arange(BINS) + 0.5) / BINS
    width = 0.9 / BINS
    false = bins.count - bins.true
    axes.bar(centres, bins.true, width, color=BLUE, label="true")
    axes.bar(centres, false, width, bottom=bins.true, color=ORANGE, hatch="///", edgecolor="white", label="false")
    axes.set_xlabel("probability that a triple is true")
    axes.set_ylabel("triples")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(0, 1.2 * bins.count.max())  # room for the numbers above the bars
    for centre, count in zip(centres, bins.count, strict=True):
        axes.annotate(f"{count:,}", (centre, count), (0, 2), textcoords="offset points", ha="center", fontsize=8)
