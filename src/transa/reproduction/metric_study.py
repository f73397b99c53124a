"""What the metric is worth: TransA compared with a TransE that is trained in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

from transa.data.registry import DATASETS
from transa.data.relations import CATEGORIES
from transa.reproduction.comparison import Column, ComparisonTable, Value
from transa.reproduction.plan import SYSTEMS, Plan
from transa.reproduction.records import Results


def study_tables(plan: Plan, results: Results) -> list[ComparisonTable]:
    """Return a table for each dataset, and for each dataset of link prediction a second one about its mean rank."""
    ranked = [name for name in plan.datasets if plan.task(name) == "link_prediction"]
    return [
        *(_metric(plan, results, dataset) for dataset in plan.datasets),
        *(_mean_rank(plan, results, dataset) for dataset in ranked),
    ]


def findings(table: ComparisonTable) -> list[str]:
    """Return a line for each TransA of a table: by how much its metric changes each measure of the TransE that is trained alike."""
    if not table.name.startswith("metric"):
        return []
    shown = [column for column in table.columns if column.source == "measured" and "deviation" not in column.key]
    lines = []
    for row in table.rows:
        name, plain = str(row["recipe"]), beside(table, row)
        if plain is None or row["measured_seeds"] is None or plain["measured_seeds"] is None:
            continue
        changes = []
        for column in shown:
            ours, theirs = row[column.key], plain[column.key]
            if column.key != "measured_seeds" and isinstance(ours, int | float) and isinstance(theirs, int | float):
                changes.append(f"{column.label.replace(' (%)', '')} {ours - theirs:+.{column.digits}f}")
        seeds = (row["measured_seeds"], plain["measured_seeds"])
        unlike = f" ({seeds[0]} seed beside {seeds[1]})" if seeds[0] != seeds[1] else ""
        lines.append(f"- {table.title.rpartition(' on ')[2]}, *{name}*{unlike}: {', '.join(changes)}.")
    return lines


def beside(table: ComparisonTable, row: Mapping[str, Value]) -> Mapping[str, Value] | None:
    """Return the row of the TransE that is trained like the TransA of a row, or None for a row of TransE.

    Where a variant changes nothing but the metric, that is the TransE of the variant whose name its own begins with.
    """
    if row["system"] == SYSTEMS["transe"]:
        return None
    plain = {str(other["recipe"]): other for other in table.rows if other["system"] == SYSTEMS["transe"]}
    name = str(row["recipe"])
    return plain.get(name) or plain[name.partition(",")[0]]


def _metric(plan: Plan, results: Results, dataset: str) -> ComparisonTable:
    """Return the measures of TransA and TransE on a dataset: the mean over seeds and the standard deviation."""
    task = plan.task(dataset)
    figures: list[
        tuple[str, str, tuple[str, ...], float, int, bool]
    ]  # key, label, path in a record, factor, digits, deviation
    if task == "classification":
        figures = [
            ("accuracy", "accuracy (%)", ("accuracy",), 100, 2, True),
            ("f1", "F1 (%)", ("f1",), 100, 2, False),
        ]
    else:
        both = ("both", "filtered")
        figures = [
            ("hits10", "Hits@10 (%)", (*both, "hits@10"), 100, 1, True),
            ("mrr", "MRR", (*both, "mrr"), 1, 3, True),
            ("mrr_without", "MRR without the loop prior", ("loop_prior", "without", *both, "mrr"), 1, 3, False),
            ("hits1", "Hits@1 (%)", (*both, "hits@1"), 100, 1, False),
            ("mr", "MR", (*both, "mr"), 1, 1, True),
            ("mr_tail", "MR tail", ("tail", "filtered", "mr"), 1, 1, False),
            ("hits10_tail", "Hits@10 tail (%)", ("tail", "filtered", "hits@10"), 100, 1, False),
            *(
                (f"hits10_{name}", f"Hits@10 {name} (%)", ("categories", name, *both, "hits@10"), 100, 1, False)
                for name in CATEGORIES
            ),
        ]
    columns = [
        Column("system", "system", "name"),
        Column("recipe", "trained as", "name"),
        Column("measured_seeds", "seeds", "measured", 0),
    ]
    for key, label, _, _, digits, deviation in figures:
        columns.append(Column(f"measured_{key}", label, "measured", digits))
        if deviation:
            columns.append(Column(f"measured_{key}_deviation", "±", "measured", digits))
    rows = []
    for row in plan.rows:
        cells = [cell for cell in plan.cells if cell.row == row and cell.dataset == dataset]
        if not cells:
            continue
        records = [record for record in (results.find(cell, task=task) for cell in cells) if record is not None]
        line: dict[str, Value] = {"system": row.label, "recipe": row.variant, "measured_seeds": len(records) or None}
        for key, _, path, factor, _, deviation in figures:
            values = [factor * value for record in records if (value := _at(record[task], path)) is not None]
            line[f"measured_{key}"] = fmean(values) if values else None
            if deviation:
                line[f"measured_{key}_deviation"] = stdev(values) if len(values) > 1 else None
        rows.append(line)
    return ComparisonTable(
        f"metric_{dataset}", f"What the metric is worth on {DATASETS[dataset].name}", tuple(columns), tuple(rows)
    )


def _mean_rank(plan: Plan, results: Results, dataset: str) -> ComparisonTable:
    """Return what the mean ranks of the same runs consist of, for the first seed of each."""
    figures = [
        ("beyond", "1000", "ranks beyond 1,000"),
        ("beyond", "10000", "beyond 10,000"),
        ("beyond", "30000", "beyond 30,000"),
        ("share_beyond", "1000", "share of all ranks' sum beyond 1,000 (%)"),
        *(("by_degree", name, f"MR, rarer end {name} times in train") for name in ("1", "2", "3-5", "6+")),
    ]
    columns = [
        Column("system", "system", "name"),
        Column("recipe", "trained as", "name"),
        *(
            Column(f"measured_{part}_{name}", label, "measured", 0 if part == "beyond" else 1)
            for part, name, label in figures
        ),
    ]
    rows = []
    for row in plan.rows:
        cell = next((cell for cell in plan.cells if cell.row == row and cell.dataset == dataset), None)
        record = results.find(cell, task="link_prediction") if cell is not None else None
        parts = (record["link_prediction"].get("mean_rank") if record is not None else None) or {}
        line: dict[str, Value] = {"system": row.label, "recipe": row.variant}
        for part, name, _ in figures:
            value = _at(parts, (part, name, "mr") if part == "by_degree" else (part, name))
            line[f"measured_{part}_{name}"] = 100 * value if value is not None and part == "share_beyond" else value
        rows.append(line)
    title = f"What makes up the mean rank on {DATASETS[dataset].name}"
    return ComparisonTable(f"mean_rank_{dataset}", title, tuple(columns), tuple(rows))


def _at(values: Any, path: tuple[str, ...]) -> float | None:
    for name in path:
        values = values.get(name)
        if values is None:
            return None
    return float(values)
