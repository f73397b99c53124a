"""The picture of Figure 3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transa.analysis.drawing import BLUE, GREY, RED, drawing, shortened
from transa.reproduction.figures.figure3 import Figure3, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_figure3(data: Figure3, target: Path, *, top: int = 25, overwrite: bool = False) -> Path:
    """Draw Figure 3 into a .png, .svg or .pdf file.

    Parameters
    ----------
    data
        What to draw.
    target
        The file.
    top
        How many relations to draw; those with the most triples are taken.
    overwrite
        Whether to replace a file that is there.
    """
    largest = {row.relation for row in sorted(data.rows, key=lambda row: -row.triples)[:top]}
    rows = [row for row in data.rows if row.relation in largest]
    with drawing(target, 7.4, 1.7 + 0.3 * len(rows), overwrite=overwrite) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        _draw_accuracies(left, data, rows)
        _draw_differences(right, rows)
        if data.correlation is not None:
            right.set_title(f"with the gain: Spearman {data.correlation[0]:+.2f}", loc="left")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return target


def _draw_accuracies(axes: Axes, data: Figure3, rows: list[Row]) -> None:
    """Draw both accuracies of each relation, joined by a line."""
    places = np.arange(len(rows))
    accuracies = np.array([[row.plain_accuracy, row.accuracy] for row in rows]) * 100
    axes.hlines(places, accuracies.min(axis=1), accuracies.max(axis=1), color=GREY, lw=1.2, zorder=2)
    axes.plot(accuracies[:, 0], places, "o", mfc="white", mec=RED, mew=1.6, ms=7, zorder=3, label=data.plain_label)
    axes.plot(accuracies[:, 1], places, "D", color=BLUE, ms=5.5, zorder=4, label=data.label)
    axes.set_yticks(places, [f"{shortened(row.name)} ({row.triples:,})" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("accuracy (%)")
    axes.grid(axis="x", lw=0.4, alpha=0.6)
    axes.set_title(f"all: {data.plain_accuracy:.1%} and {data.accuracy:.1%}", loc="left")


def _draw_differences(axes: Axes, rows: list[Row]) -> None:
    """Draw the weight difference of each relation as a bar."""
    from matplotlib.ticker import NullFormatter

    places = np.arange(len(rows))
    axes.barh(places, [row.weight_difference or np.nan for row in rows], 0.62, color=BLUE, alpha=0.55)
    for place, row in zip(places, rows, strict=True):
        value = row.weight_difference
        text = "not defined" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
        where: Any = axes.get_yaxis_transform() if value is None else "data"  # without a value, at the left border
        axes.annotate(text, (value or 0.0, place), (3, 0), where, textcoords="offset points", va="center", fontsize=7.5)
    known = [row.weight_difference for row in rows if row.weight_difference is not None]
    wide = bool(known) and min(known) > 0 and (max(known) > 50 * min(known) or max(known) > 10_000)
    if wide:
        axes.set_xscale("log")
        axes.set_xlim(left=min(known) / 15)
        axes.xaxis.set_minor_formatter(NullFormatter())
    if known:
        axes.set_xlim(right=max(known) * (6 if wide else 1.3))
    axes.set_xlabel("weight difference:\n(largest - median) / median")
