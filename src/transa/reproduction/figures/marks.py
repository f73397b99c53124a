"""How Figures 1 and 2 draw tails: markers, legend and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from transa.analysis.drawing import GREEN, RED, shortened
from transa.models.decomposition import Matrix
from transa.reproduction.figures.questions import Question
from transa.reproduction.figures.scores import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: Markers as in the paper: crosses in navy for matched entities, circles in red for unmatched ones.
MATCHED: dict[str, Any] = {"marker": "x", "color": "#00429D", "s": 34, "linewidths": 1.6, "zorder": 4}
UNMATCHED: dict[str, Any] = {
    "marker": "o",
    "facecolors": "none",
    "edgecolors": RED,
    "s": 26,
    "linewidths": 1.1,
    "zorder": 3,
}

#: Half the width of a marker in pixels: names keep off it.
MARK = 3.5


def draw_tails(axes: Axes, positions: Matrix, question: Question) -> None:
    """Draw the tails of a question at their positions."""
    matched = question.labels == 1
    axes.scatter(*positions[~matched].T, **UNMATCHED)
    axes.scatter(*positions[matched].T, **MATCHED)


def legend_marks(matched: str, unmatched: str, threshold: str) -> tuple[Line2D, Line2D, Line2D]:
    """Return the legend's entries for matched tails, unmatched tails and the line of the threshold, with these labels."""
    from matplotlib.lines import Line2D

    return (
        Line2D([], [], ls="", marker="x", color=MATCHED["color"], label=matched),
        Line2D([], [], ls="", marker="o", mfc="none", mec=UNMATCHED["edgecolors"], label=unmatched),
        Line2D([], [], color=GREEN, lw=1.8, label=threshold),
    )


def name_tails(
    figure: Figure,
    axes: Axes,
    positions: Matrix,
    question: Question,
    scores: Vector,
    *,
    limit: int,
    keep_off: Matrix | None = None,
) -> None:
    """Write the names of tails where there is room: first of matched, then of unmatched ones, the best scores first.

    Parameters
    ----------
    figure, axes
        The figure and its axes.
    positions, question, scores
        The tails, where they are drawn, and their scores.
    limit
        Write at most this many names.
    keep_off
        More points that names must not cover.
    """
    order = np.lexsort((scores, -question.labels))
    names = [shortened(question.names[one], 22) for one in order]
    points = positions[order] if keep_off is None else np.vstack([positions[order], keep_off])
    place_labels(figure, axes, points, names, limit=limit)


def place_labels(
    figure: Figure, axes: Axes, points: npt.NDArray[np.float64], texts: Sequence[str], *, limit: int = 8
) -> list[str]:
    """Write names beside points where there is room, and return the names that were written.

    Names are placed in the order given. Each is tried on eight sides of its point. It is left out where it would cover another name or
    a point, or leave the axes.

    Parameters
    ----------
    figure, axes
        The figure and its axes. Their layout is fixed from here on.
    points
        The positions of all points.
    texts
        The names of the first points.
    limit
        Write at most this many names.
    """
    from matplotlib.patheffects import withStroke

    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    frame = axes.get_window_extent()
    pixels = axes.transData.transform(points)
    taken: list[Any] = []
    written: list[str] = []
    sides = [("left", 1), ("right", -1), ("center", 0)]
    for point, text in zip(points, texts, strict=False):
        if len(written) == limit:
            break
        for (align, right), up in ((side, up) for up in (0, 1, -1) for side in sides if up or side[1]):
            label = axes.annotate(
                text,
                (float(point[0]), float(point[1])),
                (6.0 * right, (4.0 if right else 6.0) * up),
                textcoords="offset points",
                ha=align,
                va={0: "center", 1: "bottom", -1: "top"}[up],
                fontsize=7,
                color="#222222",
                zorder=6,
                path_effects=[withStroke(linewidth=1.8, foreground="white")],  # lines may pass below
            )
            label.set_in_layout(False)
            box = label.get_window_extent()
            inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1
            x, y = pixels[:, 0], pixels[:, 1]
            near_x = (x > box.x0 - MARK) & (x < box.x1 + MARK)
            near_y = (y > box.y0 - MARK) & (y < box.y1 + MARK)
            if inside and not (near_x & near_y).any() and not any(box.overlaps(other) for other in taken):
                taken.append(box.padded(2))
                written.append(text)
                break
            label.remove()
    return written
