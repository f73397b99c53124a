"""Ctrl-C and SIGTERM: training writes a checkpoint before it ends, and no command leaves half a file behind."""

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
    from transa.training.sharded.trainer import ShardedTrainer


@contextmanager
def exiting_on_termination() -> Iterator[None]:
    """Let SIGTERM raise an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let a process that torchrun started end without the destructors of libraries.

    Threads of torch may still run when a worker is done. Their destructors then abort it now and then, and torchrun takes finished
    work for lost.
    """
    try:
        yield
    except SystemExit as end:
        if "TORCHELASTIC_RUN_ID" not in os.environ or not isinstance(end.code, int | None):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code or 0)


@contextmanager
def stopping_between_epochs(
    trainer: Trainer | ShardedTrainer, how: str = "--resume", command: str | None = None
) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end training after the current epoch, and a second one at once.

    The message names the command that resumes: `command`, or the same one, with the option `how` if there is one.
    """
    from transa.training import Stopped

    received: list[int] = []

    def handle(number: int, _: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        trainer.stop()
        # os.write, since the interrupted code may be in the middle of a write to sys.stderr
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
        typer.secho(f"{what}. Go on with: {command or shlex.join(again)}", fg="yellow", err=True)
        raise typer.Exit(128 + received[0]) from None
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
