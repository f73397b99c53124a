"""The command that shows the weights of a metric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transa.cli.options import Json, Overwrite, add_command


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, weights, example="runs/films --relation has_genre")


def weights(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of a model with a metric.")],
    relation: Annotated[
        list[str] | None, typer.Option("--relation", metavar="NAME", help="Only this one; repeatable.")
    ] = None,
    dimensions: Annotated[
        int, typer.Option(min=1, help="How many dimensions to name, by their share of the score.")
    ] = 3,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show and to draw.")] = 20,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every weight: .csv or .tsv.")] = None,
    parquet: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every weight: .parquet.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the weights: .png, .svg or .pdf.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show what each relation's metric weighs: the diagonal of D in W_r = L D L^T."""
    from transa.analysis.drawing import check_picture
    from transa.analysis.weights import weights_of
    from transa.analysis.weights_plot import plot_weights
    from transa.cli.output import emit_json
    from transa.data.result_files import check_target
    from transa.estimators import load_model

    for target, suffixes in ((csv, (".csv", ".tsv")), (parquet, (".parquet", ".pq"))):
        if target is not None:
            check_target(target, suffixes, overwrite=overwrite)
    if picture is not None:
        check_picture(picture, overwrite=overwrite)
    model = load_model(run)
    found = weights_of(model.model_, model.graph_, relation)
    written = [found.write(target, overwrite=overwrite) for target in (csv, parquet) if target is not None]
    if picture is not None:
        written.append(plot_weights(found, picture, top=max(top, 1), overwrite=overwrite))
    summary = {"run": str(run), **found.summary(dimensions)}
    if as_json:
        emit_json(summary)
        return
    _show(summary, top)
    for one in written:
        typer.echo(f"Written: {one}")


def _show(summary: dict[str, Any], top: int) -> None:
    from transa.cli.output import table

    largest = sorted(summary["relations"], key=lambda one: -one["triples"])[:top]
    rest = "" if len(largest) == summary["n"] else f", the {len(largest)} largest of {summary['n']:,}"
    table(
        f"Weights of {summary['model']}, k = {summary['dim']}{rest}",
        ("relation", "triples", "diff.", "neg.", "cond.", "from I", "PD", "dimensions"),  # fits into 80 columns
        [
            (
                one["name"],
                one["triples"],
                short_number(one["weight_difference"]),
                one["negative_weights"],
                short_number(one["condition"]),
                short_number(one["distance_from_euclidean"]),
                "yes" if one["positive_definite"] else "no",
                ", ".join(str(part["dimension"]) for part in one["dimensions"]),
            )
            for one in largest
        ],
    )
    typer.echo(
        f"W_r is positive definite for {summary['positive_definite']:,} of {summary['n']:,} relations, and has no negative "
        f"entry for {summary['non_negative']:,}.\n"
        "diff.: (largest - median) / median of the weights; neg.: weights below 0; from I: relative distance from "
        "Euclidean; PD: positive definite; dimensions: those with the largest share of the score, in this order."
    )


def short_number(value: float | None) -> str:
    """Return a number with three digits, as in 0.123, 12.3 and 1e5; a dash for None."""
    return "-" if value is None else f"{value:.3g}" if value < 1e4 else f"{value:.0e}".replace("e+0", "e")
