"""The command that hands a model to other programs: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transa.cli.graphs import Json
from transa.cli.predict import NOTHING_NEW, Only, Overwrite, Run
from transa.cli.train import note_compiling


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(export)


def export(
    run: Run,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Vectors and metrics: .parquet, .npz, .txt or .vec (word2vec); new facts: .nt or .ttl."
        ),
    ],
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many new facts, in RDF.")] = 1000,
    relation: Only = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write vectors and metrics, or predicted facts as RDF, to a file."""
    from transa.cli.output import emit_json, note, progress_bar
    from transa.data.formats.rdf import check_installed
    from transa.data.result_files import check_target
    from transa.inference import Trained
    from transa.inference.discover import discover, pairs
    from transa.inference.export import FACTS, VECTORS
    from transa.inference.export import export as export_model

    check_target(to, VECTORS + FACTS, overwrite=overwrite)
    trained, facts = Trained.open(run), None
    if to.suffix.lower() in FACTS:
        check_installed()
        note_compiling("best_answers", trained.model)
        with progress_bar("searching", pairs(trained, relation)) as callback:
            facts = discover(trained, top=top, relations=relation, callback=callback)
        note(*trained.notes, *([] if len(facts) else [NOTHING_NEW]))
    export_model(trained, to, facts=facts, overwrite=overwrite)
    what = {"facts": len(facts)} if facts is not None else {"parameters": trained.model.parameters}
    if as_json:
        emit_json({"run": str(run), "file": str(to), **what})
        return
    typer.echo(f"Written: {to} ({', '.join(f'{number:,} {name}' for name, number in what.items())})")
