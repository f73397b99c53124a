"""Commands that look into a model: explain, neighbours, map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transa.choices import Layout, Side
from transa.cli.options import Iris, Json, Overwrite, Picture, Run, TableOutput, add_command
from transa.cli.output import deliver, emit_json, note, note_compiling, note_learning, show
from transa.readable import one_line


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, explain, example='runs/films "Film 1" has_genre western')
    add_command(app, neighbours, example='runs/films "Film 1" --top 5')
    add_command(app, entity_map, "map", example="runs/films --picture map.png")


def explain(
    run: Run,
    head: Annotated[str, typer.Argument(metavar="HEAD", help="By key, by name, or its beginning.")],
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="The same.")],
    tail: Annotated[str, typer.Argument(metavar="TAIL", help="The same.")],
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many of each thing to show.")] = 5,
    side: Annotated[Side, typer.Option(help="As an answer to (HEAD, RELATION, ?) or to (?, RELATION, TAIL).")] = "tail",
    picture: Picture = None,
    iris: Iris = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say why a triple is plausible or not: similar entities, shared facts, paths, ranks, and what the metric weighs."""
    from transa.analysis.drawing import check_picture
    from transa.analysis.explanation_plot import plot_explanation
    from transa.estimators import load_model
    from transa.inference.reports import report_of_explanation

    if picture is not None:
        check_picture(picture, overwrite=overwrite)
    model = load_model(run)
    note_compiling("count_better", model.model_, 1)
    note_learning(model.trained_)
    found = model.explain(head, relation, tail, top=top, side=side)
    note(*model.trained_.notes)
    if picture is not None:
        plot_explanation(model.trained_, found, picture, overwrite=overwrite)
    if as_json:
        emit_json({"run": str(run), **report_of_explanation(model.trained_, found)})
        return
    typer.echo(one_line(found.sentence))
    for each in found.tables(top=top, full=iris):
        show(each, full=iris)
    if picture is not None:
        typer.echo(f"Written: {picture}")


def neighbours(
    run: Run,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="By key, by name, or its beginning.")],
    output: TableOutput,
    relation: Annotated[str | None, typer.Option(help="Measure distances as this relation does.")] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many.")] = 10,
) -> None:
    """List the entities nearest to one, by their vectors or under a relation's metric."""
    from transa.estimators import load_model
    from transa.inference.reports import report_of_neighbours

    output.check()
    found = load_model(run).neighbours(entity, relation, top=top)
    if not len(found):
        note("the graph has no other entity")

    deliver(
        output,
        found.frame,
        lambda: {"run": str(run), **report_of_neighbours(found)},
        lambda: show(found.table(full=output.iris), full=output.iris),
    )


def entity_map(
    run: Run,
    picture: Annotated[Path, typer.Option(metavar="FILE", help="The picture: .png, .svg or .pdf.")],
    method: Annotated[
        Layout, typer.Option(help="Main directions, or near neighbours kept near (needs transa[umap]).")
    ] = "pca",
    colour: Annotated[
        str,
        typer.Option(
            metavar="degree|type|role|RELATION",
            help="By training triples, by the graph's types, by the side of a relation where an entity stands most often, or by what "
            "a relation leads to.",
        ),
    ] = "degree",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write coordinates: .csv, .tsv or .parquet.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of UMAP.")] = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draw all entities in the plane, by PCA or UMAP, coloured by degree or by type."""
    from transa.analysis.drawing import check_picture
    from transa.analysis.entity_map import entity_map as map_entities
    from transa.analysis.entity_map_plot import plot_map
    from transa.data.result_files import check_target, write_table
    from transa.estimators import load_model

    check_picture(picture, overwrite=overwrite)
    if out is not None:
        check_target(out, overwrite=overwrite)
    found = map_entities(load_model(run).trained_, method, colour, seed=seed)
    plot_map(found, picture, overwrite=overwrite)
    if out is not None:
        write_table(found.frame(), out, overwrite=overwrite)
    if as_json:
        figures = {"method": method, "entities": len(found.entities), "explained": found.explained}
        emit_json({"run": str(run), **figures, "picture": str(picture)})
        return
    if found.explained is not None:
        first, second = found.explained
        typer.echo(f"Two directions hold {first:.0%} and {second:.0%} of the variance.")
    for written in (picture, out):
        if written is not None:
            typer.echo(f"Written: {written}")
