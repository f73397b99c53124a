"""The command that adds entities to a model: extend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from transa.cli.loading import load_triples
from transa.cli.options import Json, Run, Selection, SkipUnknown, TextFormat, Threads, add_command
from transa.cli.output import emit_json, note, note_skipped, table
from transa.readable import called, counted


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, extend, example="runs/films new_films.csv --out runs/more_films")


@dataclass(frozen=True)
class Growing:
    """How new vectors are found."""

    steps: Annotated[int, typer.Option(min=0, help="Steps in which only the new vectors move.")] = 100
    refine: Annotated[int, typer.Option(metavar="EPOCHS", min=0, help="Then train on all triples for so long.")] = 0
    seed: Annotated[int, typer.Option(min=0, help="Of corruptions.")] = 0


@dataclass(frozen=True)
class Texts:
    """Texts of new entities."""

    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts of new entities: key, tab and text on each line.")
    ] = None
    encoder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A sentence encoder for them (needs transa[text]).")
    ] = None
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Their vectors, .npy: a row for each entity of the graph, then for each text."
        ),
    ] = None


def extend(
    run: Run,
    text: TextFormat,
    selection: Selection,
    out: Annotated[Path, typer.Option(metavar="NEWRUN", help="The run folder to write.")],
    growing: Growing,
    texts: Texts,
    new_triples: Annotated[
        Path | None, typer.Argument(metavar="NEW_TRIPLES", help="Triples with new entities, in any format of graphs.")
    ] = None,
    skip_unknown: SkipUnknown = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Add new entities to a trained model from their triples or texts, without training it anew."""
    from transa.cli.live_view import LiveView
    from transa.errors import InputError
    from transa.estimators import load_model
    from transa.inference.extend import extend as extend_model
    from transa.inference.texts import NewTexts
    from transa.training import Options, RunFolder

    if (out / "config.json").exists():
        raise InputError("holds a run already; name another folder", path=out)
    if new_triples is None and texts.texts is None:
        raise InputError("there is nothing to add: name a file of triples, or one of texts (--texts)")
    if texts.texts is None and (texts.encoder is not None or texts.vectors is not None):
        raise InputError("--encoder and --vectors belong to texts of new entities (--texts)")
    triples = None if new_triples is None else load_triples(new_triples, text, selection)
    told = None if texts.texts is None else NewTexts.read(texts.texts, texts.encoder, texts.vectors)
    model = load_model(run)
    found = extend_model(
        model.trained_,
        triples,
        texts=told,
        **vars(growing),
        options=Options(threads=threads),
        folder=RunFolder(out),
        callback=LiveView(),
        skip_unknown=skip_unknown,
    )
    note(*found.notes)
    note_skipped(found.skipped, "triple")
    if found.repeated:
        note(f"{found.repeated:,} of the triples are repeated or were in the graph already")
    if found.told:
        note(f"{counted(found.told, 'entity', 'entities')} placed by text")
    elif not found.new_entities:
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
                "told": found.told,
                "new_entities": frame,
            }
        )
        return
    if frame:
        shown = "" if len(frame) <= 20 else ", the first 20"
        rows = [(called(row["key"], row["name"]), row["id"], row["triples"]) for row in frame[:20]]
        table(f"New entities: {len(frame):,}{shown}", ("entity", "id", "triples"), rows)
    typer.echo(f"{out}: {counted(found.triples, 'triple')} added")
