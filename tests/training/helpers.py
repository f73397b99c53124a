"""What the tests of training share."""

from __future__ import annotations

from typing import Any

import torch

from transa.data import KnowledgeGraph
from transa.models import Model
from transa.training import Recipe, recipe_from
from transa.training.engine import EpochReport, choose_engine
from transa.training.metric import update_metric
from transa.training.trainer import start_model


def settings(**values: Any) -> Recipe:
    """A small recipe in double precision, in which both engines agree to many digits.

    Whatever compares bits or ranks asks for single precision instead, as people train: kernels are compiled for each.
    """
    return recipe_from({"dim": 8, "batch_size": 256, "learning_rate": 0.002, "precision": "float64", **values})


def train(graph: KnowledgeGraph, recipe: Recipe, engine: str, epochs: int = 3) -> tuple[Model, list[EpochReport]]:
    """Train a few epochs with one engine."""
    model = start_model(graph, recipe)
    chosen = choose_engine(model, graph, recipe, engine=engine)  # type: ignore[arg-type]
    reports = []
    for number in range(1, epochs + 1):
        reports.append(chosen.train_epoch(number))
        if recipe.has_metric and recipe.metric_update == "epoch":
            update_metric(model, chosen.epoch_batches, recipe, number)
    return model, reports


def largest_difference(left: Model, right: Model) -> float:
    """The largest difference between two models' parameters."""
    pairs = zip(left.tensors().values(), right.tensors().values(), strict=True)
    return max(float((one - other).abs().max()) for one, other in pairs if one.numel())


def same_bits(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    """Whether two sets of tables are identical."""
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
