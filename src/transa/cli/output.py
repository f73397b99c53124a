"""What people and machines get to see. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pyarrow as pa

    from transa.memory import MemoryEstimate

IgnoreMemory = Annotated[bool, typer.Option("--ignore-memory", help="Go on where there seems to be too little.")]

#: Characters by which a name could give orders to a terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout; half of a surrogate pair, as paths may hold, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def note(*texts: str) -> None:
    """Tell the user something on stderr."""
    for text in texts:
        typer.secho(f"note: {text}", fg="yellow", err=True)


def note_memory(need: MemoryEstimate, *, ignore: bool) -> None:
    """Say how much memory will be needed, and refuse where there is less."""
    from transa.memory import check_memory

    note(f"memory: about {need}")
    if not ignore:
        check_memory(need)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on stdout: texts to the left, numbers to the right and in one piece. Without names, there is no line for them."""
    rows = [list(row) for row in rows]
    drawn = Table(show_header=any(header))
    for position, name in enumerate(header):
        numeric = bool(rows) and all(_is_number(row[position]) for row in rows)
        drawn.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in rows:
        drawn.add_row(*map(_cell, row))
    console = Console()
    console.print(Text(title, style="bold"), soft_wrap=True)  # a long path stays in one piece
    console.print(drawn)


def deliver(
    frame: Callable[[], pa.Table],
    report: Callable[[], dict[str, Any]],
    show: Callable[[], None],
    *,
    out: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Give a result in the way that was asked for: a table in a file, a JSON object, or something to read."""
    from transa.evaluation.tables import write_table

    if out is not None:
        write_table(frame(), out, overwrite=overwrite)
    if as_json:
        emit_json(report())
    elif out is not None:
        typer.echo(f"Written: {out}")
    else:
        show()


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr where that is a terminal; what is yielded takes the number of steps done since."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def _is_number(value: object) -> bool:
    """Tell whether a value is a number or the text of one, in which ``-`` stands for one that is not there."""
    if not isinstance(value, str):
        return isinstance(value, int | float)
    try:
        float(value.replace(",", "").removesuffix("%"))
    except ValueError:
        return value == "-"
    return True


def _cell(value: object) -> Text:
    """Return a value as it is shown; a `Text` is taken literally, while a string could hold markup."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text(
        f"{value:.2f}" if isinstance(value, float) else _CONTROL.sub(lambda found: ascii(found[0])[1:-1], str(value))
    )
