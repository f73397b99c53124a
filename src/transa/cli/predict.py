"""Commands that put questions to a run: predict, check, discover."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.graphs import Json
from transa.cli.train import note_compiling

if TYPE_CHECKING:
    from transa.inference import Trained

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a table: .csv, .tsv or .parquet.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]
Only = Annotated[list[str] | None, typer.Option("--relation", help="Only this relation; repeatable.")]

#: Said where a search is right and comes to nothing.
NOTHING_NEW = "nothing was found: every answer in range is known already"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(predict)
    app.command()(check)
    app.command()(discover)


def predict(
    run: Run,
    head: Annotated[str | None, typer.Option(help="By key, by name, or its beginning.")] = None,
    relation: Annotated[str | None, typer.Option(help="The same.")] = None,
    tail: Annotated[str | None, typer.Option(help="The same; two of the three are given.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Many questions: columns head, relation, tail, one of them empty in each row."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many answers to each question.")] = 10,
    new_only: Annotated[bool, typer.Option("--new-only", help="Leave out what the graph holds already.")] = False,
    in_range: Annotated[
        bool, typer.Option("--in-range", help="Only entities that stand on that side of the relation in train.")
    ] = False,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Answer (head, relation, ?), (?, relation, tail) or (head, ?, tail)."""
    from transa.cli.output import deliver, note, table
    from transa.data.result_files import check_target
    from transa.errors import InputError
    from transa.inference import Trained
    from transa.inference.predict import Question, answer, frame_of, read_questions

    if out is not None:
        check_target(out, overwrite=overwrite)
    if queries is not None and (head, relation, tail) != (None, None, None):
        raise InputError("--queries: give questions in the file or by --head, --relation and --tail, not both")
    questions = [Question(head, relation, tail)] if queries is None else read_questions(queries)
    trained = Trained.open(run)
    note_compiling("best_answers", trained.model)
    answers = answer(trained, questions, top=top, new_only=new_only, in_range=in_range)
    note(*trained.notes)
    left = f"no answer is left{' that is new' if new_only else ''}{' in range' if in_range else ''}"
    note(*(f"{each.question}: {left}" for each in answers if not each))

    def report() -> dict[str, Any]:
        found = [
            {"question": vars(each.question), "asked": each.question.asked, "answers": list(map(vars, each))}
            for each in answers
        ]
        return {"run": str(run), "notes": list(trained.notes), "questions": found}

    def show() -> None:
        for each in filter(None, answers):
            rows = [
                (place, _called(found.key, found.name), *_figures(found.score, found.probability), _known(found.known))
                for place, found in enumerate(each, start=1)
            ]
            table(str(each.question), ("", each.question.asked, "score", "probability", ""), rows)

    deliver(lambda: frame_of(answers), report, show, out=out, overwrite=overwrite, as_json=as_json)


def check(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Triples, in any format that graphs are read from.")],
    fail_below: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Exit with 1 if a triple is less probable than this."),
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say of each triple of a file whether it is true, with probability and threshold."""
    from transa.cli.output import deliver, note
    from transa.data.result_files import check_target
    from transa.errors import InputError
    from transa.inference import Trained
    from transa.inference.check import check as check_triples
    from transa.inference.check import read_triples

    if out is not None:
        check_target(out, overwrite=overwrite)
    triples = read_triples(file)
    trained = Trained.open(run)
    try:
        checked = check_triples(trained, triples)
    except InputError as error:
        raise InputError(str(error), path=file) from None
    note(*trained.notes)
    below = [] if fail_below is None else checked.below(fail_below)
    deliver(
        checked.frame,
        lambda: {"run": str(run), "notes": list(trained.notes), "below": len(below), "triples": checked.rows()},
        lambda: _show(trained, f"{len(checked):,} triples", checked),
        out=out,
        overwrite=overwrite,
        as_json=as_json,
    )
    if below:
        note(f"less probable than {fail_below}: {len(below):,} of {len(checked):,} triples")
        raise typer.Exit(1)


def discover(
    run: Run,
    errors: Annotated[
        bool, typer.Option("--errors", help="The least probable facts of train instead: where to look for errors.")
    ] = False,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many facts.")] = 50,
    each: Annotated[int, typer.Option(min=1, help="Answers to each (head, relation, ?) that are looked at.")] = 10,
    relation: Only = None,
    parts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep finished parts here, and go on from those that are there.")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find the most probable new facts of the whole graph, or the least probable ones it holds."""
    from transa.cli.output import deliver, note, progress_bar
    from transa.data.result_files import check_target
    from transa.inference import Trained
    from transa.inference.discover import discover as discover_facts
    from transa.inference.discover import doubtful, pairs

    if out is not None:
        check_target(out, overwrite=overwrite)
    trained = Trained.open(run)
    if errors:
        found = doubtful(trained, top=top, relations=relation)
    else:
        note_compiling("best_answers", trained.model)
        with progress_bar("searching", pairs(trained, relation)) as callback:
            found = discover_facts(trained, top=top, each=each, relations=relation, parts=parts, callback=callback)
        note("among all triples that could be made far more are false than the probabilities assume; the order counts")
    note(*trained.notes)
    if not len(found):
        note("nothing was found: there is no such fact" if errors else NOTHING_NEW)
    deliver(
        found.frame,
        lambda: {"run": str(run), "notes": list(trained.notes), "triples": found.rows()},
        lambda: _show(
            trained, "The least probable facts" if errors else "The most probable new facts", found, known=False
        ),
        out=out,
        overwrite=overwrite,
        as_json=as_json,
    )


def _show(trained: Trained, title: str, checked: Any, *, known: bool = True) -> None:
    """Show triples, if there are any; `known` is whether to say which of them the graph holds."""
    from transa.cli.output import table

    if not len(checked):
        return
    entities, relations = trained.graph.entities, trained.graph.relations
    rows = [
        (
            *(
                _called(key, names.name(names.id(key)))
                for key, names in ((each.head, entities), (each.relation, relations), (each.tail, entities))
            ),
            *_figures(each.score, each.threshold),
            "-" if each.probability is None else f"{each.probability:.3f}",
            "-" if each.decision is None else "true" if each.decision else "false",
            *([_known(each.known)] if known else []),
        )
        for each in checked.checked
    ]
    table(title, ("head", "relation", "tail", "score", "threshold", "prob.", "", *([""] if known else [])), rows)


def _called(key: str, name: str) -> str:
    return key if key == name else f"{name} ({key})"


def _figures(*values: float | None) -> tuple[str, ...]:
    return tuple("-" if value is None else f"{value:.4g}" for value in values)


def _known(known: bool) -> str:
    return "known" if known else "new"
