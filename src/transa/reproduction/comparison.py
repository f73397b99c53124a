"""A table with the paper's figures and ours in separate columns, and its forms as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from transa.storage import atomic_file

Value = str | float | int | None


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes
    ----------
    key
        Its name in CSV and JSON. Names of columns from the paper start with ``paper_``, of measured ones with ``measured_``.
    label
        Its heading.
    source
        Where its figures come from; ``"name"`` for a column of names.
    digits
        The number of digits after the point.
    """

    key: str
    label: str
    source: Literal["name", "paper", "measured"]
    digits: int = 1


@dataclass(frozen=True)
class ComparisonTable:
    """A table with the paper's figures beside ours.

    Attributes
    ----------
    name, title
        Its name in files, and its title.
    columns, rows
        Its columns, and for each row a value for the key of each column; None is an empty cell.
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
        """Return the table as Markdown, under its title."""
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
        """Return the table as LaTeX, for the package booktabs."""
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


def write_tables(tables: list[ComparisonTable], folder: Path) -> list[Path]:
    """Write each table as .md, .csv and .tex to a folder; older files are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for suffix, text in ((".md", table.markdown()), (".csv", table.csv()), (".tex", table.latex())):
            path = folder / f"{table.name}{suffix}"
            with atomic_file(path, overwrite=True) as file:
                file.write(text.encode())
            written.append(path)
    return written


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
