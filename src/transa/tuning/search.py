"""The search from its start to its end, with further processes if asked for."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from transa.data import KnowledgeGraph
from transa.data.graph import required
from transa.errors import InputError
from transa.kernels.threads import set_threads
from transa.training import Options
from transa.training.general import Trial
from transa.tuning.outcome import Attempt, Tuned
from transa.tuning.space import ways_of_training
from transa.tuning.study import StudyFolder, optuna_module
from transa.tuning.trials import Limits, begin, search

#: Minutes that a search takes unless the user says otherwise.
MINUTES = 30.0
#: How many trials fit a search at least, if none is ended before its last epoch.
LEAST_TRIALS = 12
#: The share of the time in which the best trials are repeated with other seeds.
REPEATING = 1 / 3


def tune(
    graph: KnowledgeGraph,
    model: str = "transa",
    settings: Mapping[str, Any] | None = None,
    *,
    minutes: float = MINUTES,
    trials: int | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    workers: int = 1,
    options: Options | None = None,
    callback: Callable[[Trial | Attempt], None] | None = None,
) -> Tuned:
    """Search for settings that suit a graph, by their score on the validation split; the test split is not looked at.

    The first trial has the settings that `transa train` would use, some more have settings near to these. Further ones vary them and
    other ways of training (TPE). Trials that do worse than others after a part of their epochs are ended early (successive halving).
    In the last third of the time the best are trained again with other seeds, and the best mean wins.

    Parameters
    ----------
    graph
        The graph. If it has no validation triples, some training triples are held out.
    model
        Name of the model.
    settings
        Settings of `transa.Recipe` that hold in all trials.
    minutes
        How long this call may take.
    trials
        How many trials there are at most, those before a resumption included.
    folder
        Keeps the search, so that it can be resumed: also after its process was killed.
    resume
        Go on with the search in the folder, for as many minutes again.
    workers
        How many processes train at once. They share the processors.
    options
        How to train on this machine.
    callback
        Called after each trial, those of the general recipe before the search included.

    Raises
    ------
    InputError
        If Optuna is missing, a setting is wrong, or no trial was trained to the end.
    """
    optuna_module()
    for name, value in (("minutes", minutes), ("workers", workers), ("trials", 1 if trials is None else trials)):
        if value <= 0:
            raise InputError(f"{name}: expected more than 0, found {value}")
    if folder is None:
        if resume:
            raise InputError("resume: name the folder of the search")
        with tempfile.TemporaryDirectory() as place:
            kept = {"minutes": minutes, "trials": trials, "workers": workers, "options": options, "callback": callback}
            return replace(tune(graph, model, settings, folder=Path(place) / "study", **kept), folder=None)  # type: ignore[arg-type]
    started, options, study = time.monotonic(), options or Options(), StudyFolder(folder)
    study.check(resume=resume)
    whole = 60 * minutes
    limits = Limits(started + whole, whole / LEAST_TRIALS, REPEATING * whole, trials)
    with study.locked():
        if resume:
            study.check_same(required(graph))
            study.take_up()
        else:
            given = dict(settings or {})
            ways = ways_of_training(model, required(graph), given, minutes, options, callback)
            study.start(graph, begin(graph, ways, given, options, limits.trial_seconds))
        seen = {each.number for each in study.attempts()}

        def told() -> None:
            new = [each for each in study.attempts() if each.number not in seen]
            seen.update(each.number for each in new)
            if any(each.state == "done" for each in new):
                study.write_best(study.tuned())
            if callback is not None:
                for each in new:
                    callback(each)

        with further_workers(study, workers - 1, limits, options, len(seen)) as shared:
            search(study, graph, shared, limits, len(seen), told)
        told()
        return study.tuned()


@contextmanager
def further_workers(study: StudyFolder, number: int, limits: Limits, options: Options, seed: int) -> Iterator[Options]:
    """Start processes that take part in a search, yield the options for this one, and wait for them at the end."""
    threads = max(1, set_threads(options.threads) // (number + 1))
    shared = replace(options, threads=threads) if number else options
    command = [sys.executable, "-m", "transa.tuning.worker", str(study.path), "--options", json.dumps(asdict(shared))]
    command += ["--seconds", str(limits.deadline - time.monotonic()), "--trial-seconds", str(limits.trial_seconds)]
    command += ["--repeating", str(limits.repeating)]
    command += [] if limits.trials is None else ["--trials", str(limits.trials)]
    processes = [subprocess.Popen([*command, "--seed", str(seed + 1000 * (each + 1))]) for each in range(number)]  # noqa: S603
    try:
        yield shared
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.terminate()
            process.wait()
