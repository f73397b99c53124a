"""One trial after another: choose settings, train, report to the study, end what does worse than others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.training import Callback, Options, Progress, Recipe, Trainer, TrainingError, recipe_from
from transa.training.general import TRIAL_DIM, TRIAL_EPOCHS, with_validation
from transa.tuning.space import DEFAULT, UNTOLD, suggested
from transa.tuning.study import Beginning, StudyFolder, optuna_module

if TYPE_CHECKING:
    import optuna

#: Validations of a trial, about.
VALIDATIONS = 9
#: Epochs of a trial, at least, whatever they take: one alone says little of those that follow.
LEAST_EPOCHS = 3
#: Training triples by which the time of an epoch is estimated.
TIMED = 20_000


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    deadline
        When the search ends, in seconds of `time.monotonic`.
    trial_seconds
        What one trial may take: it has fewer epochs where all would take longer.
    repeating
        So many seconds before the deadline, the best trials are repeated with other seeds instead of new ones.
    trials
        How many trials there are in the end, those before a resumption included; None for as many as fit.
    is_over
        Asked after each epoch, ends the search if it returns True.
    """

    deadline: float
    trial_seconds: float
    repeating: float
    trials: int | None = None
    is_over: Callable[[], bool] = field(default=lambda: False)


def search(
    folder: StudyFolder, graph: KnowledgeGraph, options: Options, limits: Limits, seed: int, told: Callable[[], None]
) -> None:
    """Train trials until a limit is reached, but one at least; `told` is called after each."""
    study = folder.study
    folder.sample(seed)
    objective = Objective(graph, folder.beginning(), options, limits)
    while not limits.is_over():
        done = sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))
        left = limits.deadline - time.monotonic()
        if (done > 0 and left <= 0) or (limits.trials is not None and done >= limits.trials):
            break
        if left <= limits.repeating and not folder.repeat_best(left) and any(each.seed for each in folder.attempts()):
            break  # too little time is left for another round, and what is new would not be repeated
        folder.ask_first(objective.beginning)
        study.optimize(objective, n_trials=1)
        told()


class Objective:
    """Trains one trial and returns its best score on valid."""

    def __init__(self, graph: KnowledgeGraph, beginning: Beginning, options: Options, limits: Limits) -> None:
        self.graph = graph
        self.held_out = with_validation(graph)
        self.beginning = beginning
        self.options = options
        self.limits = limits

    def __call__(self, trial: optuna.Trial) -> float:
        """Train what the trial chooses."""
        optuna = optuna_module()
        try:
            short = self.beginning.short
            _, recipe = suggested(trial, self.beginning.ways, self.beginning.fixed, near=short)
            trial.set_user_attr("recipe", self._in_full(recipe).model_dump())
            if short:
                recipe = recipe_from(recipe.model_dump() | {"dim": min(recipe.dim, TRIAL_DIM)})
            epochs = trial.user_attrs.get("epochs") or self._affordable(recipe)
            trial.set_user_attr("epochs", epochs)
            changes = {"epochs": epochs, "validate_every": max(1, epochs // VALIDATIONS), "patience": 0}
            changes["seed"] = recipe.seed + trial.user_attrs.get("seed", 0)
            trained = recipe_from(recipe.model_dump() | changes | {"with_rules": False})
            trainer = Trainer(self.held_out, trained, self.options)
            trainer.fit(_Reports(trial, self.limits))
        except (InputError, TrainingError) as error:  # settings that do not go together, too much memory, NaN
            trial.set_user_attr("why", str(error))
            raise optuna.TrialPruned(str(error)) from None
        return float(trainer.best or 0.0)

    def _affordable(self, recipe: Recipe) -> int:
        """Return the epochs of a recipe that there is time for."""
        return min(recipe.epochs, affordable(self.held_out, recipe, self.options, self.limits.trial_seconds))

    def _in_full(self, recipe: Recipe) -> Recipe:
        """Return the recipe as it is to be used after the search: with all epochs, and with rules if the default has them."""
        default = self.beginning.ways[DEFAULT]
        validate_every = max(1, recipe.epochs // VALIDATIONS) if len(self.graph.valid) else 0
        rules = {"with_rules": default.with_rules, "rule_minutes": default.rule_minutes}
        return recipe_from(recipe.model_dump() | {"validate_every": validate_every, "patience": 0} | rules)


def affordable(graph: KnowledgeGraph, recipe: Recipe, options: Options, seconds: float) -> int:
    """Return how many epochs there is time for, at least `LEAST_EPOCHS`, by the time of a second epoch on some of the triples."""
    times: list[float] = []
    changes = {"epochs": 2, "validate_every": 0, "patience": 0, "with_rules": False, "warm_epochs": 0}
    step = -(-len(graph.train) // TIMED)
    some = replace(graph, train=graph.train[::step])
    Trainer(some, recipe_from(recipe.model_dump() | changes), options).fit(lambda done: times.append(done.seconds))
    epoch = (times[1] - times[0]) * len(graph.train) / len(some.train)
    return max(LEAST_EPOCHS, int(seconds / max(epoch, 1e-9)))


def begin(
    graph: KnowledgeGraph, ways: dict[str, Recipe], given: Iterable[str], options: Options, seconds: float
) -> Beginning:
    """Return what a search begins from whose trials have some seconds each.

    Where the default has no time for all its epochs, all trials have as many as fit, so these are not varied. Where it has no time for
    `TRIAL_EPOCHS`, trials have short vectors and vary the default alone: there is time for few, and these should go where something
    may be found.
    """
    default, fixed = ways[DEFAULT], set(given)
    try:
        epochs = affordable(with_validation(graph), default, options, seconds)
    except (InputError, TrainingError):  # the first trial will tell why
        return Beginning(ways, fixed)
    if "dim" not in fixed and default.dim > TRIAL_DIM and epochs < min(TRIAL_EPOCHS, default.epochs):
        return Beginning({DEFAULT: default}, fixed | set(UNTOLD), short=True)
    if epochs < default.epochs:
        same = {"epochs": default.epochs}
        ways = {name: recipe_from(recipe.model_dump() | same) for name, recipe in ways.items()}
        fixed.add("epochs")
    return Beginning(ways, fixed)


class _Reports(Callback):
    """Tells a study of each validation, and ends a trial that does worse than others or is too late.

    The default is always trained to its end, and a repetition if there is time.
    """

    def __init__(self, trial: optuna.Trial, limits: Limits) -> None:
        self.trial = trial
        self.limits = limits
        self.step = 0
        self.is_default = trial.user_attrs.get("default", False)
        self.is_repetition = "seed" in trial.user_attrs

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Report, and end the trial if others do better."""
        worse = False
        if progress.validation is not None and progress.best is not None:
            self.step += 1
            self.trial.report(progress.best, self.step)
            worse = self.trial.should_prune()
        late = time.monotonic() > self.limits.deadline
        may_end = not self.is_default and progress.epoch < progress.epochs
        if self.limits.is_over() or (may_end and (late or (worse and not self.is_repetition))):
            raise optuna_module().TrialPruned
