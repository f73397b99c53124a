"""Tables 1 to 4 of the paper, with our figures beside its own. What has not been measured is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transa.data.registry import DATASETS
from transa.data.relations import CATEGORIES
from transa.reproduction.comparison import Column, ComparisonTable, Value
from transa.reproduction.metric_study import study_tables
from transa.reproduction.paper import printed
from transa.reproduction.plan import Cell, Plan, Row
from transa.reproduction.records import Results

#: Systems with a second row in Table 2, for tails alone: the paper seems to print these.
ONE_SIDED = ("transa", "adaptive_metric")


def make_tables(plan: Plan, results: Results) -> list[ComparisonTable]:
    """Return the tables of a plan: one for each dataset, except that Tables 1 and 4 hold all datasets."""
    if plan.table == "table1":
        return [_table1(plan, results)]
    cells = {(cell.row, cell.dataset): cell for cell in plan.cells}
    if plan.table == "table4":
        return [_table4(plan, results, cells)]
    if plan.table == "metric":
        return study_tables(plan, results)
    make = _table2 if plan.table == "table2" else _table3
    return [make(plan, results, cells, dataset) for dataset in plan.datasets]


_SYSTEM = (Column("system", "system", "name"), Column("recipe", "recipe", "name"))


def _table1(plan: Plan, results: Results) -> ComparisonTable:
    figures = (("relations", 0), ("entities", 0), ("train", 0), ("valid", 0), ("test", 0), ("atpe", 2))
    labels = {
        "relations": "#Rel",
        "entities": "#Ent",
        "train": "#Train",
        "valid": "#Valid",
        "test": "#Test",
        "atpe": "ATPE",
    }
    columns = [Column("dataset", "dataset", "name")]
    for name, digits in figures:
        columns += [
            Column(f"paper_{name}", labels[name], "paper", digits),
            Column(f"measured_{name}", labels[name], "measured", digits),
        ]
    rows = []
    for dataset in plan.datasets:
        paper, ours = printed("table1", dataset) or {}, results.statistics.get(dataset, {})
        row: dict[str, Value] = {"dataset": DATASETS[dataset].name}
        for name, _ in figures:
            row |= {f"paper_{name}": paper.get(name), f"measured_{name}": ours.get(name)}
        rows.append(row)
    return ComparisonTable("table1", "Table 1: statistics of datasets", tuple(columns), tuple(rows))


def _table2(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell], dataset: str) -> ComparisonTable:
    figures = (
        ("mr_raw", "MR raw", "raw", "mr", 1),
        ("mr_filtered", "MR filtered", "filtered", "mr", 1),
        ("hits10_raw", "Hits@10 raw (%)", "raw", "hits@10", 100),
        ("hits10_filtered", "Hits@10 filtered (%)", "filtered", "hits@10", 100),
    )
    columns = [*_SYSTEM, Column("side", "side of ours", "name")]
    for key, label, *_ in figures:
        columns += [
            Column(f"paper_{key}", label, "paper", 0 if key.startswith("mr") else 1),
            Column(f"measured_{key}", label, "measured"),
        ]
    columns += [
        Column("measured_mrr", "MRR", "measured", 3),
        Column("measured_hits1", "Hits@1 (%)", "measured"),
        Column("measured_seconds", "training (s)", "measured", 0),
    ]
    rows = []
    for row in plan.rows:
        paper = printed("table2", dataset, row.model) or [None] * len(figures)
        record = results.find(cells[row, dataset], task="link_prediction")
        for side, found in _sides(record, row):
            line: dict[str, Value] = {**_names(row), "side": side}
            for figure, theirs in zip(figures, paper, strict=True):
                key, _, kind, measure, factor = figure
                line[f"paper_{key}"] = theirs
                line[f"measured_{key}"] = None if found is None else factor * found[kind][measure]
            line["measured_mrr"] = None if found is None else found["filtered"]["mrr"]
            line["measured_hits1"] = None if found is None else 100 * found["filtered"]["hits@1"]
            line["measured_seconds"] = _seconds(record)
            rows.append(line)
    title = f"Table 2: link prediction on {DATASETS[dataset].name}"
    return ComparisonTable(f"table2_{dataset}", title, tuple(columns), tuple(rows))


def _sides(record: Mapping[str, Any] | None, row: Row) -> list[tuple[str, Any]]:
    """Return the lines of a row of Table 2: the sides that are measured, and the measures of each, or None.

    A model with a loop prior has a line more, without the prior, as all published figures are.
    """
    sides = ("both", "tail") if row.model in ONE_SIDED else ("both",)
    if record is None:
        return [(side, None) for side in sides]
    measured = record["link_prediction"]
    found = [(side, measured[side]) for side in sides]
    prior = measured.get("loop_prior")
    return [*found, ("both, without the loop prior", prior["without"]["both"])] if prior else found


def _table3(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell], dataset: str) -> ComparisonTable:
    places = [(side, category) for side in ("head", "tail") for category in CATEGORIES]
    columns = list(_SYSTEM)
    for side, category in places:
        columns += [
            Column(f"{source}_{side}_{category}", f"{side} {category}", source) for source in ("paper", "measured")
        ]
    columns.append(Column("measured_seconds", "training (s)", "measured", 0))
    rows = []
    for row in plan.rows:
        paper = printed("table3", dataset, row.model) or [None] * len(places)
        record = results.find(cells[row, dataset], task="link_prediction")
        categories = record["link_prediction"]["categories"] if record else {}
        line: dict[str, Value] = _names(row)
        for (side, category), theirs in zip(places, paper, strict=True):
            line[f"paper_{side}_{category}"] = theirs
            found = categories.get(category)
            line[f"measured_{side}_{category}"] = None if found is None else 100 * found[side]["filtered"]["hits@10"]
        line["measured_seconds"] = _seconds(record)
        rows.append(line)
    title = f"Table 3: Hits@10 (%, filtered) on {DATASETS[dataset].name} by side and category"
    return ComparisonTable(f"table3_{dataset}", title, tuple(columns), tuple(rows))


def _table4(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell]) -> ComparisonTable:
    averaged = {"wn11", "fb13"} <= set(plan.datasets)  # the paper prints the mean of these two
    columns = list(_SYSTEM)
    for dataset in plan.datasets:
        name = DATASETS[dataset].name
        columns += [
            Column(f"paper_accuracy_{dataset}", f"{name} accuracy (%)", "paper"),
            Column(f"measured_accuracy_{dataset}", f"{name} accuracy (%)", "measured"),
            Column(f"measured_f1_{dataset}", f"{name} F1 (%)", "measured"),
            Column(f"measured_seconds_{dataset}", f"{name} training (s)", "measured", 0),
        ]
    if averaged:
        columns += [Column("paper_mean", "mean (%)", "paper"), Column("measured_mean", "mean (%)", "measured")]
    rows = []
    for row in plan.rows:
        line: dict[str, Value] = _names(row)
        for dataset in plan.datasets:
            record = results.find(cells[row, dataset], task="classification")
            found = record["classification"] if record else {}
            line[f"paper_accuracy_{dataset}"] = (printed("table4", dataset, row.model) or [None])[0]
            for measure in ("accuracy", "f1"):
                value = found.get(measure)
                line[f"measured_{measure}_{dataset}"] = None if value is None else 100 * value
            line[f"measured_seconds_{dataset}"] = _seconds(record)
        if averaged:
            line["paper_mean"] = (printed("table4", "mean", row.model) or [None])[0]
            both = [line["measured_accuracy_wn11"], line["measured_accuracy_fb13"]]
            numbers = [value for value in both if isinstance(value, int | float)]
            line["measured_mean"] = sum(numbers) / 2 if len(numbers) == 2 else None
        rows.append(line)
    return ComparisonTable("table4", "Table 4: triple classification", tuple(columns), tuple(rows))


def _names(row: Row) -> dict[str, Value]:
    return {"system": row.label, "recipe": row.recipe or ""}


def _seconds(record: Mapping[str, Any] | None) -> Value:
    found: Value = None if record is None else record["seconds"]["training"]
    return found
