"""The progress bar of downloads, for the command line and for Python alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from transa.data.registry import FileProgress


@contextmanager
def download_bar() -> Iterator[FileProgress]:
    """Show a bar for each file on stderr, if that is a terminal. Yields the function that `transa.data.registry.locate` calls."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=None)
            bars.update(tasks[file], completed=done, total=total)

        yield show
