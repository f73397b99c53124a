"""Tables: the paper's figures in columns of their own, ours beside them. What has not been measured is left empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

from transa.data.registry import DATASETS
from transa.data.relations import CATEGORIES
from transa.reproduction.paper import printed
from transa.reproduction.plan import Cell, Plan, Row
from transa.reproduction.records import Results
from transa.storage import atomic_file

Value = str | float | int | None

#: What the systems of a table are that get a row for the tail alone beside the one for both sides.
ONE_SIDED = ("transa", "adaptive_metric")


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes
    ----------
    key
        Its name in CSV and JSON: what comes from the paper starts with ``paper_``, what was measured with ``measured_``.
    label
        Its heading.
    source
        Where its figures come from.
    digits
        After the point.
    """

    key: str
    label: str
    source: Literal["name", "paper", "measured"]
    digits: int = 1


@dataclass(frozen=True)
class Table:
    """A table of figures.

    Attributes
    ----------
    name, title
        As files call it, and in words.
    columns, rows
        Its cells; None is empty.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Value], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": [vars(column) for column in self.columns],
            "rows": [dict(row) for row in self.rows],
        }

    def _cell(self, row: Mapping[str, Value], column: Column) -> str:
        value = row[column.key]
        if value is None:
            return ""
        return f"{value:,.{column.digits}f}" if isinstance(value, int | float) else str(value)

    def markdown(self) -> str:
        """Return a Markdown table under its title."""
        header = "| " + " | ".join(_heading(column, "<br>") for column in self.columns) + " |"
        rule = "|" + "|".join("---" if column.source == "name" else "---:" for column in self.columns) + "|"
        lines = [
            "| " + " | ".join(self._cell(row, column).replace("|", "\\|") for column in self.columns) + " |"
            for row in self.rows
        ]
        return "\n".join([f"**{self.title}**", "", header, rule, *lines, ""])

    def csv(self) -> str:
        """Return the table as CSV, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.key for column in self.columns)
        for row in self.rows:
            writer.writerow(["" if row[column.key] is None else row[column.key] for column in self.columns])
        return text.getvalue()

    def latex(self) -> str:
        """Return a LaTeX table; needs the package booktabs."""
        layout = "".join("l" if column.source == "name" else "r" for column in self.columns)
        heads = [[_latex(part) for part in (column.label, _source(column))] for column in self.columns]
        lines = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(head[0] for head in heads) + r" \\",
            " & ".join(head[1] for head in heads) + r" \\",
            r"\midrule",
            *(" & ".join(_latex(self._cell(row, column)) for column in self.columns) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def make_table(plan: Plan, results: Results) -> list[Table]:
    """Return the tables of a plan: one for each dataset, but for Tables 1 and 4, which have the datasets side by side."""
    if plan.table == "table1":
        return [_table1(plan, results)]
    cells = {(cell.row, cell.dataset): cell for cell in plan.cells}
    if plan.table == "table4":
        return [_table4(plan, results, cells)]
    if plan.table == "metric":
        tables = [_metric(plan, results, dataset) for dataset in plan.datasets]
        ranked = [name for name in plan.datasets if plan.task(name) == "link_prediction"]
        return [*tables, *(_mean_rank(plan, results, dataset) for dataset in ranked)]
    make = _table2 if plan.table == "table2" else _table3
    return [make(plan, results, cells, dataset) for dataset in plan.datasets]


def write_tables(tables: list[Table], folder: Path) -> list[Path]:
    """Write each table as .md, .csv and .tex into a folder of tables, in the place of older ones."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for suffix, text in ((".md", table.markdown()), (".csv", table.csv()), (".tex", table.latex())):
            path = folder / f"{table.name}{suffix}"
            with atomic_file(path, overwrite=True) as file:
                file.write(text.encode())
            written.append(path)
    return written


_SYSTEM = (Column("system", "system", "name"), Column("recipe", "recipe", "name"))


def _table1(plan: Plan, results: Results) -> Table:
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
    return Table("table1", "Table 1: statistics of datasets", tuple(columns), tuple(rows))


def _table2(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell], dataset: str) -> Table:
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
        for side in ("both", "tail") if row.model in ONE_SIDED else ("both",):
            line: dict[str, Value] = {**_names(row), "side": side}
            found = record["link_prediction"][side] if record else None
            for figure, theirs in zip(figures, paper, strict=True):
                key, _, kind, measure, factor = figure
                line[f"paper_{key}"] = theirs
                line[f"measured_{key}"] = None if found is None else factor * found[kind][measure]
            line["measured_mrr"] = None if found is None else found["filtered"]["mrr"]
            line["measured_hits1"] = None if found is None else 100 * found["filtered"]["hits@1"]
            line["measured_seconds"] = _seconds(record)
            rows.append(line)
    title = f"Table 2: link prediction on {DATASETS[dataset].name}"
    return Table(f"table2_{dataset}", title, tuple(columns), tuple(rows))


def _table3(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell], dataset: str) -> Table:
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
    return Table(f"table3_{dataset}", title, tuple(columns), tuple(rows))


def _table4(plan: Plan, results: Results, cells: Mapping[tuple[Row, str], Cell]) -> Table:
    averaged = {"wn11", "fb13"} <= set(plan.datasets)  # the paper's mean is of these two
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
    return Table("table4", "Table 4: triple classification", tuple(columns), tuple(rows))


def _metric(plan: Plan, results: Results, dataset: str) -> Table:
    """Return what a metric adds to the same training without it, with the mean over seeds and its deviation."""
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
    return Table(
        f"metric_{dataset}", f"What the metric is worth on {DATASETS[dataset].name}", tuple(columns), tuple(rows)
    )


def _mean_rank(plan: Plan, results: Results, dataset: str) -> Table:
    """Return what makes up the mean rank of the same runs, of their first seed."""
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
    return Table(f"mean_rank_{dataset}", title, tuple(columns), tuple(rows))


def _at(values: Any, path: tuple[str, ...]) -> float | None:
    for name in path:
        values = values.get(name)
        if values is None:
            return None
    return float(values)


def _names(row: Row) -> dict[str, Value]:
    return {"system": row.label, "recipe": row.recipe or ""}


def _seconds(record: Mapping[str, Any] | None) -> Value:
    found: Value = None if record is None else record["seconds"]["training"]
    return found


def _source(column: Column) -> str:
    return {"name": "", "paper": "paper", "measured": "ours"}[column.source]


def _heading(column: Column, between: str) -> str:
    source = _source(column)
    return f"{column.label}{between}{source}" if source else column.label


def _latex(text: str) -> str:
    escapes = {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "$": r"\$",
        "{": r"\{",
        "}": r"\}",
    }
    return "".join(escapes.get(character, character) for character in text)
