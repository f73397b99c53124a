"""Commands that look into a model: explain, neighbours, map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.choices import Layout, Side
from transa.cli.options import Json, Overwrite, Picture, Run, TableOutput, add_command
from transa.cli.output import deliver, emit_json, note, note_compiling, table

if TYPE_CHECKING:
    from transa.inference.explain import Explanation


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, explain)
    add_command(app, neighbours)
    add_command(app, entity_map, "map")


def explain(
    run: Run,
    head: Annotated[str, typer.Argument(metavar="HEAD", help="By key, by name, or its beginning.")],
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="The same.")],
    tail: Annotated[str, typer.Argument(metavar="TAIL", help="The same.")],
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many of each thing to show.")] = 5,
    side: Annotated[Side, typer.Option(help="As an answer to (HEAD, RELATION, ?) or to (?, RELATION, TAIL).")] = "tail",
    picture: Picture = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say why a triple scores as it does: dimensions, ranks, supporting facts, and what the metric changes."""
    from transa.analysis.drawing import check_picture
    from transa.analysis.explanation_plot import plot_explanation
    from transa.estimators import load_model

    if picture is not None:
        check_picture(picture, overwrite=overwrite)
    model = load_model(run)
    note_compiling("count_better", model.model_)
    found = model.explain(head, relation, tail, top=top, side=side)
    notes = model.trained_.notes
    note(*notes)
    if picture is not None:
        plot_explanation(model.trained_, found, picture, overwrite=overwrite)
    if as_json:
        emit_json({"run": str(run), "notes": list(notes), **found.report()})
        return
    _show(found, top)
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

    output.check()
    found = load_model(run).neighbours(entity, relation, top=top)
    if not len(found):
        note("the graph has no other entity")

    def show() -> None:
        under = "" if found.relation is None else f" under {found.relation}"
        rows = [(each.name, f"{each.distance:.4g}", each.degree) for each in found.nearest]
        if rows:
            table(f"Nearest to {found.entity}{under}", ("entity", "distance", "triples"), rows)

    deliver(
        output,
        found.frame,
        lambda: {"run": str(run), "entity": found.entity, "relation": found.relation, "neighbours": found.rows()},
        show,
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
            metavar="degree|role|RELATION",
            help="By training triples, by the side of a relation where an entity stands most often, or by what a relation leads to.",
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


def _show(found: Explanation, top: int) -> None:
    triple = found.triple
    where = f"in {' and '.join(found.splits)}" if found.splits else "not in the graph"
    rows: list[tuple[str, str]] = [("the graph", where), ("score", f"{triple.score:.4g}")]
    if triple.threshold is not None and triple.probability is not None:
        said = "true" if triple.decision else "false"
        rows += [("threshold", f"{triple.threshold:.4g}: {said}"), ("probability", f"{triple.probability:.3f}")]
    if triple.note is not None:
        rows.append(("loop prior", triple.note))
    for side, rank in (("head", found.head_rank), ("tail", found.tail_rank)):
        rows.append((f"rank of the {side}", f"{rank.raw:g}; {rank.filtered:g} without other known facts"))
    if found.without is not None:
        for side, rank in (("head", found.without.head_rank), ("tail", found.without.tail_rank)):
            rows.append((f"  by {found.without.norm}, without the metric", f"{side} {rank.raw:g}; {rank.filtered:g}"))
    table(f"({triple.head}, {triple.relation}, {triple.tail})", ("", ""), rows)
    _show_dimensions(found, top)
    if found.support:
        table(
            "The nearest training triples of the relation",
            ("head", "tail", "distance"),
            [(each.head, each.tail, f"{each.distance:.4g}") for each in found.support],
        )
    for title, similar in (
        (f"Like {triple.head}, with {triple.relation} to {triple.tail}", found.like_head),
        (f"Like {triple.tail}, to which {triple.head} has {triple.relation}", found.like_tail),
    ):
        if similar:
            rows_: list[tuple[Any, ...]] = [
                (each.name, f"{each.distance:.4g}", f"{each.nearness:,}") for each in similar
            ]
            table(title, ("entity", "distance", "neighbour no."), rows_)
    answers = {"with the metric" if found.without else "answer": found.answers}
    if found.without is not None:
        answers[f"by {found.without.norm}"] = found.without.answers
    shown = [[f"{each.name}{'' if each.known else ' (new)'}" for each in some] for some in answers.values()]
    asked = (
        f"({triple.head}, {triple.relation}, ?)" if found.side == "tail" else f"(?, {triple.relation}, {triple.tail})"
    )
    table(f"Best answers to {asked}", tuple(answers), list(zip(*shown, strict=True)))


def _show_dimensions(found: Explanation, top: int) -> None:
    total = found.parts.total
    views = {found.parts.what: found.residual_dimensions()}
    if found.transformed is not None:
        views["transformed dimensions, W_r = L D L^T, each named by its pivot"] = found.dimensions()
    for title, dimensions in views.items():
        names = tuple(dimensions[0])
        rows = [
            (
                str(row["dimension"]),
                *(f"{row[name]:.4g}" for name in names[1:]),
                f"{row['part'] / total:.1%}" if total else "-",
            )
            for row in dimensions[:top]
        ]
        table(f"What carries the score: {title}", (*names, "share"), rows)
