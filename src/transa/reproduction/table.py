"""A table of figures: the paper's in columns of their own, ours beside them. As Markdown, CSV and LaTeX."""

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
