"""The recipe for a graph that no recipe was made for: settings from its size, and short trials on valid for what size does not tell.

Which training suits a graph cannot be seen from outside: a softmax over entities with free vectors learns most where entities have many
facts, one with vectors of norm at most 1 where they have few, and self-adversarial negatives in between. So each is tried for a moment.
The best is then tried with twice the epochs, as long as that helps. Where time is left, further settings are varied one after another.
What does best on the validation split is trained in full, and rules are mined beside it. Where the graph has no validation triples, the
trials hold out some training triples, and there are no rules, since nothing tells how much they should count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.training.progress import Options
from transa.training.recipe import Recipe, recipe_from
from transa.training.recipe_files import GENERAL, VARY, general_tables, has_file
from transa.training.trainer import Trainer

#: Minutes that training may take, trials included, unless the user says otherwise.
MINUTES = 10.0
#: The shares of this time that the first trials may take, and all trials.
FIRST_SHARE, TRIAL_SHARE = 0.3, 0.5
#: The share that mining rules may take.
RULE_SHARE = 0.1
#: Epochs of a first trial, and of any training, at most.
TRIAL_EPOCHS, EPOCHS = 20, 320
#: The dimension of trials on graphs that are too large for trials with the dimension of the way of training.
TRIAL_DIM = 64
#: Validations during training.
VALIDATIONS = 15
#: Training triples that are held out where there is no validation split: a share of them, and at most so many.
HELD_OUT, MOST_HELD_OUT = 0.05, 2000
#: Entities beyond which the softmax is over a part of them, drawn for each batch.
ALL_ENTITIES = 4000


@dataclass(frozen=True)
class Trial:
    """How one way of training did.

    Attributes
    ----------
    name
        The table of the recipe file, and the setting that was varied.
    recipe
        Its settings.
    epochs
        How long it was trained.
    score
        Filtered MRR on validation triples (or accuracy where they are labelled) after the trial.
    seconds
        What an epoch takes.
    spent
        The seconds of the trial, without those in which kernels were compiled or loaded.
    """

    name: str
    recipe: Recipe
    epochs: int
    score: float
    seconds: float
    spent: float


def general_recipe(
    model: str,
    graph: KnowledgeGraph,
    given: Mapping[str, Any] | None = None,
    *,
    minutes: float = MINUTES,
    options: Options | None = None,
    callback: Callable[[Trial], None] | None = None,
) -> Recipe:
    """Return the recipe for a graph, after trials of the ways of training that the model has.

    Parameters
    ----------
    model
        Name of the model.
    graph
        The graph. Its test split is not looked at.
    given
        Settings of the user, which hold in all trials.
    minutes
        How long trials and training may take together.
    options
        How to train on this machine.
    callback
        Called after each trial.
    """
    if minutes <= 0:
        raise InputError(f"minutes: expected more than 0, found {minutes}")
    given, options = given or {}, options or Options()
    recipes = general_ways(model, graph, given)
    search = _Search(60 * minutes * TRIAL_SHARE, with_validation(graph), options, callback)
    search.begin(recipes, 60 * minutes * FIRST_SHARE, shorten="dim" not in given)
    way = search.best.name
    rising = search.lengthen(way)
    dim, choices = recipes[way].dim, dict(general_tables(model)[way].get(VARY, {}))
    growth = dim / search.best.recipe.dim
    if growth > 1 and search.affords(growth):
        search.vary(f"{way}, dim {dim}", {"dim": dim}, search.best.epochs)
        growth = 1.0
    if growth > 1:  # the dimension is that of trials, which says nothing of the best one
        choices.pop("dim", None)
    search.refine(way, {field: values for field, values in choices.items() if field not in given})
    dim = dim if growth > 1 else search.best.recipe.dim
    best = _in_full(search.best, dim, rising, 60 * minutes * (1 - RULE_SHARE) - search.spent)
    added: dict[str, Any] = {}
    if len(graph.valid):
        added["validate_every"] = max(1, best.epochs // VALIDATIONS)
        if graph.valid_labels is None:  # rules are weighed by the ranks of answers, which tell little of thresholds
            added |= {"with_rules": True, "rule_minutes": RULE_SHARE * minutes}
    return recipe_from(best.model_dump() | added | dict(given))


def general_ways(model: str, graph: KnowledgeGraph, given: Mapping[str, Any] | None = None) -> dict[str, Recipe]:
    """Return the ways of training that the general recipe tries on a graph, by name.

    Parameters
    ----------
    model, graph
        What is trained.
    given
        Settings of the user, which all of them have.

    Raises
    ------
    InputError
        If the model has no general recipe, or a setting is wrong or does not go with a way.
    """
    tables = general_tables(model)
    if not tables:
        raise InputError(f"recipe: {model} has no general recipe")
    found = {}
    for name, values in tables.items():
        settings = {field: value for field, value in values.items() if field != VARY}
        found[name] = recipe_from({"model": model} | settings | sized(graph, settings) | dict(given or {}))
    return found


class _Search:
    """Trials one after another within a budget of seconds, and the best of them.

    Attributes
    ----------
    spent
        The seconds that the trials took.
    """

    def __init__(
        self, budget: float, graph: KnowledgeGraph, options: Options, callback: Callable[[Trial], None] | None
    ) -> None:
        self.budget = budget
        self.graph = graph
        self.options = options
        self.callback = callback
        self.spent = 0.0
        self._best: Trial | None = None

    @property
    def best(self) -> Trial:
        """The best trial so far."""
        assert self._best is not None  # noqa: S101
        return self._best

    def begin(self, recipes: Mapping[str, Recipe], budget: float, *, shorten: bool) -> None:
        """Try several recipes for as many epochs as fit some seconds.

        If `shorten` is True and `TRIAL_EPOCHS` of them do not fit, the trials have shorter vectors: which way of training suits a graph
        shows with these too, but not in a few epochs.
        """
        share = budget / len(recipes)
        short = {name: _shortened(recipe) if shorten else recipe for name, recipe in recipes.items()}
        seconds = {}
        for name, recipe in short.items():
            self._train(recipe, 1)  # loads the kernels
            seconds[name] = max(self._train(recipe, 1).seconds, 1e-9)
            self.spent += seconds[name]
        growth = {name: recipe.dim / short[name].dim for name, recipe in recipes.items()}
        if all(TRIAL_EPOCHS * seconds[name] * growth[name] <= share for name in recipes):
            seconds, short = {name: seconds[name] * growth[name] for name in recipes}, dict(recipes)
        for name, recipe in short.items():
            epochs = int(np.clip(share / seconds[name], 1, TRIAL_EPOCHS))
            self.compare(_trial(name, recipe, self._train(recipe, epochs)))

    def _train(self, recipe: Recipe, epochs: int) -> Trainer:
        """Train for some epochs, and score the model after the last."""
        short = {"epochs": epochs, "validate_every": epochs, "validate_sample": 1000, "patience": 0}
        trainer = Trainer(self.graph, recipe_from(recipe.model_dump() | short | {"with_rules": False}), self.options)
        trainer.fit()
        return trainer

    def compare(self, trial: Trial) -> bool:
        """Take note of a trial, and tell whether it is the best."""
        self.spent += trial.spent
        if self.callback is not None:
            self.callback(trial)
        if self._best is not None and trial.score <= self._best.score:
            return False
        self._best = trial
        return True

    def affords(self, times: float) -> bool:
        """Tell whether there is time for so many trials as the best."""
        return self.spent + times * self.best.epochs * self.best.seconds <= self.budget

    def vary(self, name: str, changes: Mapping[str, Any], epochs: int) -> bool:
        """Try the settings of the best with some changes, and tell whether they are better."""
        recipe = self._changed(changes)
        return self.compare(_trial(name, recipe, self._train(recipe, epochs)))

    def _changed(self, changes: Mapping[str, Any]) -> Recipe:
        return recipe_from(self.best.recipe.model_dump() | dict(changes))

    def refine(self, way: str, choices: Mapping[str, Sequence[Any]]) -> None:
        """Vary one setting of the best after another, and again from the first as long as that helps and there is time."""
        better, tried = True, {self.best.recipe}
        while better:
            better = False
            for field, value in ((field, value) for field, values in choices.items() for value in values):
                recipe = self._changed({field: value})
                if recipe not in tried and self.affords(2):
                    tried.add(recipe)
                    better |= self.vary(f"{way}, {field} {value}", {field: value}, self.best.epochs)

    def lengthen(self, way: str) -> bool:
        """Double the epochs of the best as long as that helps and there is time; tell whether more epochs may still help."""
        while self.affords(2) and 2 * self.best.epochs <= EPOCHS:
            epochs = 2 * self.best.epochs
            if not self.vary(f"{way}, {epochs} epochs", {}, epochs):
                return False
        return True


def is_general(model: str, recipe: str | None, dataset: str | None, given: Mapping[str, Any]) -> bool:
    """Tell whether to train by the general recipe: if it is asked for; and by default where no file was made for the dataset.

    It does not replace settings that the user has thought about: with a loss or a number of epochs, the model's default recipe holds.
    """
    if recipe == GENERAL:
        return True
    return (
        recipe is None
        and bool(general_tables(model))
        and not has_file(model, dataset)
        and not {"epochs", "loss"} & set(given)
    )


def with_validation(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return the graph itself if it has validation triples, otherwise one that holds out some training triples."""
    if len(graph.valid):
        return graph
    triples = np.unique(graph.train, axis=0)
    shuffled = triples[np.random.default_rng(0).permutation(len(triples))]
    kept = np.zeros(len(shuffled), bool)
    for column in range(3):  # every entity and relation stays in train
        kept[np.unique(shuffled[:, column], return_index=True)[1]] = True
    out = np.flatnonzero(~kept)[: min(MOST_HELD_OUT, max(1, int(HELD_OUT * len(triples))))]
    if not len(out):
        out = np.arange(1)
    return replace(graph, train=np.delete(shuffled, out, axis=0), valid=shuffled[out], valid_labels=None)


