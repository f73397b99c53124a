"""The command that lists models."""

from __future__ import annotations

import typer

from transa.cli.options import Json, add_command
from transa.cli.output import emit_json, table


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, models)


def models(as_json: Json = False) -> None:
    """List the models with formula, number of parameters and cost.

    In formulas, lower means more plausible. n: entities, m: relations, k: dim, d: relation_dim, s: hidden, c: clusters, p: factors.
    """
    from transa.models import MODELS

    if as_json:
        columns = ("formula", "size", "cost")
        emit_json({name: {column: getattr(model, column) for column in columns} for name, model in MODELS.items()})
        return
    table(
        "Models; lower means more plausible",
        ("model", "formula", "parameters", "multiplications for a triple"),
        [(name, model.formula, model.size, model.cost) for name, model in MODELS.items()],
    )
    typer.echo(
        "n entities, m relations, k dim, d relation_dim, s hidden, c clusters, p factors, rank: settings of the recipe"
    )
