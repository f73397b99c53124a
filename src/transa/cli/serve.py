"""Commands for people: serve, verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from transa.cli.options import Json, Overwrite, Run, Threads, add_command
from transa.cli.output import emit_json, table

NEEDS_EXTRA = "serving needs more packages: pip install 'transa[serve]'"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, serve, example="runs/films --port 8000")
    add_command(app, verdicts, example="runs/films --out accepted.tsv")


@dataclass(frozen=True)
class Listening:
    """Where to listen, and who may ask."""

    host: Annotated[str, typer.Option(help="An address; one that other machines can reach needs --token.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8000
    token: Annotated[
        str | None, typer.Option(envvar="TRANSA_TOKEN", help="What clients must know; better given in the environment.")
    ] = None
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Let pages of this origin read answers; repeatable.")
    ] = None
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False


def serve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    listening: Listening,
    threads: Threads = None,
) -> None:
    """Serve runs: a page to ask, see why and judge facts, and an API."""
    start(runs, listening, threads)


def start(runs: list[Path], listening: Listening, threads: int | None = None) -> None:
    """Serve runs until the process is told to stop."""
    from transa.errors import InputError

    try:
        from transa.server.serving import Address
        from transa.server.serving import serve as serve_runs
    except ModuleNotFoundError as error:
        raise InputError(f"{NEEDS_EXTRA} ({error.name} is missing)") from None
    from transa.kernels.threads import set_threads
    from transa.server.runs import open_runs

    origins = tuple(listening.allow_origin or ())
    address = Address(listening.host, listening.port, listening.token, origins)
    set_threads(threads)
    opened = open_runs(runs)

    def started(url: str) -> None:
        typer.echo(f"Serving {', '.join(run.name for run in opened)} at {url} (Ctrl-C stops)")
        if listening.open_page:
            typer.launch(url)

    serve_runs(opened, address, started=started)


def verdicts(
    run: Run,
    only: Annotated[Literal["accept", "reject", "all"], typer.Option(help="Which verdicts.")] = "all",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write them: .csv or .tsv, accepted ones also as .nt or .ttl."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """List what people said of facts on the page; accepted ones can be given to extend."""
    from transa.data.result_files import check_target
    from transa.inference.verdicts import Verdicts, as_file
    from transa.storage import atomic_file
    from transa.table import figure
    from transa.training import RunFolder

    if out is not None:
        check_target(out, (".csv", ".tsv", ".nt", ".ttl"), overwrite=overwrite)
    folder = RunFolder(run)
    folder.config()  # says so if this is no run
    found = [each for each in Verdicts(folder).all() if only in ("all", each.verdict)]
    if out is not None:
        content = as_file(found, out.suffix.lower())
        with atomic_file(out, overwrite=overwrite, size=len(content)) as file:
            file.write(content)
    if as_json:
        emit_json({"run": str(run), "verdicts": [vars(each) for each in found]})
    elif out is not None:
        typer.echo(f"Written: {out}")
    else:
        header = ("head", "relation", "tail", "verdict", "prob.", "by", "time")
        rows = [
            (*each.triple, each.verdict, figure(each.probability, ".3f"), each.by or "", each.time) for each in found
        ]
        table(f"{len(found):,} verdicts", header, rows)
