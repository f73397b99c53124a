"""The engine for models with a matrix for each relation: they give their gradients in numpy, and compiled kernels take the steps."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Array, Examples
from transa.kernels.updates import loss_gradients, scatter_gradients
from transa.models import Model
from transa.training.compiled_engine import CompiledEngine
from transa.training.epoch_batches import Batch
from transa.training.recipe import Recipe
from transa.training.steps import RowSteps, VectorSteps


class MatrixEngine(CompiledEngine):
    """Trains models with analytic gradients (`Model.differentiate`).

    A batch has a few dozen groups of triples of one relation. Each takes a handful of matrix products, too small for more than one
    thread. All threads compute losses and take steps.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how.
    """

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        super().__init__(model, graph, recipe)
        self._allocate()
        vectors = model.entity.vector.numpy()
        touched = len(self.losses) * (3 + recipe.drawn_negatives)
        settings = self.settings["entity.vector"], None
        self.vectors = self.steps["first", "second"] = VectorSteps(vectors, settings, model.num_entities, touched)
        self.tables = {name: table.numpy() for name, table in model.relation.items()}
        self.relations: dict[str, RowSteps] = {}
        for name, table in self.tables.items():
            steps = RowSteps(table.reshape(len(table), -1), [self.settings[f"relation.{name}"]])
            self.relations[name] = self.steps[f"{name}.0", f"{name}.1"] = steps

    def _train_batch(self, batch: Batch, examples: Examples, factor: float) -> None:
        groups = batch.groups - batch.start
        triples, negatives, at_head = (
            examples.triples[batch.start : batch.stop],
            examples.negatives,
            examples.at_head,
        )
        replaced = np.where(at_head, negatives, triples[:, :1])
        kept = np.where(at_head, triples[:, 2:], negatives)
        heads = self.vectors.table[np.concatenate([triples[:, :1], replaced], axis=1).ravel()]
        tails = self.vectors.table[np.concatenate([triples[:, 2:], kept], axis=1).ravel()]
        relations = triples[groups[:-1], 1]
        moved, gradients = self._differentiate(groups, relations, heads, tails)
        scatter_gradients(at_head, heads, tails, self.gradients)
        step = self.vectors.step(self.number, factor)
        self.vectors.take(examples, step, self.factors, self.active, self.gradients)
        for name, steps in self.relations.items():
            steps.take(relations, steps.step(self.number, factor), moved, gradients[name])

    @np.errstate(over="ignore", invalid="ignore")  # NaN stops the run
    def _differentiate(
        self, groups: npt.NDArray[np.int64], relations: npt.NDArray[np.int32], heads: Array, tails: Array
    ) -> tuple[npt.NDArray[np.bool_], dict[str, Array]]:
        """Replace the vectors of heads and tails, in place, by the gradients with respect to them.

        Returns which groups have any gradient, and for each table of their relations the gradients with respect to it.
        """
        model, recipe = self.model, self.recipe
        size, width = int(groups[-1]), 1 + recipe.drawn_negatives
        parts = [slice(a, b) for a, b in itertools.pairwise(groups.tolist())]
        rows = [slice(part.start * width, part.stop * width) for part in parts]
        tables = [{name: table[relation] for name, table in self.tables.items()} for relation in relations.tolist()]
        scores, factors = self.scores[:size].reshape(-1), self.factors[:size].reshape(-1)
        backward, soft = [], []
        for part, table in zip(rows, tables, strict=True):
            scores[part], back = model.differentiate(heads[part], table, tails[part])
            backward.append(back)
        loss_gradients(
            *(self.objective, self.scores[:size], self.factors, self.losses, self.violations, self.active),
        )
        if recipe.soft_penalty:
            for part, own, table in zip(parts, rows, tables, strict=True):
                excess = model.differentiate_excess(heads[own][::width], table, tails[own][::width])
                if excess is not None:
                    self.losses[part] += recipe.soft_penalty * excess[0]
                    self.active[part] |= excess[0] > 0
                    soft.append(excess)
        moved = np.logical_or.reduceat(self.active[:size], groups[:-1])
        gradients = {name: np.empty((len(parts), table[0].size), table.dtype) for name, table in self.tables.items()}
        for g in np.flatnonzero(moved).tolist():
            part = rows[g]
            by_head, by_tail, by_tables = backward[g](factors[part])
            if soft and soft[g][0].any():
                weights = np.full(len(soft[g][0]), recipe.soft_penalty, heads.dtype)
                more_head, more_tail, more = soft[g][1](weights)
                by_head[::width] += more_head
                by_tail[::width] += more_tail
                by_tables |= {name: by_tables[name] + gradient for name, gradient in more.items()}
            heads[part], tails[part] = by_head, by_tail
            for name, gradient in by_tables.items():
                gradients[name][g] = gradient.ravel()
        return moved, gradients
