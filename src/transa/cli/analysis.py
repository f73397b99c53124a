"""Commands that look at what was learned: weights, figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transa.cli.graphs import Json

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(weights)


def weights(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of a model with a metric.")],
    relation: Annotated[
        list[str] | None, typer.Option("--relation", metavar="KEY", help="Only this one; repeatable.")
    ] = None,
    dimensions: Annotated[int, typer.Option(min=1, help="How many telling dimensions to name.")] = 3,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show and to draw.")] = 20,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every weight: .csv or .tsv.")] = None,
    parquet: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every weight: .parquet.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the weights: .png, .svg or .pdf.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show what each relation's metric weighs: the diagonal of D in W_r = L D L^T."""
    from transa.analysis.style import SUFFIXES
    from transa.analysis.weights import plot_weights, weights_of
    from transa.cli.output import emit_json
    from transa.evaluation.tables import check_target
    from transa.training import RunFolder

    for target, suffixes in ((csv, (".csv", ".tsv")), (parquet, (".parquet", ".pq")), (picture, SUFFIXES)):
        if target is not None:
            check_target(target, suffixes, overwrite=overwrite)
    folder = RunFolder(run)
    found = weights_of(folder.model(), folder.graph(), relation)
    written = []
    for target in (csv, parquet):
        if target is not None:
            written.append(found.write(target, overwrite=overwrite))
    if picture is not None:
        written.append(plot_weights(found, picture, top=max(top, 1), overwrite=overwrite))
    summary = {"run": str(run), **found.summary(dimensions)}
    if as_json:
        emit_json(summary)
        return
    _show_weights(summary, top)
    for one in written:
        typer.echo(f"Written: {one}")


def _show_weights(summary: dict[str, Any], top: int) -> None:
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
                _figure(one["weight_difference"]),
                one["negative_weights"],
                _figure(one["condition"]),
                _figure(one["distance_from_euclidean"]),
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
        "Euclidean; PD: positive definite; dimensions: those with the largest share of the score, the first first."
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1e4 else f"{value:.0e}".replace("e+0", "e")
