"""The command that looks at the installation."""

from __future__ import annotations

from typing import Annotated

import typer

from transa.cli.options import Json, add_command
from transa.cli.output import emit_json, note, table


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, doctor)


def doctor(
    speed: Annotated[bool, typer.Option("--speed/--no-speed", help="Train a moment to see how fast that is.")] = True,
    as_json: Json = False,
) -> None:
    """Say what is installed, what is missing and how fast this machine is; exit code 1 if something that is needed is missing."""
    from transa.doctor import examine
    from transa.errors import amount

    found = examine(speed=speed)
    missing = [name for name, version in found["required"].items() if version is None]
    if as_json:
        emit_json(found)
        raise typer.Exit(1 if missing else 0)
    free = found["free_memory"]
    typer.echo(f"transa {found['transa']}, Python {found['python']}, {found['system']}")
    typer.echo(
        f"{found['processors']} processors, {'memory unknown' if free is None else f'{amount(free)} of memory free'}"
    )
    rows = [(name, version or "missing", "needed") for name, version in found["required"].items()]
    for extra, packages in found["extras"].items():
        for name, version in packages.items():
            rows.append((name, version or "-", f"transa[{extra}]" if version else f"pip install 'transa[{extra}]'"))
    table("Packages", ("package", "version", ""), rows)
    kernels = found["kernels"]
    if kernels["folder"] is None:
        note("no folder for compiled kernels can be written: they are compiled each time")
    else:
        state = "compiled" if kernels["compiled"] else "not compiled yet: the first training does that"
        typer.echo(f"Kernels: {kernels['folder']}, {state}")
    here = [name for name, there in found["data"]["datasets"].items() if there]
    typer.echo(f"Datasets: {', '.join(here)} are here; others are downloaded when first used")
    if "speed" in found:
        pace = found["speed"]
        trains, ranks = f"{pace['triples_per_second']:,.0f} triples/s", f"{pace['ranks_per_second']:,.0f} questions/s"
        typer.echo(f"Speed: TransE (k = 50) trains {trains} on UMLS and ranks {ranks}, by {pace['threads']} threads")
    for name in missing:
        note(f"{name} is missing: pip install transa")
    raise typer.Exit(1 if missing else 0)
