"""The recipe for a graph that no recipe was made for: settings from its size, and short trials on valid for what size does not tell.

Which training suits a graph cannot be seen from outside: a softmax over entities with free vectors learns most where entities have many
facts, one with vectors of norm 1 where they have few, and self-adversarial negatives in between. So each is tried for a moment. On a
graph so small that there is time left for it, some settings of the best are then varied one after another. What does best on the
validation split is trained in full. Where the graph has no validation triples, the trials hold out some training triples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
#: The share of this time that the trials may take.
TRIAL_SHARE = 0.3
#: Epochs of a trial, and of the training that follows it, at most.
TRIAL_EPOCHS, EPOCHS = 40, 150
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
    tables = general_tables(model)
    if not tables:
        raise InputError(f"recipe: {model} has no general recipe")
    given, options = given or {}, options or Options()
    tried, budget = with_validation(graph), 60 * minutes * TRIAL_SHARE
    spent, best = 0.0, None

    def better(trial: Trial) -> Trial:
        nonlocal spent
        spent += trial.spent
        if callback is not None:
            callback(trial)
        return trial if best is None or trial.score > best.score else best

    for name, values in tables.items():
        settings = {field: value for field, value in values.items() if field != VARY}
        recipe = recipe_from({"model": model} | settings | sized(graph, settings) | dict(given))
        best = better(_try(name, recipe, tried, budget / len(tables), options))
    assert best is not None  # noqa: S101
    base = best.name
    for field, choices in tables[base].get(VARY, {}).items():
        for value in choices:
            if field in given or spent + 2 * best.epochs * best.seconds > budget:
                break
            recipe = recipe_from(best.recipe.model_dump() | {field: value})
            best = better(_trial(f"{base}, {field} {value}", recipe, _trained(recipe, best.epochs, tried, options)))
    return _in_full(best, graph, 60 * minutes - spent, given)


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


def _try(name: str, recipe: Recipe, graph: KnowledgeGraph, budget: float, options: Options) -> Trial:
    """Train for as many epochs as fit some seconds, and score the model on the validation split."""
    _trained(recipe, 1, graph, options)  # loads the kernels
    first = _trained(recipe, 1, graph, options)
    epochs = int(np.clip(budget / max(first.seconds, 1e-9), 1, TRIAL_EPOCHS))
    if epochs == 1:
        return _trial(name, recipe, first)
    trial = _trial(name, recipe, _trained(recipe, epochs, graph, options))
    return replace(trial, spent=first.seconds + trial.spent)


def _trained(recipe: Recipe, epochs: int, graph: KnowledgeGraph, options: Options) -> Trainer:
    """Train for some epochs, and score the model after the last."""
    short = {"epochs": epochs, "validate_every": epochs, "validate_sample": 1000, "patience": 0}
    trainer = Trainer(graph, recipe_from(recipe.model_dump() | short), options)
    trainer.fit()
    return trainer


def _trial(name: str, recipe: Recipe, done: Trainer) -> Trial:
    """Return how a training did."""
    return Trial(name, recipe, done.epoch, float(done.best or 0.0), done.seconds / done.epoch, done.seconds)


def _in_full(trial: Trial, graph: KnowledgeGraph, left: float, given: Mapping[str, Any]) -> Recipe:
    """Return the recipe of a trial with the epochs that fit the time left, the best of which on valid is kept.

    It does not stop early: where the learning rate falls to 0 over all epochs, the best ones come last.
    """
    epochs = int(np.clip(left / max(trial.seconds, 1e-9), 1, EPOCHS))
    values: dict[str, Any] = {"epochs": epochs}
    if len(graph.valid):
        values["validate_every"] = max(1, epochs // VALIDATIONS)
    return recipe_from(trial.recipe.model_dump() | values | dict(given))
