"""The command that grows a model: extend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transa.cli.graphs import Json
from transa.cli.predict import Run


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(extend)


def extend(
    run: Run,
    new_triples: Annotated[
        Path, typer.Argument(metavar="NEW_TRIPLES", help="Triples with new entities, in any format of graphs.")
    ],
    out: Annotated[Path, typer.Option(metavar="NEWRUN", help="The run folder to write.")],
    steps: Annotated[int, typer.Option(min=0, help="Steps in which only the new vectors move.")] = 100,
    refine: Annotated[int, typer.Option(metavar="ROUNDS", min=0, help="Then train on all triples for so long.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of corruptions.")] = 0,
    threads: Annotated[int | None, typer.Option(help="By default all processors.")] = None,
    as_json: Json = False,
) -> None:
    """Add new entities to a trained model from their triples, without training it anew."""
    from contextlib import nullcontext

    from transa.cli.output import emit_json, note, table
    from transa.cli.train import live_view
    from transa.errors import InputError
    from transa.inference import Trained
    from transa.inference.check import read_triples
    from transa.inference.extend import extend as extend_model
    from transa.training import Options, RunFolder

    if (out / "config.json").exists():
        raise InputError("holds a run already; name another folder", path=out)
    triples = read_triples(new_triples)
    trained = Trained.open(run)
    with live_view(refine) if refine else nullcontext() as callback:
        try:
            found = extend_model(
                trained,
                triples,
                steps=steps,
                refine=refine,
                seed=seed,
                options=Options(threads=threads),
                folder=RunFolder(out),
                callback=callback,
            )
        except InputError as error:
            raise InputError(f"{new_triples}: {error}") from None
    if found.repeated:
        note(f"{found.repeated:,} of the triples are repeated or were in the graph already")
    if not found.new_entities:
        note(
            "no entity is new"
            + ("" if refine else ": the vectors stay as they are; --refine ROUNDS learns the triples")
        )
    frame = found.frame().to_pylist()
    if as_json:
        emit_json(
            {
                "run": str(out),
                "from": str(run),
                "triples": found.triples,
                "repeated": found.repeated,
                "losses": found.losses,
                "new_entities": frame,
            }
        )
        return
    if frame:
        shown = "" if len(frame) <= 20 else ", the first 20"
        rows = [(row["key"], row["id"], row["triples"]) for row in frame[:20]]
        table(f"New entities: {len(frame):,}{shown}", ("entity", "id", "triples"), rows)
    typer.echo(f"{out}: {found.triples:,} triples added")
