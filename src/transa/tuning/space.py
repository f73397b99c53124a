"""The search space: which settings are varied, and how far. This is the only place that says so.

A search begins from whole recipes, the ways of training. The first is the default: what `transa train` would use. Each way is varied in
those settings that matter to it: a margin only where the loss has one, a rank only where the metric has one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.models import MODELS
from transa.training import Options, Recipe, general_recipe, load_recipe, recipe_from
from transa.training.general import MINUTES, RULE_SHARE, Trial, general_ways, is_general

if TYPE_CHECKING:
    import optuna

#: The name of the way of training that `transa train` would take.
DEFAULT = "default"
#: The share of the time in which the general recipe looks for the default, where a graph has no recipe of its own.
GENERAL_SHARE = 0.25


@dataclass(frozen=True)
class Scaled:
    """A number from 1/factor to factor times what the way has, on a logarithmic scale."""

    factor: float

    def bounds(self, usual: Any, near: bool) -> tuple[Any, Any]:
        """Return the least and the greatest value, or those near to what the way has: at most the root of the factor away."""
        factor = self.factor**0.5 if near else self.factor
        low, high = usual / factor, usual * factor
        return (max(1, round(low)), round(high)) if isinstance(usual, int) else (low, high)

    def suggest(self, trial: optuna.Trial, name: str, usual: Any, near: bool) -> Any:
        """Let a trial choose a value."""
        choose = trial.suggest_int if isinstance(usual, int) else trial.suggest_float
        return choose(name, *self.bounds(usual, near), log=True)

    def draw_near(self, random: np.random.Generator, usual: Any) -> Any:
        """Draw a value near to what the way has."""
        drawn = float(np.exp(random.uniform(*np.log(self.bounds(usual, True)))))
        return round(drawn) if isinstance(usual, int) else drawn


@dataclass(frozen=True)
class Between:
    """A number between two others, or what the way has if that lies outside."""

    low: float
    high: float

    def bounds(self, usual: float, near: bool) -> tuple[float, float]:
        """Return the least and the greatest value, or those near to what the way has: at most a quarter of the range away."""
        low, high = min(self.low, usual), max(self.high, usual)
        if near:
            reach = (high - low) / 4
            low, high = max(low, usual - reach), min(high, usual + reach)
        return low, high

    def suggest(self, trial: optuna.Trial, name: str, usual: float, near: bool) -> float:
        """Let a trial choose a value."""
        return trial.suggest_float(name, *self.bounds(usual, near))

    def draw_near(self, random: np.random.Generator, usual: float) -> float:
        """Draw a value near to what the way has."""
        return float(random.uniform(*self.bounds(usual, True)))


#: How each setting is varied.
SPACE: dict[str, Scaled | Between] = {
    "dim": Scaled(2),
    "epochs": Scaled(2),
    "batch_size": Scaled(4),
    "learning_rate": Scaled(5),
    "table_learning_rate": Scaled(5),
    "metric_learning_rate": Scaled(10),
    "margin": Scaled(3),
    "temperature": Scaled(3),
    "negatives": Scaled(4),
    "dropout": Between(0.0, 0.6),
    "label_smoothing": Between(0.0, 0.3),
    "penalty": Scaled(10),
    "table_penalty": Scaled(10),
    "metric_penalty": Scaled(10),
    "rank": Scaled(4),
    "relation_dim": Scaled(2),
    "hidden": Scaled(2),
    "factors": Scaled(2),
    "clusters": Scaled(2),
}
#: Settings of which a training with short vectors tells nothing about one with long vectors: how long they should be, and what holds
#: them back. Batches are as they are too: with smaller ones, fewer epochs would fit the same time.
UNTOLD = ("dim", "epochs", "batch_size", "dropout", "penalty", "table_penalty", "metric_penalty", "relation_dim")
#: Settings that do not tell two ways of training apart.
_INCIDENTAL = {*SPACE, "sampled_entities", "validate_every", "patience", "with_rules", "rule_minutes"}


def varied(recipe: Recipe, fixed: Container[str]) -> dict[str, Any]:
    """Return the settings of a way of training that are varied, with the values it has; some are fixed."""
    own = MODELS[recipe.model].options
    softmax = recipe.negatives == "all"
    matters = {
        "metric_learning_rate": recipe.learns_metric,
        "metric_penalty": recipe.has_metric,
        "margin": recipe.loss != "softmax" and recipe.margin > 0,
        "temperature": recipe.loss in ("softmax", "self_adversarial"),
        "negatives": not softmax,
        "dropout": softmax,
        "label_smoothing": softmax and not recipe.hide_answers,
        "rank": "rank" in own and recipe.metric.endswith("lowrank"),
        **{field: field in own for field in ("relation_dim", "hidden", "factors", "clusters")},
    }
    if recipe.solver == "als":  # it draws no batches and takes no steps
        matters |= dict.fromkeys(("batch_size", "learning_rate", "negatives", "margin"), False)
    found = {}
    for field, rule in SPACE.items():
        usual = getattr(recipe, field)
        if field not in fixed and matters.get(field, True) and (usual or (usual == 0 and isinstance(rule, Between))):
            found[field] = usual
    return found


def suggested(
    trial: optuna.Trial, ways: Mapping[str, Recipe], fixed: Container[str], *, near: bool = False
) -> tuple[str, Recipe]:
    """Let a trial choose a way of training and its settings, or settings near to those of the way."""
    way = trial.suggest_categorical("way", list(ways)) if len(ways) > 1 else DEFAULT
    usual = varied(ways[way], fixed)
    chosen = {field: SPACE[field].suggest(trial, f"{way}.{field}", value, near) for field, value in usual.items()}
    return way, recipe_from(ways[way].model_dump() | chosen)


def usual_choice(ways: Mapping[str, Recipe], fixed: Container[str], way: str = DEFAULT) -> dict[str, Any]:
    """Return what a trial has to choose to be the default, or another way of training as it is."""
    first = {"way": way} if len(ways) > 1 else {}
    return first | {f"{way}.{field}": value for field, value in varied(ways[way], fixed).items()}


def near_choice(ways: Mapping[str, Recipe], fixed: Container[str], seed: int) -> dict[str, Any]:
    """Return what a trial has to choose to be near the default, by random numbers of a seed."""
    random = np.random.default_rng(seed)
    usual = varied(ways[DEFAULT], fixed)
    drawn = {f"{DEFAULT}.{field}": SPACE[field].draw_near(random, value) for field, value in usual.items()}
    return usual_choice(ways, fixed) | drawn


def ways_of_training(
    model: str,
    graph: KnowledgeGraph,
    given: Mapping[str, Any],
    minutes: float,
    options: Options,
    callback: Callable[[Trial], None] | None = None,
) -> dict[str, Recipe]:
    """Return the recipes that a search begins from, by name: the default, and what else the model's general recipe tries.

    Parameters
    ----------
    model, graph, given
        What is trained, and the settings of the user.
    minutes
        How long the whole search may take; the general recipe has a share of it.
    options
        How to train on this machine.
    callback
        Called after each trial of the general recipe.
    """
    if is_general(model, None, graph.name, given):
        share = GENERAL_SHARE * minutes
        default = general_recipe(model, graph, given, minutes=share, options=options, callback=callback)
        if default.with_rules:  # their time is no part of the search
            default = recipe_from(default.model_dump() | {"rule_minutes": RULE_SHARE * MINUTES} | dict(given))
    else:
        default = load_recipe(model, None, graph.name, given)
    if default.solver == "mining":
        raise InputError(f"tune: {model} has nothing to search for")
    found = {DEFAULT: default}
    with suppress(InputError):  # the model has no general recipe, or what the user has given does not go with it
        tried = general_ways(model, graph, given)
        found |= {name: recipe for name, recipe in tried.items() if _kind(recipe) != _kind(default)}
    return found


def _kind(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(exclude=_INCIDENTAL)
