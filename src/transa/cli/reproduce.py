"""The command that measures the tables of the paper again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transa.cli.options import Json, Overwrite, Threads, add_command

if TYPE_CHECKING:
    from transa.reproduction import ComparisonTable, Event, Plan
    from transa.reproduction.comparison import Column


#: What can be reproduced.
Wanted = Literal["table1", "table2", "table3", "table4", "metric", "docs"]


@dataclass(frozen=True)
class Runs:
    """Which runs, and where they are kept."""

    models: Annotated[
        str | None, typer.Option(metavar="MODEL[:RECIPE],...", help="Only these rows; by default every system.")
    ] = None
    datasets: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these; by default the paper's and a few more.")
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Any setting, for every run; repeatable.")
    ] = None
    budget: Annotated[
        float | None,
        typer.Option(min=0, metavar="MINUTES", help="Start no more runs after this time; 0: only write the tables."),
    ] = None
    results: Annotated[Path, typer.Option(metavar="DIR", help="The folder of records.")] = Path("results")
    runs: Annotated[Path, typer.Option(metavar="DIR", help="The folder of run folders.")] = Path("runs/reproduction")
    threads: Threads = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the runs.")] = False


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, reproduce, example="table2 --datasets wn18")


def reproduce(
    what: Annotated[
        Wanted,
        typer.Argument(
            help="A table of the paper, the study of what the metric is worth, or the page that shows them all."
        ),
    ],
    asked: Runs,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page of docs; by default docs/reproduction.md.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the study of the metric into this .png, .svg or .pdf.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Run what a table of the paper still lacks, and write the table with the paper's figures beside ours.

    Each run leaves a record, a JSON file in the folder of --results. Tables go to its subfolder tables, as Markdown, CSV and LaTeX.
    A run that has a record with the same settings is not repeated; a run that was interrupted is resumed.
    """
    from transa.cli.output import note
    from transa.cli.train import read_setting
    from transa.errors import InputError
    from transa.reproduction import Results, plan_table

    if picture is not None:
        from transa.analysis.drawing import check_picture

        if what != "metric":
            raise InputError("--picture is for the study of the metric", path=picture)
        check_picture(picture, overwrite=overwrite)
    kept = Results(asked.results)
    if what == "docs":
        _page(kept, Path("docs/reproduction.md") if out is None else out, overwrite, as_json)
        return
    if out is not None:
        raise InputError("--out is for docs; tables go to the folder of --results", path=out)
    overrides = dict(map(read_setting, asked.settings or []))
    plan = plan_table(what, _names(asked.models), _names(asked.datasets), overrides)
    if asked.dry_run:
        _say_plan(plan, kept, as_json)
        return
    _reproduce(plan, kept, asked, as_json)
    if picture is not None:
        from transa.reproduction import make_tables
        from transa.reproduction.metric_plot import draw_study

        draw_study(make_tables(plan, kept), picture, overwrite=overwrite)
        note(f"Drawn: {picture}")


def _reproduce(plan: Plan, kept: Any, asked: Runs, as_json: bool) -> None:
    from transa.cli.output import emit_json, note
    from transa.cli.stopping import stopping_between_epochs
    from transa.reproduction import make_tables
    from transa.reproduction import reproduce as run_plan
    from transa.reproduction.comparison import write_tables
    from transa.reproduction.running import Outcome, count_datasets
    from transa.training import Options

    outcome = Outcome()
    if plan.table == "table1":
        if asked.budget != 0:
            count_datasets(plan, kept)
    else:
        options, around = Options(threads=asked.threads), partial(stopping_between_epochs, how="")
        with _view(len(plan.cells)) as callback:
            outcome = run_plan(
                plan, kept, asked.runs, budget=asked.budget, options=options, callback=callback, around=around
            )
    tables = make_tables(plan, kept)
    written = write_tables(tables, kept.folder / "tables")
    if as_json:
        emit_json(
            {
                "table": plan.table,
                "runs": vars(outcome),
                "tables": [one.to_dict() for one in tables],
                "files": [str(path) for path in written],
            }
        )
    else:
        for one in tables:
            _show(one)
        counts = (
            ("run", outcome.done),
            ("there already", outcome.skipped),
            ("left", outcome.left),
            ("failed", outcome.failed),
        )
        typer.echo(
            f"{', '.join(f'{len(names)} {word}' for word, names in counts if names) or 'counted'}. Written: {kept.folder / 'tables'}"
        )
    for name, reason in outcome.failed.items():
        note(f"{name}: {reason}")
    if outcome.failed:
        raise typer.Exit(1)


