"""A model of which each worker holds a part."""

from __future__ import annotations

from math import prod

import numpy as np

from transa.models import Model
from transa.training.lanes import Numbering, deal_entities
from transa.training.recipe import Recipe
from transa.training.settings import TableSettings
from transa.training.sharded.rows import Column, ShardedRows
from transa.training.sharded.workers import Workers
from transa.training.starting import start_rows

#: The tables of a row, in the order in which they travel.
TABLES = ("vector", "metric")


class ShardedModel:
    """The rows of a model.

    Parameters
    ----------
    model
        The model without its tables.
    recipe
        How it is trained.
    workers
        Who takes part.
    settings
        How the tables that are learned take their steps; none, if all there is to do is to ask the model.

    Attributes
    ----------
    entities, relations
        The rows.
    steps
        How many steps were taken.
    """

    def __init__(
        self, model: Model, recipe: Recipe, workers: Workers, settings: dict[str, TableSettings] | None = None
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.workers = workers
        self.settings = settings or {}
        self.steps = 0
        kind = np.dtype(recipe.precision)
        dealt = deal_entities(model.num_entities, recipe.lanes, recipe.seed)
        self.entities = ShardedRows(dealt, workers, self._columns("entity", model.entity_tables()), kind)
        dealt = Numbering(model.num_relations, recipe.lanes, recipe.seed)
        self.relations = ShardedRows(dealt, workers, self._columns("relation", model.relation_tables()), kind)

    def _columns(self, role: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, Column]:
        return {
            name: Column(prod(shapes[name]), self.settings.get(f"{role}.{name}")) for name in TABLES if name in shapes
        }

    def start(self) -> None:
        """Put the first values of `transa.training.starting.start_model` into the rows of this worker."""
        roles = {"entity": self.entities, "relation": self.relations}
        for name, first, values in start_rows(self.model, self.recipe):
            role, table = name.split(".")
            held = roles[role]
            rows = held.numbering.rows[first : first + len(values)] - held.first
            mine = (rows >= 0) & (rows < held.held)
            held.tables[table][rows[mine]] = values.reshape(len(values), -1).numpy()[mine]
