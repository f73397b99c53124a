"""The picture of what the metric is worth: TransA beside the TransE that is trained alike, dataset by dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transa.analysis.drawing import BLUE, GREY, RED, drawing
from transa.reproduction.comparison import ComparisonTable, Value
from transa.reproduction.metric_study import beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A row of TransA, and that of the TransE trained alike.
Pair = tuple[Mapping[str, Value], Mapping[str, Value]]


def draw_study(tables: Sequence[ComparisonTable], target: Path, *, overwrite: bool = False) -> Path:
    """Draw the MRR of each variant with and without the metric into a .png, .svg or .pdf file.

    Parameters
    ----------
    tables
        The tables of the study (`transa.reproduction.metric_study.study_tables`); those of link prediction are drawn.
    target
        The file.
    overwrite
        Whether to replace a file that is there.
    """
    measured = {table.title.rpartition(" on ")[2]: _pairs(table) for table in tables if table.name.startswith("metric")}
    drawn = {name: pairs for name, pairs in measured.items() if pairs}
    heights = [max(1, len(pairs)) for pairs in drawn.values()]
    with drawing(target, 7.4, 1.5 + 0.25 * sum(heights) + 0.35 * len(heights), overwrite=overwrite) as figure:
        panels = figure.subplots(len(drawn) or 1, 1, squeeze=False, sharex=True, height_ratios=heights or [1])[:, 0]
        for axes, (name, pairs) in zip(panels, drawn.items(), strict=False):
            _draw(axes, name, pairs)
        panels[-1].set_xlabel("MRR on the test split, filtered, both sides; bars: standard deviation over seeds")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return target


def _pairs(table: ComparisonTable) -> list[Pair]:
    """Return the measured rows of TransA that have a measured TransE beside them."""
    if not any(column.key == "measured_mrr" for column in table.columns):
        return []
    found = [(row, beside(table, row)) for row in table.rows]
    return [
        (row, plain)
        for row, plain in found
        if plain is not None and row["measured_mrr"] is not None and plain["measured_mrr"] is not None
    ]


def _draw(axes: Axes, name: str, pairs: Sequence[Pair]) -> None:
    """Draw both MRRs of each variant, joined by a line."""
    places = np.arange(len(pairs))
    values = np.array([[plain["measured_mrr"], ours["measured_mrr"]] for ours, plain in pairs], float)
    spreads = np.array([[row["measured_mrr_deviation"] or 0 for row in (plain, ours)] for ours, plain in pairs], float)
    axes.hlines(places, values.min(axis=1), values.max(axis=1), color=GREY, lw=1.2, zorder=2)
    marks: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("o", {"mfc": "white", "mec": RED}, "TransE trained alike"),
        ("D", {"color": BLUE}, "with the metric"),
    )
    for column, (mark, colours, label) in enumerate(marks):
        axes.errorbar(
            *(values[:, column], places),
            xerr=spreads[:, column],
            fmt=mark,
            ms=5.5,
            ecolor=GREY,
            zorder=3 + column,
            label=label,
            **colours,
        )
    axes.set_yticks(places, [str(ours["recipe"]) for ours, _ in pairs])
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.grid(axis="x", lw=0.4, alpha=0.6)
    axes.set_title(name, loc="left")
