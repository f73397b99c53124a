"""What people and machines get to see. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def note(*texts: str) -> None:
    """Tell the user something on stderr."""
    for text in texts:
        typer.secho(f"note: {text}", fg="yellow", err=True)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on stdout: the first column and texts to the left, numbers to the right."""
    rows = [list(row) for row in rows]
    drawn = Table(title=title, title_justify="left", title_style="bold")
    for position, name in enumerate(header):
        numeric = all(isinstance(row[position], int | float) for row in rows)
        drawn.add_column(name, justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(_cell, row))
    Console().print(drawn)


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.2f}" if isinstance(value, float) else str(value).replace("[", r"\[")
