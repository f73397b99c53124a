"""The numba engine for models of matrices: products relation by relation, gradients by hand, steps by the compiled kernels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.kernels import training as kernels
from transa.models import Model
from transa.models.base import Array
from transa.training.epoch_batches import Batch
from transa.training.losses import LOSSES
from transa.training.numba_engine import NumbaEngine
from transa.training.optimizers import state_shapes
from transa.training.recipe import Recipe


class GroupEngine(NumbaEngine):
    """Trains models that are differentiated by hand, on the very memory of their tensors.

    A batch has a few dozen groups of triples of one relation. Each is a handful of matrix products on one thread, which are too small
    for more; losses and steps are taken by all threads.
    """

    def _bind(self, model: Model) -> None:
        kind = model.entity.vector.numpy().dtype
        self.vectors = model.entity.vector.numpy()
        self.tables = {name: table.numpy() for name, table in model.relation.items()}
        self.metric = np.zeros((model.num_relations, 0, model.dim), kind)
        self.normal = None

    def _configure(self, recipe: Recipe) -> None:
        super()._configure(recipe)
        self.states = {
            name: tuple(
                np.zeros(shape, table.dtype)
                for shape in state_shapes(self.optimizer, len(table), table.reshape(len(table), -1).shape[1])
            )
            for name, table in self.tables.items()
        }

    def _step(self, batch: Batch, learning_rates: npt.NDArray[Any], factor: float) -> None:
        size, groups = batch.stop - batch.start, batch.groups - batch.start
        triples = self.epoch_batches.triples[batch.start : batch.stop]
        replaced = np.where(self.at_head, self.negatives, triples[:, :1])
        kept = np.where(self.at_head, triples[:, 2:], self.negatives)
        heads = self.vectors[np.concatenate([triples[:, :1], replaced], axis=1).ravel()]
        tails = self.vectors[np.concatenate([triples[:, 2:], kept], axis=1).ravel()]
        firsts = triples[groups[:-1]]
        moved, gradients = self._differentiate(groups, firsts[:, 1], heads, tails)
        kernels.scatter_gradients(size, self.at_head, heads, tails, self.gradients)
        threads, steps = len(self.touched), self._steps
        kernels.update_phase(
            *(threads, triples, 0, size, steps, self.negatives, self.factors, self.gradients, self.active, self.slots),
            *(
                self.touched,
                self.model.num_entities,
                self.vectors,
                self.first,
                self.second,
                self.optimizer,
                learning_rates,
            ),
            *(self.penalties, self.constraints),
        )
        kind = self.vectors.dtype.type
        for name, table in self.tables.items():
            how = self.settings[f"relation.{name}"]
            kernels.metric_phase(
                *(threads, firsts, 0, len(firsts), steps, gradients[name], moved, self.metric_slots),
                *(table.reshape(len(table), -1), *self.states[name], self.optimizer),
                *(kind(how.learning_rate) * kind(factor), kind(how.penalty), how.constraint),
            )

    @np.errstate(over="ignore", invalid="ignore")  # a number that is none stops the run
    def _differentiate(
        self, groups: npt.NDArray[np.int64], relations: npt.NDArray[np.int32], heads: Array, tails: Array
    ) -> tuple[npt.NDArray[np.bool_], dict[str, Array]]:
        """Turn the vectors of heads and tails, in place, into gradients by them.

        Returns which groups have any gradient, and the gradients by each table of their relations.
        """
        model, recipe = self.model, self.recipe
        size, width = int(groups[-1]), 1 + recipe.negatives
        parts = [slice(a, b) for a, b in itertools.pairwise(groups.tolist())]
        rows = [slice(part.start * width, part.stop * width) for part in parts]
        tables = [{name: table[relation] for name, table in self.tables.items()} for relation in relations.tolist()]
        scores = self.scores[:size].reshape(-1)
        ways, soft_ways = [], []
        for part, table in zip(rows, tables, strict=True):
            scores[part], way = model.differentiate(heads[part], table, tails[part])
            ways.append(way)
        objective = LOSSES[recipe.loss], recipe.margin, recipe.temperature, recipe.negligible
        kernels.factor_phase(*objective, size, self.scores, self.factors, self.losses, self.violations, self.active)
        if recipe.soft_penalty:
            for part, own, table in zip(parts, rows, tables, strict=True):
                soft = model.differentiate_excess(heads[own][::width], table, tails[own][::width])
                if soft is not None:
                    self.losses[part] += recipe.soft_penalty * soft[0]
                    self.active[part] |= soft[0] > 0
                    soft_ways.append(soft)
        moved = np.logical_or.reduceat(self.active[:size], groups[:-1])
        gradients = {name: np.empty((len(parts), table[0].size), table.dtype) for name, table in self.tables.items()}
        factors = self.factors[:size].reshape(-1)
        for g in np.flatnonzero(moved).tolist():
            part = rows[g]
            by_head, by_tail, by_tables = ways[g](factors[part])
            if soft_ways and soft_ways[g][0].any():
                weights = np.full(len(soft_ways[g][0]), recipe.soft_penalty, heads.dtype)
                more_head, more_tail, more = soft_ways[g][1](weights)
                by_head[::width] += more_head
                by_tail[::width] += more_tail
                by_tables |= {name: by_tables[name] + gradient for name, gradient in more.items()}
            heads[part], tails[part] = by_head, by_tail
            for name, gradient in by_tables.items():
                gradients[name][g] = gradient.ravel()
        return moved, gradients

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        return super().state() | {
            f"{name}.{i}": torch.from_numpy(array) for name, pair in self.states.items() for i, array in enumerate(pair)
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take up the state after an epoch."""
        super().load_state(state)
        for name, pair in self.states.items():
            for i, array in enumerate(pair):
                array[...] = state[f"{name}.{i}"].numpy()
