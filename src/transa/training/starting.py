"""The model before its first epoch: whole, or some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.models import Model
from transa.models.loop_prior import loop_free_relations
from transa.training.engine import training_graph
from transa.training.optimizers import constrain
from transa.training.recipe import Recipe
from transa.training.settings import table_settings

#: Rows that are made at a time where a model is not made whole.
ROWS = 1 << 16


def start_model(graph: KnowledgeGraph, recipe: Recipe) -> Model:
    """Return the model of a recipe before its first epoch."""
    model = recipe.build_model(len(graph.entities), len(graph.relations))
    model.initialise(recipe.seed, recipe.init_range, getattr(torch, recipe.precision))
    for name, table in model.tensors().items():
        table.copy_(_adjusted(model, recipe, name, table))
    if recipe.loop_limit:
        model.loop_free = loop_free_relations(graph.train, len(graph.relations), recipe.loop_limit)
    if not recipe.warm_epochs:  # a warm start adapts the model once it has the vectors
        model.adapt(training_graph(graph, recipe), recipe.seed)
    return model


def start_rows(model: Model, recipe: Recipe) -> Iterator[tuple[str, int, Tensor]]:
    """Yield what `start_model` puts into the tables of entities and relations, some rows at a time.

    Each part comes as the name of the table, the number of its first row, and the rows. The model needs no tables. Its first values
    must come row by row from the generator, as those of vectors and metrics do.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    width = 6 / model.dim**0.5 if recipe.init_range is None else recipe.init_range
    for name, (count, *shape) in model.shapes().items():
        for first in range(0, count, ROWS):
            rows = (min(ROWS, count - first), *shape)
            values = model.start(name.split(".")[1], rows, width, generator).to(getattr(torch, recipe.precision))
            yield name, first, _adjusted(model, recipe, name, values)


def _adjusted(model: Model, recipe: Recipe, name: str, table: Tensor) -> Tensor:
    """Return rows of a table as the recipe constrains them, and metrics with its prior and scale."""
    settings = table_settings(model, recipe).get(name)
    if settings is not None:
        table = constrain(settings.constraint, table.reshape(len(table), -1)).reshape(table.shape)
    rules = model.metric_rules
    if name == "relation.metric" and rules is not None and rules.closed_form:
        if recipe.prior == "ones":
            table = torch.ones_like(table)
        if recipe.metric_scale == "trace":
            table = table * recipe.metric_trace
    return table
