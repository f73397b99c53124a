"""What commands print: results on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from transa.cli.options import TableOutput
from transa.readable import called, counted, is_iri, is_number, one_line, short

if TYPE_CHECKING:
    import pyarrow as pa

    from transa.data import Vocabulary
    from transa.inference import Trained
    from transa.inference.rows import Skipped
    from transa.models import Model
    from transa.table import Table as Result
    from transa.training import Options, Recipe

#: How many rows that were left out are shown.
SKIPPED = 10
#: What reaches a triple (`transa.rules.quick.REACHED`), for people.
REACHED = {"one_atom": "a rule of one atom", "other": "other rules", "none": "no rule"}
#: What a command says before it waits for the compiler.
COMPILING = "first use on this machine: compiling kernels, which takes up to a minute and is kept for the next time"


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout; half of a surrogate pair, as paths may hold, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def note(*texts: str) -> None:
    """Tell the user something on stderr."""
    for text in texts:
        typer.secho(f"note: {one_line(text)}", fg="yellow", err=True)


def note_skipped(skipped: Sequence[Skipped], unit: str) -> None:
    """Tell the user which rows were left out: how many, and of the first ones why."""
    if not skipped:
        return
    note(f"{counted(len(skipped), unit)} left out, with names that the model does not know")
    note(*(f"  {each.place}: {each.reason}" for each in skipped[:SKIPPED]))
    if len(skipped) > SKIPPED:
        note(f"  … and {len(skipped) - SKIPPED:,} more; --json lists all")


def note_compiling(kernel: str, model: Model, queries: int | None = None) -> None:
    """Say that a kernel is being compiled, if the model uses it and it is used for the first time on this machine.

    `queries` is the number of questions where a few may need no kernel (`transa.evaluation.ranking.QuickRanker`).
    """
    from transa.evaluation.ranking import are_few, has_compiled_ranking

    if model.evidence is not None:
        note_compiling_rules()
    if queries is not None and are_few(queries, model):
        return
    from transa.kernels.cache import is_compiled

    named = model.kernel()
    if named is not None and has_compiled_ranking(model) and not is_compiled(kernel, named.score):
        note(COMPILING)


def note_learning(trained: Trained) -> None:
    """Say that probabilities are learned before the first question to a run is answered."""
    from transa.inference.confidence import FILE

    if trained.folder is not None and len(trained.graph.valid) and not trained.folder.holds(FILE):
        note("first question to this run: learning probabilities from the validation split, kept for the next time")


def note_compiling_rules() -> None:
    """Say that the kernels of rules are being compiled, if they are used for the first time on this machine."""
    from transa.kernels.cache import are_rules_compiled

    if not are_rules_compiled():
        note(COMPILING)


def note_compiling_training(options: Options, *recipes: Recipe) -> None:
    """Say that the kernels which train by some recipes are being compiled, if any is used for the first time on this machine."""
    if not all(_is_training_compiled(options, recipe) for recipe in recipes):
        note(COMPILING)


def _is_training_compiled(options: Options, recipe: Recipe) -> bool:
    from transa.kernels import softmax
    from transa.kernels.cache import is_compiled, is_kept
    from transa.training.engine import training_model, why_not_numba

    model = training_model(recipe.build_model(1, 1), recipe)
    named = model.kernel()
    if options.engine == "torch" or why_not_numba(model, recipe, options.device):
        return True
    if recipe.negatives == "all":
        return is_kept(softmax._score)
    return named is None or is_compiled("gradient_phase", named.score)


def rules_mined(found: dict[str, Any]) -> str:
    """Say which rules were mined quickly, given their report."""
    forms = "all forms" if found["forms"] == "all" else "one atom"
    late = "" if found["complete"] else ", as far as a minute allowed"
    return f"{counted(found['rules'], 'rule')} of {forms} mined from train{late}"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, full: bool = False) -> None:
    """Print a table on stdout, with texts to the left and numbers to the right; if no column has a name, without a header.

    IRIs are shortened, except those that would then look alike; with `full`, none is.
    """
    rows = [list(row) for row in rows]
    shortened = {} if full else _short_iris(cell for row in rows for cell in row)
    rows = [[shortened.get(cell, cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    drawn = Table(show_header=any(header))
    for position, name in enumerate(header):
        numeric = bool(rows) and all(_is_number(row[position]) for row in rows)
        drawn.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in rows:
        drawn.add_row(*map(_cell, row))
    console = Console()
    console.print(Text(one_line(title), style="bold"), soft_wrap=True)  # a long path stays in one piece
    console.print(drawn)


def shown_names(vocabulary: Vocabulary) -> dict[str, str]:
    """Return what people read in the place of each key."""
    return {key: called(key, vocabulary.name(place)) for place, key in enumerate(vocabulary)}


def show(found: Result, *, title: str | None = None, full: bool = False) -> None:
    """Print a table of a result on stdout, if it has rows; `title` stands in the place of its own."""
    if found.rows:
        table(title or found.title, found.header, found.rows, full=full)
        if found.note:
            typer.echo(found.note)


def _short_iris(cells: Iterable[object]) -> dict[str, str]:
    """Return the short form of each IRI among the cells of a table, without those that two IRIs share."""
    found = {cell: short(cell) for cell in cells if isinstance(cell, str) and is_iri(cell)}
    times = Counter(found.values())
    return {iri: name for iri, name in found.items() if times[name] == 1}


def deliver(
    output: TableOutput,
    frame: Callable[[], pa.Table],
    report: Callable[[], dict[str, Any]],
    show: Callable[[], None],
) -> None:
    """Give a result as `output` says: write its table to a file, and print it as JSON or for people."""
    from transa.data.result_files import write_table

    if output.out is not None:
        write_table(frame(), output.out, overwrite=output.overwrite)
    if output.as_json:
        emit_json(report())
    elif output.out is not None:
        typer.echo(f"Written: {output.out}")
    else:
        show()


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr if that is a terminal; the yielded function takes the number of further steps."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def _is_number(value: object) -> bool:
    """Tell whether a value is a number, the text of one, or ``-`` in the place of one."""
    return is_number(value) if isinstance(value, str) else isinstance(value, int | float)


def _cell(value: object) -> Text:
    """Return a value as text that is shown literally, while rich would read markup in a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text(f"{value:.2f}" if isinstance(value, float) else one_line(str(value)))
