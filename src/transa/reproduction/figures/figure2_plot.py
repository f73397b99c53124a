"""The picture of Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transa.analysis.drawing import GREEN, drawing, shortened
from transa.reproduction.figures.figure2 import Figure2, View
from transa.reproduction.figures.marks import draw_tails, legend_marks, name_tails
from transa.reproduction.figures.questions import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_figure2(data: Figure2, target: Path, *, overwrite: bool = False) -> Path:
    """Draw Figure 2 into a .png, .svg or .pdf file."""
    relation, share = shortened(data.questions[0].relation_name), float(data.shares[data.heavy].sum())
    with drawing(target, 7.4, 0.9 + 3.5 * len(data.questions), overwrite=overwrite) as figure:
        figure.suptitle(f"{relation}: the heavier half of the dimensions has {share:.0%} of the weight", fontsize=10.5)
        grid = figure.subplots(len(data.questions), 2, squeeze=False)
        panels = [
            (axes, question, view)
            for row, question, views in zip(grid, data.questions, data.views, strict=True)
            for axes, view in zip(row, views, strict=True)
        ]
        for axes, question, view in panels:
            _draw_view(axes, question, view)
        marks = legend_marks("matched tail", "unmatched tail", "equal scores, with the fewest mistakes")
        figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
        for axes, question, view in panels:
            name_tails(figure, axes, view.positions, question, view.scores, limit=8)
    return target


def _draw_view(axes: Axes, question: Question, view: View) -> None:
    """Draw the tails, and a quarter circle at the threshold."""
    draw_tails(axes, view.positions, question)
    angles = np.linspace(0, np.pi / 2, 200)
    radius = max(view.separation.threshold, 0.0) ** 0.5
    axes.plot(radius * np.cos(angles), radius * np.sin(angles), color=GREEN, lw=1.8, zorder=2)
    start, corner = np.maximum(view.positions.min(axis=0) * 0.85, 0), view.positions.max(axis=0) * 1.12
    axes.set_xlim(start[0], corner[0])
    axes.set_ylim(start[1], corner[1])
    axes.set_title(
        f"{shortened(question.head_name)} ({len(question.matched)} tails), {view.label}\n"
        f"{view.separation.counted}, AUC {view.separation.auc:.2f}",
        loc="left",
    )
    axes.set_xlabel("loss in the lighter half of the dimensions")
    axes.set_ylabel("loss in the heavier half")
