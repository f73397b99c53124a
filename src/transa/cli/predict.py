"""Commands that put questions to a run: predict, check, discover."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transa.cli.loading import load_triples
from transa.cli.options import NoLoopPrior, Only, Run, Selection, SkipUnknown, TableOutput, TextFormat, add_command
from transa.cli.output import deliver, note, note_compiling, note_learning, note_skipped, progress_bar, show
from transa.cli.sharing import SharedAsking

if TYPE_CHECKING:
    from transa.inference import Question, Trained
    from transa.inference.rows import Skipped

#: What we say if a search finds nothing.
NOTHING_NEW = "nothing was found: every answer in range is known already"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, predict, example='runs/films --head "Film 1" --relation has_genre')
    add_command(app, check, example="runs/films claims.csv")
    add_command(app, discover, example="runs/films --relation has_genre --top 20")


@dataclass(frozen=True)
class Asked:
    """One question, or a file of questions."""

    head: Annotated[str | None, typer.Option(help="By key, by name, or its beginning.")] = None
    relation: Annotated[str | None, typer.Option(help="The same.")] = None
    tail: Annotated[str | None, typer.Option(help="The same; two of the three are given.")] = None
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Many questions: columns head, relation, tail, one of them empty in each row."
        ),
    ] = None
    skip_unknown: SkipUnknown = False


def predict(
    run: Run,
    asked: Asked,
    output: TableOutput,
    sharing: SharedAsking,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many answers to each question.")] = 10,
    new_only: Annotated[bool, typer.Option("--new-only", help="Leave out what the graph holds already.")] = False,
    in_range: Annotated[
        bool, typer.Option("--in-range", help="Only entities whose types fit, or that train has on that side.")
    ] = False,
    no_loop_prior: NoLoopPrior = False,
) -> None:
    """Answer (head, relation, ?), (?, relation, tail) or (head, ?, tail)."""
    from transa.data.places import Places
    from transa.errors import InputError
    from transa.inference.answers import Question, frame_of
    from transa.inference.predict import ids_of
    from transa.inference.question_files import read_questions, whole_questions
    from transa.inference.reports import notes_on_answers, report_of_answers
    from transa.training import RunFolder

    output.check()
    given = (asked.head, asked.relation, asked.tail)
    if asked.queries is not None and given != (None, None, None):
        raise InputError("--queries: give questions in the file or by --head, --relation and --tail, not both")
    if asked.queries is None and asked.skip_unknown:
        raise InputError("--skip-unknown goes with --queries")
    questions, places = read_questions(asked.queries) if asked.queries is not None else ([Question(*given)], Places())

    def understood(trained: Trained) -> tuple[list[Question], list[Skipped]]:
        if asked.queries is None:
            ids_of(trained, questions)
            return questions, []
        return whole_questions(trained, questions, places, skip_unknown=asked.skip_unknown)

    with sharing.one_voice(), sharing.opened(RunFolder(run), understood) as model:
        questions, skipped = understood(model.trained_)
        note_skipped(skipped, "question")
        note_compiling("best_answers", model.model_, len(questions))
        note_learning(model.trained_)
        answers = model.answer(questions, top=top, new_only=new_only, in_range=in_range, loop_prior=not no_loop_prior)
        note(*notes_on_answers(model.trained_, answers))
        left = f"no answer is left{' that is new' if new_only else ''}{' in range' if in_range else ''}"
        note(*(f"{each.table().title}: {left}" for each in answers if not each))
        report = {"run": str(run), **report_of_answers(model.trained_, answers, skipped)}
    if sharing.is_quiet:  # the first worker tells
        return

    def show_all() -> None:
        for each in answers:
            show(each.table(full=output.iris), full=output.iris)

    deliver(output, lambda: frame_of(answers), lambda: report, show_all)


def check(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Triples, in any format that graphs are read from.")],
    output: TableOutput,
    text: TextFormat,
    selection: Selection,
    skip_unknown: SkipUnknown = False,
    fail_below: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Exit with 1 if a triple is less probable than this."),
    ] = None,
) -> None:
    """Say of each triple of a file whether it is true, with probability and threshold."""
    from transa.estimators import load_model
    from transa.inference.check import check_ids, triple_ids
    from transa.inference.reports import report_of_checks

    output.check()
    triples = load_triples(file, text, selection)
    note(*triples.notes)
    model = load_model(run)
    ids, skipped = triple_ids(model.trained_, triples.rows(), triples.places, skip_unknown=skip_unknown)
    note_skipped(skipped, "triple")
    note_compiling("best_answers", model.model_, len(ids))
    note_learning(model.trained_)
    checked = check_ids(model.trained_, ids)
    below = [] if fail_below is None else checked.below(fail_below)
    report = {"run": str(run), **report_of_checks(model.trained_, checked, skipped, len(below))}
    note(*report["notes"])
    deliver(
        output,
        checked.frame,
        lambda: report,
        lambda: show(checked.table(full=output.iris), full=output.iris),
    )
    if below:
        note(f"less probable than {fail_below}: {len(below):,} of {len(checked):,} triples")
        raise typer.Exit(1)


def discover(
    run: Run,
    output: TableOutput,
    errors: Annotated[
        bool, typer.Option("--errors", help="The least probable facts of train instead: where to look for errors.")
    ] = False,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many facts.")] = 50,
    each: Annotated[int, typer.Option(min=1, help="Answers to each (head, relation, ?) that are looked at.")] = 10,
    each_head: Annotated[int | None, typer.Option(min=1, help="At most so many facts of one head.")] = None,
    relation: Only = None,
    parts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep finished parts here, and go on from those that are there.")
    ] = None,
    no_loop_prior: NoLoopPrior = False,
) -> None:
    """Find the most probable new facts of the whole graph, or the least probable ones it holds."""
    from transa.estimators import load_model
    from transa.inference.discover import pairs
    from transa.inference.reports import report_of_discoveries

    output.check()
    model = load_model(run)
    note_learning(model.trained_)
    if errors:
        found = model.discover(top=top, each_head=each_head, relations=relation, errors=True)
    else:
        note_compiling("best_answers", model.model_)
        with progress_bar("searching", pairs(model.trained_, relation)) as callback:
            found = model.discover(
                top=top,
                each=each,
                each_head=each_head,
                relations=relation,
                parts=parts,
                callback=callback,
                loop_prior=not no_loop_prior,
            )
    report = {"run": str(run), **report_of_discoveries(model.trained_, found)}
    note(*report["notes"])
    if not len(found):
        note("nothing was found: there is no such fact" if errors else NOTHING_NEW)
    title = "The least probable facts" if errors else "The most probable new facts"
    deliver(
        output,
        found.frame,
        lambda: report,
        lambda: show(found.table(full=output.iris), title=title, full=output.iris),
    )