def _show(table: ComparisonTable) -> None:
    """Show the rows that were measured. The paper's figure and ours share a cell, so that rows fit on a screen."""
    from transa.cli.output import table as show

    measured = [column for column in table.columns if column.source == "measured"]
    rows = [row for row in table.rows if any(row[column.key] is not None for column in measured)]
    printed = {column.label: column for column in table.columns if column.source == "paper"}

    def cell(row: Mapping[str, Any], column: Column | None) -> str:
        value = None if column is None else row[column.key]
        return "-" if column is None or value is None else f"{value:,.{column.digits}f}"

    def line(row: Mapping[str, Any]) -> list[str]:
        name = " ".join(str(row[column.key]) for column in table.columns if column.source == "name" and row[column.key])
        figures = [
            f"{cell(row, printed[column.label])} / {cell(row, column)}"
            if column.label in printed
            else cell(row, column)
            for column in measured
        ]
        return [name, *figures]

    if rows:
        heads = [column.label.replace(" (%)", " %").replace("filtered", "filt.") for column in measured]
        show(f"{table.title} (paper / ours)", ["", *heads], [line(row) for row in rows])
    else:
        typer.echo(f"{table.title}: nothing has been measured yet.")


def _page(kept: Any, target: Path, overwrite: bool, as_json: bool) -> None:
    from transa.cli.output import emit_json
    from transa.data.result_files import check_target
    from transa.reproduction.page import reproduction_page
    from transa.storage import atomic_file

    check_target(target, (".md",) * 2, overwrite=overwrite)
    with atomic_file(target, overwrite=overwrite) as file:
        file.write(reproduction_page(kept).encode())
    if as_json:
        emit_json({"file": str(target), "records": len(kept.records)})
    else:
        typer.echo(f"Written: {target}, from {len(kept.records)} records in {kept.folder}")


def _say_plan(plan: Plan, kept: Any, as_json: bool) -> None:
    from transa.cli.output import emit_json
    from transa.cli.output import table as show

    rows = [
        (
            cell.dataset,
            cell.row.model,
            cell.row.recipe or "",
            cell.settings.epochs,
            kept.find(cell, task=plan.task(cell.dataset)) is not None,
        )
        for cell in plan.cells
    ]
    if as_json:
        keys = ("dataset", "model", "recipe", "epochs", "there")
        emit_json(
            {
                "table": plan.table,
                "datasets": list(plan.datasets),
                "cells": [dict(zip(keys, row, strict=True)) for row in rows],
            }
        )
        return
    show(
        f"{plan.table}: {len(rows)} runs",
        ("dataset", "model", "recipe", "epochs", ""),
        [(*row[:4], "there" if row[4] else "to run") for row in rows],
    )


def _names(text: str | None) -> list[str] | None:
    from transa.errors import InputError, quote

    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise InputError(f"expected names separated by commas, found {quote(text)}")
    return names


@contextmanager
def _view(total: int) -> Iterator[Callable[[Event], None]]:
    """Show progress on stderr: bars on a terminal, a line for each event elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        whole = bars.add_task("runs", total=total, state="")
        one = bars.add_task("epochs", total=None, state="")

        def callback(event: Event) -> None:
            name = event.cell.name
            if event.kind == "epoch" and event.progress is not None:
                state = f"loss {event.progress.loss:.4f}"
                bars.update(one, completed=event.progress.epoch, total=event.progress.epochs, state=state)
                return
            if event.kind in ("train", "evaluate"):
                bars.update(whole, state=f"{name}: {event.kind}")
                if event.kind == "train":
                    bars.reset(one, total=event.cell.settings.epochs, state="")
            else:
                bars.update(whole, completed=event.place)
            if not console.is_terminal and event.kind != "left":
                typer.echo(f"{event.place}/{event.of} {name}: {event.kind}", err=True)

        yield callback
