"""A model of which each worker holds a part."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal, Protocol

import numpy as np

from transa.models import Model
from transa.training.lanes import Numbering, deal_entities
from transa.training.recipe import Recipe
from transa.training.settings import TableSettings
from transa.training.sharded.rows import Column, HeldRows, ShardedRows
from transa.training.sharded.workers import Workers
from transa.training.starting import start_rows

#: The tables of a row, in the order in which they travel.
TABLES = ("vector", "metric")


def columns_of(
    role: Literal["entity", "relation"], model: Model, settings: Mapping[str, TableSettings]
) -> dict[str, Column]:
    """Return the tables of entities or relations, and how those of `settings` are learned."""
    shapes = model.entity_tables() if role == "entity" else model.relation_tables()
    return {name: Column(prod(shapes[name]), settings.get(f"{role}.{name}")) for name in TABLES if name in shapes}


class Held(Protocol):
    """A model by whose rows one ranks: several workers hold them, or they are on disk."""

    @property
    def model(self) -> Model:
        """The model without its tables; it may have a loop prior."""

    @property
    def recipe(self) -> Recipe:
        """How it is trained."""

    @property
    def workers(self) -> Workers:
        """Who takes part."""

    @property
    def entities(self) -> HeldRows:
        """The rows of entities."""

    @property
    def relations(self) -> HeldRows:
        """The rows of relations."""


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
        self.entities = ShardedRows(dealt, workers, columns_of("entity", model, self.settings), kind)
        dealt = Numbering(model.num_relations, recipe.lanes, recipe.seed)
        self.relations = ShardedRows(dealt, workers, columns_of("relation", model, self.settings), kind)

    def start(self) -> None:
        """Put the first values of `transa.training.starting.start_model` into the rows of this worker."""
        roles = {"entity": self.entities, "relation": self.relations}
        for name, first, values in start_rows(self.model, self.recipe):
            role, table = name.split(".")
            held = roles[role]
            rows = held.numbering.rows[first : first + len(values)] - held.first
            mine = (rows >= 0) & (rows < held.held)
            held.tables[table][rows[mine]] = values.reshape(len(values), -1).numpy()[mine]
