"""What is known of the trials of a search, and what comes of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from transa.frames import Framed
from transa.readable import counted
from transa.table import Table
from transa.training import Recipe

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class Attempt:
    """One trial of a search.

    Attributes
    ----------
    number
        Its number, from 0.
    way
        The way of training it varied.
    settings
        The settings it chose.
    score
        Its best validation score; None if there was none.
    state
        Whether it was trained to the end, ended since others did better, or failed.
    epochs
        The epochs it was to train.
    seconds
        How long it took.
    seed
        0, or for a repetition which one it is: it has the settings of an earlier trial and other random numbers.
    runs
        1, or for the best and the default over how many runs their score is the mean: of the trial and its repetitions.
    """

    number: int
    way: str
    settings: dict[str, Any]
    score: float | None
    state: Literal["done", "pruned", "failed"]
    epochs: int | None
    seconds: float
    seed: int = 0
    runs: int = 1

    @property
    def choice(self) -> tuple[str, str]:
        """What a trial and its repetitions have in common."""
        return self.way, repr(self.settings)


@dataclass(frozen=True)
class Tuned(Framed):
    """The outcome of a search. Its frames have a row for each trial.

    Attributes
    ----------
    recipe
        The recipe of the best trial, to be trained by `transa.TransA(recipe=…)` or ``transa train --recipe best.toml``.
    best
        The best trial: of those that were repeated often, if any were, the one with the best mean.
    default
        The first trial, which has the settings that training would have without a search; None if it failed.
    attempts
        All trials in their order.
    importance
        The share of each setting of the best way in the differences between good trials and others; empty if too few are done.
    folder
        Where it is kept; None if it was not.
    """

    recipe: Recipe
    best: Attempt
    default: Attempt | None
    attempts: list[Attempt]
    importance: dict[str, float]
    folder: Path | None = None

    def frame(self) -> pa.Table:
        """Return the trials as an Arrow table: what is known of each, and a column for each setting that was varied."""
        settings = list(dict.fromkeys(name for each in self.attempts for name in each.settings))
        known = ("number", "way", "state", "score", "epochs", "seconds", "seed")
        columns = {name: [getattr(each, name) for each in self.attempts] for name in known}
        chosen = {f"set_{name}": [each.settings.get(name) for each in self.attempts] for name in settings}
        return pa.table(columns | chosen)

    def table(self) -> Table:
        """Return the default and the best as a table for people."""
        rows = [
            (what, str(each.number), each.way, f"{each.score:.4f}", str(each.runs))
            for what, each in (("default", self.default), ("best", self.best))
            if each is not None
        ]
        title = f"{self.recipe.model}: {counted(len(self.attempts), 'trial')}"
        return Table(title, ("", "trial", "way", "valid", "mean of runs"), tuple(rows))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def attempt_of(trial: FrozenTrial) -> Attempt:
    """Return what is known of a trial of Optuna."""
    from optuna.trial import TrialState

    seen = [value for value in trial.intermediate_values.values() if value == value]
    score = trial.value if trial.value is not None else max(seen, default=None)
    state: Literal["done", "pruned", "failed"] = "failed"
    if trial.state == TrialState.COMPLETE:
        state = "done"
    elif trial.state == TrialState.PRUNED and "why" not in trial.user_attrs:
        state = "pruned"
    seconds = trial.duration.total_seconds() if trial.duration else 0.0
    settings = {name.partition(".")[2]: value for name, value in trial.params.items() if "." in name}
    way = trial.params.get("way", "default")
    known = trial.user_attrs
    return Attempt(trial.number, way, settings, score, state, known.get("epochs"), seconds, known.get("seed", 0))


def averaged(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return the trials that were trained to the end, each with the mean score of it and its repetitions, the best first."""
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for each in attempts:
        if each.state == "done":
            groups.setdefault(each.choice, []).append(each)
    means = [
        replace(runs[0], score=sum(run.score or 0.0 for run in runs) / len(runs), runs=len(runs))
        for runs in groups.values()
    ]
    return sorted(means, key=lambda each: (-(each.score or 0.0), each.number))


def best_of(means: Sequence[Attempt], default: Attempt | None) -> Attempt:
    """Return the best of averaged trials, best first: of the default and those that ran more than half as often as any other.

    The best of many scores is partly the luckiest. Luck does not repeat. The default takes part in every round, which perhaps no other
    does, so its own runs are no measure.
    """
    most = max((each.runs for each in means if each != default), default=0)
    return next(each for each in means if each == default or 2 * each.runs > most)


def fitting(chosen: Sequence[Attempt], seconds: float) -> list[Attempt]:
    """Return the first of some trials, as many as take half of the time; three, or fewer, may take all of it."""
    taken = list(itertools.accumulate(each.seconds for each in chosen))
    return [each for place, each in enumerate(chosen) if taken[place] <= (seconds if place < 3 else seconds / 2)]
