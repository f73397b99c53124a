"""A picture of an explanation: which dimensions carry the score, and where the triple stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transa.evaluation.tables import check_target
from transa.inference.explain import Explanation
from transa.inference.trained import Trained
from transa.storage import atomic_file

SUFFIXES = (".png", ".svg", ".pdf")
#: Dimensions that are drawn.
SHOWN = 15


def plot_explanation(trained: Trained, found: Explanation, target: Path, *, overwrite: bool = False) -> Path:
    """Draw what the first dimensions add to the score, and the score among those of all tails.

    Parameters
    ----------
    trained, found
        A model, and its explanation of a triple.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether it may replace a file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_target(target, SUFFIXES, overwrite=overwrite)
    figure = Figure(figsize=(13 if found.transformed else 10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    views = {"dimension": found.residual_dimensions()}
    if found.transformed is not None:
        views["transformed dimension, W = LDL' (its pivot)"] = found.dimensions()
    *panels, right = figure.subplots(1, 1 + len(views))
    for panel, (title, dimensions) in zip(panels, views.items(), strict=True):
        rows = dimensions[:SHOWN][::-1]
        colours = ["#0072B2" if row["part"] >= 0 else "#D55E00" for row in rows]
        panel.barh(range(len(rows)), [row["part"] for row in rows], color=colours)
        panel.set_yticks(range(len(rows)), [str(row["dimension"]) for row in rows])
        panel.set_xlabel("part of the score")
        panel.set_ylabel(title)
        panel.set_title("What carries the score")

    triple = trained.triple(found.triple.head, found.triple.relation, found.triple.tail)
    every = triple.repeat(trained.model.num_entities, axis=0)
    every[:, 2] = np.arange(len(every))
    scores = trained.scores(every)
    known = trained.facts.contains(every)
    bins = np.linspace(scores.min(), scores.max() + 1e-12, 41)
    right.hist([scores[known], scores[~known]], bins=bins, stacked=True, color=["#009E73", "#BBBBBB"], log=True)
    right.axvline(found.triple.score, color="#D55E00")
    if found.triple.threshold is not None:
        right.axvline(found.triple.threshold, color="#666666", linestyle="--")
    right.set_xlabel("score of (head, relation, each entity)")
    right.set_ylabel("entities")
    right.set_title(f"Rank {found.tail_rank.filtered:g} of the tail (filtered)")
    handles = [right.plot([], [], color=c, linestyle=s)[0] for c, s in (("#D55E00", "-"), ("#666666", "--"))]
    patches = [right.fill([], [], color=c)[0] for c in ("#009E73", "#BBBBBB")]
    names = ["this triple", "threshold", "known tails", "other entities"]
    right.legend([*handles, *patches], names, frameon=False, fontsize=8)
    figure.suptitle(f"{found.triple.head}, {found.triple.relation}, {found.triple.tail}")
    with atomic_file(target, overwrite=overwrite) as file:
        figure.savefig(file, format=target.suffix.lower()[1:], dpi=120)
    return target
