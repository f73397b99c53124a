"""The command that writes a model for other programs: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transa.cli.options import Json, Only, Overwrite, Run, add_command
from transa.cli.output import emit_json, note, note_compiling, progress_bar
from transa.cli.predict import NOTHING_NEW


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, export, example="runs/films --to vectors.parquet")


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
    from transa.data.result_files import check_target
    from transa.estimators import load_model
    from transa.inference.discover import pairs
    from transa.inference.export import FACTS, VECTORS
    from transa.inference.export import export as export_model

    check_target(to, VECTORS + FACTS, overwrite=overwrite)
    model, facts = load_model(run), None
    if to.suffix.lower() in FACTS:
        import transa.data.oxigraph  # noqa: F401  (says what to install, before the search)

        note_compiling("best_answers", model.model_)
        with progress_bar("searching", pairs(model.trained_, relation)) as callback:
            facts = model.discover(top=top, relations=relation, callback=callback)
        note(*model.trained_.notes, *([] if len(facts) else [NOTHING_NEW]))
    export_model(model.trained_, to, facts=facts, overwrite=overwrite)
    what = {"facts": len(facts)} if facts is not None else {"parameters": model.model_.parameters}
    if as_json:
        emit_json({"run": str(run), "file": str(to), **what})
        return
    typer.echo(f"Written: {to} ({', '.join(f'{number:,} {name}' for name, number in what.items())})")
