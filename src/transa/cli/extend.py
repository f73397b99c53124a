"""The command that adds entities to a model: extend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from transa.cli.graphs import load_triples
from transa.cli.options import Json, Run, Selection, SkipUnknown, TextFormat, Threads, add_command
from transa.cli.output import emit_json, live_view, note, note_skipped, table
from transa.readable import called, counted


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, extend)


@dataclass(frozen=True)
class Growing:
    """How new vectors are found."""

    steps: Annotated[int, typer.Option(min=0, help="Steps in which only the new vectors move.")] = 100
    refine: Annotated[int, typer.Option(metavar="EPOCHS", min=0, help="Then train on all triples for so long.")] = 0
    seed: Annotated[int, typer.Option(min=0, help="Of corruptions.")] = 0


def extend(
    run: Run,
    new_triples: Annotated[
        Path, typer.Argument(metavar="NEW_TRIPLES", help="Triples with new entities, in any format of graphs.")
    ],
    text: TextFormat,
    selection: Selection,
    out: Annotated[Path, typer.Option(metavar="NEWRUN", help="The run folder to write.")],
    growing: Growing,
    skip_unknown: SkipUnknown = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Add new entities to a trained model from their triples, without training it anew."""
    from contextlib import nullcontext

    from transa.errors import InputError
    from transa.estimators import load_model
    from transa.inference.extend import extend as extend_model
    from transa.training import Options, RunFolder

    if (out / "config.json").exists():
        raise InputError("holds a run already; name another folder", path=out)
    triples = load_triples(new_triples, text, selection)
    model = load_model(run)
    with live_view(growing.refine) if growing.refine else nullcontext() as callback:
        found = extend_model(
            model.trained_,
            triples,
            **vars(growing),
            options=Options(threads=threads),
            folder=RunFolder(out),
            callback=callback,
            skip_unknown=skip_unknown,
        )
    note(*found.notes)
    note_skipped(found.skipped, "triple")
    if found.repeated:
        note(f"{found.repeated:,} of the triples are repeated or were in the graph already")
    if not found.new_entities:
        same = "" if growing.refine else ": the vectors stay as they are; --refine EPOCHS learns the triples"
        note(f"no entity is new{same}")
    frame = found.frame().to_pylist()
    if as_json:
        emit_json(
            {
                "run": str(out),
                "from": str(run),
                "triples": found.triples,
                "repeated": found.repeated,
                "notes": list(found.notes),
                "skipped": list(map(vars, found.skipped)),
                "losses": found.losses,
                "new_entities": frame,
            }
        )
        return
    if frame:
        shown = "" if len(frame) <= 20 else ", the first 20"
        rows = [(called(row["key"], row["name"]), row["id"], row["triples"]) for row in frame[:20]]
        table(f"New entities: {len(frame):,}{shown}", ("entity", "id", "triples"), rows)
    typer.echo(f"{out}: {counted(found.triples, 'triple')} added")
