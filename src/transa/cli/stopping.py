"""Ctrl-C and SIGTERM: training ends with a checkpoint, everything else without a trace of half a file."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from transa.training import Trainer


@contextmanager
def exiting_on_termination() -> Iterator[None]:
    """Let SIGTERM end the program as an exception does, so that files under temporary names are cleared away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def stopping_between_epochs(trainer: Trainer, how: str = "--resume") -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end training after the epoch under way, and a second one at once.

    The message says that the same command goes on, with the option `how` where there is one.
    """
    from transa.training import Stopped

    received: list[int] = []

    def handle(number: int, _: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        trainer.stop()
        # Not by way of sys.stderr, which may be in use by what was interrupted.
        os.write(2, b"stopping after this epoch; the same signal again stops at once\n")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except (Stopped, KeyboardInterrupt) as stop:
        what = str(stop) or "stopped at once; the last checkpoint is kept"
        again = ["transa", *(word for word in sys.argv[1:] if word != how), *([how] if how else [])]
        typer.secho(f"{what}. Go on with: {shlex.join(again)}", fg="yellow", err=True)
        raise typer.Exit(128 + received[0]) from None
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