def sized(graph: KnowledgeGraph, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that follow from a graph's size: batch size, and how many entities the softmax is over."""
    questions = 2 * len(graph.train) / 3  # roughly: a question has one to three answers
    found: dict[str, Any] = {"batch_size": int(np.clip(2 ** np.floor(np.log2(questions / 50 + 1)), 32, 512))}
    if values.get("negatives") == "all" and len(graph.entities) > ALL_ENTITIES:
        found["sampled_entities"] = ALL_ENTITIES // 2
    return found


def _shortened(recipe: Recipe) -> Recipe:
    """Return the recipe with vectors for a trial."""
    return recipe_from(recipe.model_dump() | {"dim": min(recipe.dim, TRIAL_DIM)})


def _trial(name: str, recipe: Recipe, done: Trainer) -> Trial:
    """Return how a training did."""
    return Trial(name, recipe, done.epoch, float(done.best or 0.0), done.seconds / done.epoch, done.seconds)


def _in_full(trial: Trial, dim: int, rising: bool, left: float) -> Recipe:
    """Return the recipe of a trial with the epochs that fit the time left, the best of which on valid is kept.

    Unless twice the epochs were found to do worse (then `rising` is False), there are as many as time allows. Training does not stop
    early: where the learning rate falls to 0 over all epochs, the best ones come last. If the trial had shorter vectors than `dim`, for
    want of time, training has that dimension, provided that there is time for half as many epochs as in the trial.
    """
    seconds = max(trial.seconds, 1e-9)
    longer = seconds * dim / trial.recipe.dim
    if trial.recipe.dim < dim and 2 * left / longer >= trial.epochs:
        seconds = longer
    else:
        dim = trial.recipe.dim
    epochs = int(np.clip(left / seconds, 1, EPOCHS if rising else trial.epochs))
    return recipe_from(trial.recipe.model_dump() | {"dim": dim, "epochs": epochs})
