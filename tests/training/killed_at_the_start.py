"""Kill a training run before each of the files it touches until its first checkpoint, and resume what is left.

A program of its own, since it forks: ``python killed_at_the_start.py FOLDER``. It prints a JSON object with the run's exit code, or
"the same" where the resumed run ended with the bits of the undisturbed one, by what the killed run was about to do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

TRAIN = ["train", "nations", "--model", "transr", "--engine", "torch", "--threads", "1", "--out"]
SMALL = {"dim": 4, "epochs": 1, "warm_epochs": 1, "entity_norm": "ball", "learning_rate": 0.0001, "batch_size": 500}
KILLED = 77
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir")


def command(run: Path, *more: str) -> None:
    from transa.cli import main

    sys.argv = [
        "transa",
        *TRAIN,
        str(run),
        *(word for item in SMALL.items() for word in ("--set", "{}={}".format(*item))),
        *more,
    ]
    main()


def in_another_process(work: Callable[[], None]) -> int:
    process = os.fork()
    if process == 0:
        code = 1
        try:
            log = os.open(os.devnull, os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            work()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def touched(run: Path) -> list[str]:
    """Return what a run does to files until its first checkpoint is there, in a folder that it then holds."""
    notes = run.with_name("notes")
    in_another_process(lambda: watch(run, lambda events: notes.write_text("\n".join(events))))
    return notes.read_text().splitlines()


def watch(run: Path, callback: Callable[[list[str]], object]) -> None:
    """Train, and call back with what has been done so far before anything is done to a file of the run."""
    events: list[str] = []
    seen = False

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if (
            event in EVENTS
            and not seen
            and isinstance(arguments[0], str | os.PathLike)
            and str(run) in str(arguments[0])
        ):
            name = str(arguments[1 if event == "os.rename" else 0])
            events.append(f"{event} {name.removeprefix(str(run)).lstrip('/') or 'the folder'}")
            seen = True  # what the callback does is no event
            callback(events)
            seen = events[-1] == "os.rename checkpoint.safetensors"

    sys.addaudithook(hook)
    command(run)


def kill_at(number: int) -> Callable[[list[str]], None]:
    def callback(events: list[str]) -> None:
        if len(events) == number:
            os._exit(KILLED)

    return callback


def main() -> None:
    import transa.training  # noqa: F401 once for all processes

    folder = Path(sys.argv[1])
    whole = folder / "whole"
    events = touched(whole)
    expected = (whole / "weights.safetensors").read_bytes()
    found = {}
    for number, event in enumerate(events, 1):
        run = folder / f"run{number}"
        code = in_another_process(lambda run=run, number=number: watch(run, kill_at(number)))
        assert code == KILLED, (event, code)
        code = in_another_process(lambda run=run: command(run, "--resume"))
        result = run / "weights.safetensors"
        same = code == 0 and result.read_bytes() == expected
        found[f"{number}: {event}"] = "the same" if same else code
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
