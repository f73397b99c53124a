"""SSE: entities of a type lie together (Guo et al., *Semantically Smooth Knowledge Graph Embedding*, ACL 2015).

The objective of any model gets a further term on the vectors of entities. An entity with several types belongs to each by an equal
share, a_ic = 1 / (number of its types).

- ``laplacian`` (Laplacian eigenmaps): half the sum over pairs of entities of w_ij |e_i - e_j|^2, where w_ij is the sum over types c of
  a_ic a_jc / A_c and A_c = sum of a_ic. With m_c the mean of a type weighted by a_ic, that is the sum of a_ic |e_i - m_c|^2, at a cost
  linear in the number of entities. Without the division by A_c, large types would rule.
- ``lle`` (locally linear embedding): the sum over entities of |e_i - mean of some entities of the same type|^2. They are drawn once, by
  the seed: first one of the entity's types, then another entity of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.data.types import Types
from transa.models import Model
from transa.training.optimizers import constrain
from transa.training.recipe import Recipe
from transa.training.settings import TableSettings


class Smoothness:
    """The smoothness term of a recipe on a graph.

    Parameters
    ----------
    graph
        Whose types count; if it has none, the roles of entities in train.
    recipe
        Which term, its weight and the seed.
    """

    def __init__(self, graph: KnowledgeGraph, recipe: Recipe) -> None:
        self.weight = recipe.smoothness_weight
        self.lle = recipe.smoothness == "lle"
        types = graph.types if graph.types is not None and len(graph.types.entities) else Types.roles(graph)
        self._types = len(types.names)
        if self.lle:
            rows, others = _neighbours(types, recipe.smoothness_neighbours, recipe.seed)
            self._rows, self._others = torch.from_numpy(rows), torch.from_numpy(others)
            return
        entities, kinds = types.entities.T
        self._rows, self._others = torch.from_numpy(entities.copy()), torch.from_numpy(kinds.copy())
        self._shares = torch.from_numpy(1 / np.diff(types.offsets)[entities])

    def value(self, vectors: Tensor) -> Tensor:
        """Return the term, without its weight."""
        if self.lle:
            return self._residuals(vectors).square().sum()
        shares = self._shares.to(vectors)
        return (shares * (vectors[self._rows] - self._means(vectors)[self._others]).square().sum(1)).sum()

    def gradient(self, vectors: Tensor) -> Tensor:
        """Return the gradient of the term, without its weight."""
        found = torch.zeros_like(vectors)
        if self.lle:
            residuals = 2 * self._residuals(vectors)
            found[self._rows] = residuals
            count = self._others.shape[1]
            return found.index_add_(0, self._others.reshape(-1), -residuals.repeat_interleave(count, 0) / count)
        shares = self._shares.to(vectors).unsqueeze(1)
        away = 2 * shares * (vectors[self._rows] - self._means(vectors)[self._others])
        return found.index_add_(0, self._rows, away)

    def step(self, model: Model, setting: TableSettings, factor: float) -> None:
        """Take one step against the term, with the learning rate of entity vectors times a factor, after an epoch."""
        vectors = model.entity.vector
        moved = vectors - setting.learning_rate * factor * self.weight * self.gradient(vectors)
        vectors.copy_(constrain(setting.constraint, moved))

    def _means(self, vectors: Tensor) -> Tensor:
        """Return the weighted mean of each type."""
        shares = self._shares.to(vectors)
        total = vectors.new_zeros(self._types, vectors.shape[1])
        total.index_add_(0, self._others, shares.unsqueeze(1) * vectors[self._rows])
        weight = vectors.new_zeros(self._types).index_add_(0, self._others, shares)
        return total / weight.clamp(min=1e-12).unsqueeze(1)

    def _residuals(self, vectors: Tensor) -> Tensor:
        """Return what is left of each entity without the mean of its neighbours."""
        return vectors[self._rows] - vectors[self._others].mean(1)


def _neighbours(types: Types, count: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Draw for each entity, of those that share a type with another, some others of its types."""
    random = np.random.default_rng(seed)
    counts, begins = np.diff(types.offsets), types.offsets[:-1]
    by_type = types.entities[np.lexsort((types.entities[:, 0], types.entities[:, 1]))]
    first = np.searchsorted(by_type[:, 1], np.arange(len(types.names)))
    sizes = types.counts
    shared = np.zeros(types.size, bool)
    shared[types.entities[sizes[types.entities[:, 1]] > 1, 0]] = True
    rows = np.flatnonzero(shared)
    others = np.empty((len(rows), count), np.int64)
    for column in range(count):
        left = np.arange(len(rows))
        while len(left):  # a type with no other entity, or the entity itself, was drawn: draw again
            entities = rows[left]
            kinds = types.entities[begins[entities] + random.integers(0, counts[entities]), 1]
            drawn = by_type[first[kinds] + random.integers(0, sizes[kinds]), 0]
            others[left, column] = drawn
            left = left[drawn == entities]
    return rows, others
