"""Commands that look at what was learned: weights, figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transa.cli.options import Json

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(weights)
    app.command()(figure)


def weights(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of a model with a metric.")],
    relation: Annotated[
        list[str] | None, typer.Option("--relation", metavar="NAME", help="Only this one; repeatable.")
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
    written = [found.write(target, overwrite=overwrite) for target in (csv, parquet) if target is not None]
    if picture is not None:
        written.append(plot_weights(found, picture, top=max(top, 1), overwrite=overwrite))
    summary = {"run": str(run), **found.summary(dimensions)}
    if as_json:
        emit_json(summary)
        return
    _show_weights(summary, top)
    for one in written:
        typer.echo(f"Written: {one}")


def figure(
    number: Annotated[int, typer.Argument(metavar="1|2|3", min=1, max=3, help="Which figure of the paper.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of a model with a metric.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .png, .svg or .pdf file; by default figureN.png.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="A TransE of the same graph (1, 3); by default its score on the same vectors."
        ),
    ] = None,
    head: Annotated[
        list[str] | None, typer.Option("--head", metavar="NAME", help="Whose tails (1, 2); repeatable for 2.")
    ] = None,
    relation: Annotated[str | None, typer.Option(metavar="NAME", help="Which relation (1, 2).")] = None,
    norm: Annotated[int, typer.Option(min=1, max=2, help="L1 or L2 of TransE on the same vectors (1, 3).")] = 2,
    unmatched: Annotated[
        int | None,
        typer.Option(min=1, help="How many unmatched tails (1, 2); by default as many as matched, at least 10."),
    ] = None,
    nearest: Annotated[
        bool,
        typer.Option("--nearest", help="Unmatched tails that the models rank first, in place of random ones (1, 2)."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many relations, those with the most triples (3).")] = 25,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draw a figure of the paper from a run.

    1: matched and unmatched tails in a plane, with lines of equal score. 2: what the weights do to a specific and a general head's
    tails. 3: accuracy for each relation against the weight difference.
    """
    from transa.analysis.questions import Others
    from transa.analysis.style import SUFFIXES
    from transa.analysis.weights import check_metric
    from transa.cli.output import emit_json
    from transa.errors import InputError
    from transa.evaluation.tables import check_target
    from transa.training import RunFolder

    target = Path(f"figure{number}.png") if out is None else out
    check_target(target, SUFFIXES, overwrite=overwrite)
    unused = {
        1: (("--head more than once", len(head or []) > 1),),
        2: (("--against", against is not None),),
        3: (
            ("--head", bool(head)),
            ("--relation", relation is not None),
            ("--unmatched", unmatched is not None),
            ("--nearest", nearest),
        ),
    }
    for option, given in unused[number]:
        if given:
            raise InputError(f"figure {number} does not take {option}")
    folder = RunFolder(run)
    model, graph = folder.model(), folder.graph()
    check_metric(model)
    other = None if against is None else _other(against, graph)
    others = Others(unmatched, nearest, seed)
    result: Any
    if number == 1:
        from transa.analysis.figure1 import draw_figure1, figure1

        chosen = head[0] if head else None
        result = figure1(model, graph, against=other, head=chosen, relation=relation, norm=norm, others=others)
        draw_figure1(result, target, overwrite=overwrite)
    elif number == 2:
        from transa.analysis.figure2 import draw_figure2, figure2

        result = figure2(model, graph, relation=relation, heads=head, others=others)
        draw_figure2(result, target, overwrite=overwrite)
    else:
        from transa.analysis.figure3 import draw_figure3, figure3

        result = figure3(model, graph, against=other, norm=norm, seed=seed)
        draw_figure3(result, target, top=top, overwrite=overwrite)
    summary = {"run": str(run), "against": None if against is None else str(against), **result.summary()}
    if as_json:
        emit_json({**summary, "picture": str(target)})
        return
    _show_figure(summary)
    typer.echo(f"Written: {target}")


def _other(run: Path, graph: Any) -> Any:
    """Return the model of a second run, checked to be of the same graph."""
    from transa.errors import InputError
    from transa.training import RunFolder

    folder = RunFolder(run)
    model, other = folder.model(), folder.graph()
    if other.entities != graph.entities or other.relations != graph.relations:
        raise InputError("is a run on another graph", path=run)
    return model


def _show_figure(summary: dict[str, Any]) -> None:
    from transa.cli.output import table

    header = ("", "mistakes", "wrongly in", "wrongly out", "AUC")

    def line(label: str, found: dict[str, Any]) -> tuple[object, ...]:
        return (label, found["mistakes"], found["wrongly_in"], found["wrongly_out"], f"{found['auc']:.3f}")

    if summary["figure"] == 1:
        rows = [
            line(f"{panel['label']}, {where.replace('_', ' ')}", panel[where])
            for panel in summary["panels"]
            for where in ("plane", "all_dimensions")
        ]
        counts = f"{len(summary['matched'])} matched and {len(summary['unmatched'])} other tails"
        table(f"({summary['head']}, {summary['relation']}, ?): {counts}", header, rows)
    elif summary["figure"] == 2:
        for found in summary["heads"]:
            counts = f"{len(found['matched'])} matched and {len(found['unmatched'])} other tails"
            table(
                f"({found['head']}, {summary['relation']}, ?): {counts}",
                header,
                [line(view["label"], view) for view in found["views"]],
            )
    else:
        plain, ours = summary["labels"]
        table(
            f"Accuracy on {summary['split']}: {plain} {summary['plain_accuracy']:.1%}, {ours} {summary['accuracy']:.1%}",
            ("relation", "n", "weight difference", plain, ours),
            [
                (
                    row["name"],
                    row["triples"],
                    _figure(row["weight_difference"]),
                    f"{row['plain_accuracy']:.1%}",
                    f"{row['accuracy']:.1%}",
                )
                for row in summary["relations"]
            ],
        )


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
