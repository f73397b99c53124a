"""The progress of training as people watch it on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from numba.core import event
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from transa.readable import counted
from transa.training import Callback, Progress, Trainer


class LiveView(Callback):
    """Shows a bar on a terminal, otherwise a line after every tenth of the epochs; and how far the compiler is, where it has to run."""

    def on_start(self, trainer: Trainer) -> None:
        """Show an empty bar, and begin to listen to the compiler."""
        self._open(trainer.recipe.epochs, trainer.epoch)

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Show how far training is, and how well it does."""
        self._show(progress)

    def on_end(self, trainer: Trainer, error: BaseException | None) -> None:
        """Leave the bar as it is."""
        self._close()

    @contextmanager
    def watching(self, epochs: int, done: int) -> Iterator[Callable[[Progress], None]]:
        """Give what is to be called after every epoch, where no `Trainer` calls: by several workers."""
        self._open(epochs, done)
        try:
            yield self._show
        finally:
            self._close()

    def _open(self, epochs: int, done: int) -> None:
        self.console = Console(stderr=True)
        columns = (
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
        )
        self.bar = Bar(*columns, console=self.console, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("training", total=epochs, completed=done, state="")
        self.bar.start()
        self.compiler = Compiler(lambda name: self.bar.update(self.task, state=f"compiling kernels, once: {name}"))
        event.register("numba:compile", self.compiler)

    def _show(self, progress: Progress) -> None:
        violating = "" if progress.violations is None else f", violating {progress.violations:.1%}"
        state = f"loss {progress.loss:.4f}{violating}, {progress.triples_per_second:,.0f} triples/s"
        if progress.best is not None:
            state += f", best {progress.best:.4f} (epoch {progress.best_epoch})"
        self.bar.update(self.task, completed=progress.epoch, state=state)
        if not self.console.is_terminal and (done := self.compiler.take()):
            typer.echo(done, err=True)
        tenth = max(1, progress.epochs // 10)
        if not self.console.is_terminal and (progress.epoch % tenth == 0 or progress.epoch in (1, progress.epochs)):
            typer.echo(f"epoch {progress.epoch}/{progress.epochs}: {state}", err=True)

    def _close(self) -> None:
        event.unregister("numba:compile", self.compiler)
        self.bar.stop()


class Compiler(event.Listener):  # type: ignore[misc]
    """Hears which kernels numba compiles; those that it finds on disk are not among them.

    Parameters
    ----------
    tell
        Called with the name of a kernel before it is compiled.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.names: list[str] = []
        self.seconds = 0.0
        self._depth = 0

    def on_start(self, told: Any) -> None:
        """Take note of a kernel; what it is compiled with does not count by itself."""
        if not self._depth:
            self._began = time.perf_counter()
            name = told.data["dispatcher"].__name__.strip("_").replace("_", " ")
            self.names.append(name)
            self.tell(name)
        self._depth += 1

    def on_end(self, told: Any) -> None:
        """Take note of the time."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._began

    def take(self) -> str:
        """Say what was compiled since the last call, if anything was."""
        said = f"compiled {counted(len(self.names), 'kernel')} in {self.seconds:.1f} s, kept for the next time"
        found = said if self.names else ""
        self.names, self.seconds = [], 0.0
        return found
