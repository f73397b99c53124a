"""The picture of Figure 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transa.analysis.drawing import GREEN, GREY, drawing, shortened
from transa.reproduction.figures.figure1 import Figure1, Panel
from transa.reproduction.figures.marks import draw_tails, legend_marks, name_tails
from transa.reproduction.figures.questions import Question

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Lines of equal score are drawn where residuals are this many times as long as on the line with the fewest mistakes.
STEPS = np.array([0.5, 0.75, 1.25, 1.5, 2.0])


def draw_figure1(data: Figure1, target: Path, *, overwrite: bool = False) -> Path:
    """Draw Figure 1 into a .png, .svg or .pdf file."""
    question = data.question
    with drawing(target, 7.4, 4.9, overwrite=overwrite) as figure:
        from matplotlib.lines import Line2D

        figure.suptitle(f"({shortened(question.head_name)}, {shortened(question.relation_name)}, ?)", fontsize=10.5)
        both = figure.subplots(1, 2)
        for axes, panel, letter in zip(both, data.panels, "ab", strict=True):
            _draw_panel(axes, panel, question, letter)
        counts = f"matched ({len(question.matched)})", f"unmatched ({len(question.unmatched)})"
        matched, unmatched, fewest = legend_marks(*counts, "fewest mistakes")
        star = Line2D([], [], ls="", marker="*", color="black", markersize=9, label="head + relation")
        equal = Line2D([], [], color=GREY, lw=0.6, label="equal scores")
        marks = [matched, unmatched, star, fewest, equal]
        figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False)
        origin = np.zeros((1, 2))
        for axes, panel in zip(both, data.panels, strict=True):
            name_tails(figure, axes, panel.positions, question, panel.plane_scores, limit=9, keep_off=origin)
    return target


def _draw_panel(axes: Axes, panel: Panel, question: Question, letter: str) -> None:
    """Draw the tails, the star at h + r and the lines of equal score."""
    points = np.vstack([panel.positions, [[0.0, 0.0]]])
    low, high = points.min(axis=0), points.max(axis=0)
    reach = 0.6 * float((high - low).max()) or 1.0
    sides = [np.linspace(centre - reach, centre + reach, 241) for centre in (low + high) / 2]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    height = panel.in_plane(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    border = panel.plane_separation.threshold
    if border > 0 or height.min() < border < 0:  # scores below 0 are those of a signed metric
        levels = np.sort(border * STEPS ** (2 if panel.potential.is_squared(panel.axes.shape[1]) else 1))
        axes.contour(*sides, height, levels=levels, colors=GREY, linewidths=0.6, alpha=0.7)
        axes.contour(*sides, height, levels=[border], colors=GREEN, linewidths=1.8)
    draw_tails(axes, panel.positions, question)
    axes.plot(0, 0, "*", color="black", markersize=9, zorder=5)
    axes.set_xlim(sides[0][0], sides[0][-1])
    axes.set_ylim(sides[1][0], sides[1][-1])
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    axes.set_xlabel(f"two main axes, {panel.explained:.0%} of the variance")
    mistakes = f"{panel.plane_separation.counted} in the plane, {panel.separation.mistakes} in all"
    axes.set_title(f"({letter}) {panel.label}\n{mistakes} {panel.axes.shape[1]} dimensions", loc="left")
