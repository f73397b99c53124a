"""The optimiser settings of each table of a model."""

from __future__ import annotations

from dataclasses import dataclass

from transa.kernels.codes import FREE, NON_NEGATIVE
from transa.models import Model
from transa.training.optimizers import CONSTRAINTS, OPTIMIZERS
from transa.training.recipe import Recipe


@dataclass(frozen=True)
class TableSettings:
    """Optimiser, learning rate, penalty and constraint of one table; `transa.kernels.codes` defines the codes."""

    optimizer: int
    learning_rate: float
    penalty: float
    constraint: int


def table_settings(model: Model, recipe: Recipe) -> dict[str, TableSettings]:
    """Return the settings of each table that is learned by gradient."""
    optimizer = OPTIMIZERS[recipe.optimizer]
    penalty = recipe.penalty if recipe.penalty_rows == "touched" else 0.0
    norms = {"entity.vector": recipe.entity_norm, "relation.vector": recipe.relation_norm} | model.constraints
    table_learning_rate = recipe.table_learning_rate or recipe.learning_rate
    settings = {}
    for name in model.shapes():
        if name in model.fixed:
            continue
        if name.endswith("vector"):
            constraint = CONSTRAINTS[norms.get(name, recipe.relation_norm)]
            settings[name] = TableSettings(optimizer, recipe.learning_rate, penalty, constraint)
        elif name != "relation.metric":
            constraint = CONSTRAINTS[norms.get(name, "free")]
            settings[name] = TableSettings(optimizer, table_learning_rate, recipe.table_penalty, constraint)
        elif recipe.learns_metric:
            rules = model.metric_rules
            clipped = recipe.metric_clip and rules is not None and rules.clip == "entries"
            constraint = NON_NEGATIVE if clipped else FREE
            settings[name] = TableSettings(optimizer, recipe.metric_learning_rate, recipe.metric_penalty, constraint)
    return settings


def decay_all(model: Model, recipe: Recipe, settings: dict[str, TableSettings], learning_rate_factor: float) -> None:
    """Take one step against C * |row|^2 on every vector after an epoch, if the recipe applies C to all rows."""
    if recipe.penalty_rows == "all" and recipe.penalty:
        for name, table in model.tensors().items():
            if name.endswith("vector"):
                table.mul_(1 - 2 * recipe.penalty * settings[name].learning_rate * learning_rate_factor)
