"""The command that draws a figure of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.options import Json, Overwrite, add_command
from transa.cli.output import emit_json, table

if TYPE_CHECKING:
    from transa.estimator import Estimator


@dataclass(frozen=True)
class Shown:
    """What a figure shows."""

    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A TransE of the same graph (1, 3); by default TransE on the same vectors."),
    ] = None
    head: Annotated[
        list[str] | None, typer.Option("--head", metavar="NAME", help="Whose tails (1, 2); repeatable for 2.")
    ] = None
    relation: Annotated[str | None, typer.Option(metavar="NAME", help="Which relation (1, 2).")] = None
    norm: Annotated[int, typer.Option(min=1, max=2, help="L1 or L2 of TransE on the same vectors (1, 3).")] = 2
    unmatched: Annotated[
        int | None,
        typer.Option(min=1, help="How many unmatched tails (1, 2); by default as many as matched, at least 10."),
    ] = None
    nearest: Annotated[
        bool,
        typer.Option("--nearest", help="Take unmatched tails that the models rank first, not random ones (1, 2)."),
    ] = False
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0
    top: Annotated[int, typer.Option(min=1, help="Draw this many relations, those with the most triples (3).")] = 25

    def check(self, number: int) -> None:
        """Refuse options that a figure does not take."""
        from transa.errors import InputError

        unused = {
            1: (("--head more than once", len(self.head or []) > 1),),
            2: (("--against", self.against is not None),),
            3: (
                ("--head", bool(self.head)),
                ("--relation", self.relation is not None),
                ("--unmatched", self.unmatched is not None),
                ("--nearest", self.nearest),
            ),
        }
        for option, given in unused[number]:
            if given:
                raise InputError(f"figure {number} does not take {option}")


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, figure, example="3 runs/films")


def figure(
    number: Annotated[int, typer.Argument(metavar="1|2|3", min=1, max=3, help="Which figure of the paper.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of a model with a metric.")],
    shown: Shown,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .png, .svg or .pdf file; by default figureN.png.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draw a figure of the paper from a run.

    1: matched and unmatched tails in a plane, with lines of equal score. 2: what the weights do to a specific and a general head's
    tails. 3: accuracy for each relation against the weight difference.
    """
    from transa.analysis.drawing import check_picture
    from transa.analysis.weights import check_metric
    from transa.estimators import load_model

    target = Path(f"figure{number}.png") if out is None else out
    check_picture(target, overwrite=overwrite)
    shown.check(number)
    model = load_model(run)
    check_metric(model.model_)
    result = _draw(number, model, shown, target, overwrite)
    against = None if shown.against is None else str(shown.against)
    summary = {"run": str(run), "against": against, **result.summary()}
    if as_json:
        emit_json({**summary, "picture": str(target)})
        return
    _show(summary)
    typer.echo(f"Written: {target}")


def _draw(number: int, trained: Estimator, shown: Shown, target: Path, overwrite: bool) -> Any:
    """Make and draw a figure."""
    from transa.reproduction.figures.questions import Others

    model, graph, relation, norm = trained.model_, trained.graph_, shown.relation, shown.norm
    other = None if shown.against is None else _other(shown.against, graph)
    others = Others(shown.unmatched, shown.nearest, shown.seed)
    result: Any
    if number == 1:
        from transa.reproduction.figures.figure1 import figure1
        from transa.reproduction.figures.figure1_plot import draw_figure1

        head = shown.head[0] if shown.head else None
        result = figure1(model, graph, against=other, head=head, relation=relation, norm=norm, others=others)
        draw_figure1(result, target, overwrite=overwrite)
    elif number == 2:
        from transa.reproduction.figures.figure2 import figure2
        from transa.reproduction.figures.figure2_plot import draw_figure2

        result = figure2(model, graph, relation=relation, heads=shown.head, others=others)
        draw_figure2(result, target, overwrite=overwrite)
    else:
        from transa.reproduction.figures.figure3 import figure3
        from transa.reproduction.figures.figure3_plot import draw_figure3

        result = figure3(model, graph, against=other, norm=norm, seed=shown.seed)
        draw_figure3(result, target, top=shown.top, overwrite=overwrite)
    return result


def _other(run: Path, graph: Any) -> Any:
    """Return the model of a second run, checked to be of the same graph."""
    from transa.errors import InputError
    from transa.estimators import load_model

    other = load_model(run)
    if other.graph_.entities != graph.entities or other.graph_.relations != graph.relations:
        raise InputError("is a run on another graph", path=run)
    return other.model_


def _show(summary: dict[str, Any]) -> None:
    from transa.cli.weights import short_number

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
                    short_number(row["weight_difference"]),
                    f"{row['plain_accuracy']:.1%}",
                    f"{row['accuracy']:.1%}",
                )
                for row in summary["relations"]
            ],
        )
