"""The folder of a search, and what is known of its trials.

============ ==================================================================
study.json   format and package version, name of the graph, ways of training
study.db     Optuna's study in SQLite: every trial, as it goes on
graph/       the graph, so that workers and a resumed search need nothing else
best.toml    the recipe of the best trial so far, for ``transa train --recipe``
============ ==================================================================
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from transa import __version__
from transa.data import KnowledgeGraph, load
from transa.errors import InputError
from transa.storage import atomic_file
from transa.training import Recipe, RunFolder, recipe_from
from transa.training.run import fingerprint
from transa.tuning.outcome import Attempt, Tuned, attempt_of, averaged, best_of, fitting
from transa.tuning.space import DEFAULT, near_choice, usual_choice

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

FORMAT = 1
#: Finished trials of the best way from which on the importance of its settings is estimated.
ENOUGH = 8
#: Of three trials that come so far, the best goes on; trials are compared after 3 and 9 validations. The first one tells little of the
#: last: scores correlate by .31 on UMLS and .76 on Kinship, those of the third by .84 and .95 (13 and 11 trials near the default).
FIRST_COMPARED, REDUCTION = 3, 3
#: Trials near the default that follow it, before the other ways of training are tried and the study chooses freely.
NEAR = 9
#: Trials that are repeated in the first round at the end of a search, beside the default; half as many in each further round, down to
#: the fewest.
FIRST_ROUND, FEWEST = 12, 4


@dataclass(frozen=True)
class Beginning:
    """What a search begins from.

    Attributes
    ----------
    ways
        The ways of training by name, the default among them.
    fixed
        The settings that are not varied: those of the user, and those of which trials tell nothing for want of time.
    short
        Whether trials have short vectors, since too few epochs with long ones would fit; their settings stay near the default.
    """

    ways: dict[str, Recipe]
    fixed: set[str]
    short: bool = False


class StudyFolder:
    """The files of one search.

    Parameters
    ----------
    path
        The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.files = RunFolder(path)
        self.path = self.files.path
        self._storage: Any = None

    def check(self, *, resume: bool) -> None:
        """Raise an `InputError` if there is nothing to resume, or something that would be overwritten."""
        if resume and not self.files.holds("study.json"):
            raise InputError("holds no search to resume; start one without --resume", path=self.path)
        if not resume and (self.files.holds("study.json") or self.files.holds("config.json")):
            raise InputError("holds a search or a run already; resume it or name another folder", path=self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other searches out of the folder, and close the study at the end."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with FileLock(self.files.place(".lock"), timeout=0):
                try:
                    yield
                finally:
                    self.close()
        except Timeout:
            raise InputError("another process is searching in this folder", path=self.path) from None
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path=self.path) from None

    def start(self, graph: KnowledgeGraph, beginning: Beginning) -> None:
        """Write what the search begins from, and ask for the default as the first trial."""
        graph.save(self.files.place("graph"), overwrite=True)
        for suffix in ("", "-wal", "-shm"):  # of a process that was killed before the search began
            self.files.place(f"study.db{suffix}").unlink(missing_ok=True)
        first = usual_choice(beginning.ways, beginning.fixed)
        self.study.enqueue_trial(first, user_attrs={"default": True})
        self.files.write_json(  # written last: a folder that has it can be resumed
            "study.json",
            {
                "format": FORMAT,
                "transa": __version__,
                "name": graph.name,
                "graph": fingerprint(graph),
                "fixed": sorted(beginning.fixed),
                "short": beginning.short,
                "ways": {name: recipe.model_dump() for name, recipe in beginning.ways.items()},
            },
        )

    def beginning(self) -> Beginning:
        """Return what the search begins from."""
        kept = self.files.read_json("study.json")
        ways: Any = kept.get("ways")
        fixed: Any = kept.get("fixed")
        short: Any = kept.get("short", False)
        readable = isinstance(ways, dict) and isinstance(fixed, list) and isinstance(short, bool)
        if kept.get("format") != FORMAT or not readable:
            raise InputError("not the beginning of a search that this version can read", path=self.path / "study.json")
        return Beginning({name: recipe_from(values) for name, values in ways.items()}, set(fixed), short)

    def check_same(self, graph: KnowledgeGraph) -> None:
        """Refuse to resume a search on another graph."""
        if self.files.read_json("study.json").get("graph") != fingerprint(graph):
            raise InputError("the graph is not the one this search was started on", path=self.path)

    def graph(self) -> KnowledgeGraph:
        """Return the graph of the search."""
        return load(self.files.place("graph"))

    @cached_property
    def study(self) -> Study:
        """Optuna's study, created if there is none yet."""
        optuna, path = optuna_module(), self.files.place("study.db")
        try:
            self._storage = optuna.storages.RDBStorage(
                f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": 60, "factory": _Connection}}
            )
            found: Study = optuna.create_study(
                storage=self._storage,
                pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=FIRST_COMPARED, reduction_factor=REDUCTION),
                study_name="transa",
                direction="maximize",
                load_if_exists=True,
            )
        except Exception as error:  # SQLAlchemy's errors, for a file that is no database of Optuna
            raise InputError(f"not readable ({str(error).splitlines()[0]:.200})", path=path) from None
        return found

    def close(self) -> None:
        """Close the study, so that all of it is in one file."""
        if self._storage is not None:
            self._storage.remove_session()
            self._storage.engine.dispose()
            self._storage = None
            self.__dict__.pop("study", None)

    def sample(self, seed: int) -> None:
        """Let the study choose settings by TPE, from random numbers of a seed."""
        optuna = optuna_module()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self.study.sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=True
            )

    def take_up(self) -> None:
        """Ask once more for the trials that a killed process left unfinished. Call this under the lock."""
        optuna, study = optuna_module(), self.study
        for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            study.enqueue_trial(trial.params, user_attrs=_of_the_queue(trial))

    def ask_first(self, beginning: Beginning) -> None:
        """Ask for the next of the trials that follow the default: settings near it, then each other way of training as it is."""
        with self._turn() as waiting:
            begun = len(self.study.get_trials(deepcopy=False))
            others = [way for way in beginning.ways if way != DEFAULT]
            if waiting or begun > NEAR + len(others):
                return
            if begun <= NEAR:
                choice = near_choice(beginning.ways, beginning.fixed, seed=begun)
            else:
                choice = usual_choice(beginning.ways, beginning.fixed, others[begun - NEAR - 1])
            self.study.enqueue_trial(choice)

    def repeat_best(self, seconds: float) -> bool:
        """Ask for a round of repetitions, the best trials and the default with other seeds; tell whether any trial waits.

        The best are those with the best mean score so far. A round takes half of the seconds that are left, unless that is too little
        for two beside the default. The default is among them, and another, or none is repeated.
        """
        with self._turn() as waiting:
            if waiting:
                return True
            trials = {trial.number: trial for trial in self.study.get_trials(deepcopy=False)}
            means = averaged(self.attempts())
            first = [each for each in means if trials[each.number].user_attrs.get("default")]
            rounds = max((each.runs for each in means), default=1) - 1
            number = max(FEWEST, FIRST_ROUND >> rounds)
            chosen = fitting(first + [each for each in means if each not in first][:number], seconds)
            if len(chosen) < 2:
                return False
            for each in chosen:
                same = {"seed": each.runs, "epochs": each.epochs}
                self.study.enqueue_trial(trials[each.number].params, user_attrs=same)
            return True

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Let one worker at a time ask for trials, and tell whether some wait already."""
        waiting = (optuna_module().trial.TrialState.WAITING,)
        with FileLock(self.files.place(".turn.lock")):
            yield bool(self.study.get_trials(deepcopy=False, states=waiting))

    def attempts(self) -> list[Attempt]:
        """Return the trials that are over."""
        return [attempt_of(trial) for trial in self.study.get_trials(deepcopy=False) if trial.state.is_finished()]

    def tuned(self) -> Tuned:
        """Return the outcome so far.

        Raises
        ------
        InputError
            If no trial was trained to the end.
        """
        trials = [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.is_finished()]
        attempts = [attempt_of(trial) for trial in trials]
        done = [each for each in attempts if each.state == "done"]
        if not done:
            why = next((trial.user_attrs["why"] for trial in reversed(trials) if "why" in trial.user_attrs), "no time")
            raise InputError(f"tune: no trial was trained to the end ({why})")
        means = averaged(attempts)
        attributes = {trial.number: trial.user_attrs for trial in trials}
        default = next((each for each in means if attributes[each.number].get("default")), None)
        best = best_of(means, default)
        recipe = recipe_from(attributes[best.number]["recipe"])
        return Tuned(recipe, best, default, attempts, importance(self.study, best, done), self.path)

    def write_best(self, tuned: Tuned) -> Path:
        """Write the best recipe so far as TOML."""
        path = self.files.place("best.toml")
        best, against = tuned.best, "" if tuned.default is None else f", the default {tuned.default.score:.4f}"
        mean = f" (mean of {best.runs} runs)" if best.runs > 1 else ""
        head = f"# trial {best.number} of {len(tuned.attempts)}: {best.score:.4f} on valid{mean}{against}\n"
        with atomic_file(path, overwrite=True) as file:
            file.write((head + as_toml(tuned.recipe)).encode())
        return path


def _of_the_queue(trial: FrozenTrial) -> dict[str, Any]:
    """Return what a trial was queued with."""
    return {name: trial.user_attrs[name] for name in ("default", "seed", "epochs") if name in trial.user_attrs}


class _Connection(sqlite3.Connection):
    """A connection that does not wait for the disk at each step of a trial; what a killed process has written is not lost by that."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute("PRAGMA journal_mode = WAL")
        self.execute("PRAGMA synchronous = NORMAL")


def importance(study: Study, best: Attempt, done: list[Attempt]) -> dict[str, float]:
    """Return how much each setting of the best way counts among its finished trials (PED-ANOVA)."""
    optuna = optuna_module()
    if sum(each.way == best.way for each in done) < ENOUGH or not best.settings:
        return {}
    names = [f"{best.way}.{field}" for field in best.settings]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optuna.importance.get_param_importances(
            study, evaluator=optuna.importance.PedAnovaImportanceEvaluator(), params=names
        )
    return {name.partition(".")[2]: float(value) for name, value in found.items()}


def as_toml(recipe: Recipe) -> str:
    """Return the settings of a recipe that differ from their defaults, as TOML."""
    values = {"model": recipe.model} | recipe.model_dump(exclude_defaults=True)
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items() if value is not None)


def optuna_module() -> Any:
    """Import Optuna.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise InputError("tune needs optuna: pip install 'transa[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
