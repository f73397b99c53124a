"""The engine that trains a model on triples and on paths, example by example."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.kernels.codes import ADD, DIAGONAL, L1, MUL, RNN, SQUARED_L2
from transa.kernels.path_training import PathExamples, PathObjective, train_paths
from transa.kernels.purposes import PATHS, SHUFFLE
from transa.kernels.random import stream
from transa.kernels.shuffling import shuffle
from transa.models import Model
from transa.training.engine import EpochReport
from transa.training.epoch_batches import EpochBatches
from transa.training.losses import LOSSES
from transa.training.recipe import Recipe
from transa.training.settings import decay_all, table_settings
from transa.training.steps import RowSteps

COMPOSITIONS = {"add": ADD, "mul": MUL, "rnn": RNN}


class PathEngine:
    """Trains a model `by_paths` in one thread: a step for each triple in either direction, so results do not depend on threads.

    With the composition "rnn", the matrices take a step after each `batch_size` examples; otherwise it has no effect.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, how.
    """

    name = "numba, paths"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        self.model = model
        self.recipe = recipe
        self.epoch_batches = EpochBatches(graph, recipe, grouped=False)
        self.settings = table_settings(model, recipe)
        if model.paths is None:
            model.bind(graph)
        paths = model.paths
        assert paths is not None  # noqa: S101
        self.index = paths.index
        corruptor = self.epoch_batches.corruptor
        there, back = paths.kept(recipe.path_limit, own=recipe.own_paths)
        self.examples = PathExamples(
            paths.triples,
            corruptor.spans(paths.triples),
            corruptor.facts.heads.answers,
            corruptor.facts.tails.answers,
            np.empty(2 * len(paths.triples), np.int64),
            0,
            0,
            np.concatenate([there.offsets, there.offsets[-1] + back.offsets[1:]]),
            *(np.concatenate(both) for both in zip(there[1:], back[1:], strict=True)),
        )
        norm = L1 if recipe.norm == 1 else DIAGONAL if recipe.weighted else SQUARED_L2
        self.objective = PathObjective(
            *(LOSSES[recipe.loss], recipe.margin, recipe.temperature, recipe.negligible, recipe.drawn_negatives),
            *(recipe.relation_negatives, recipe.path_margin, recipe.path_samples, norm),
            COMPOSITIONS[recipe.composition],
        )
        table = self._joint_table()
        each = ("entity.vector", "relation.vector", "relation.weight")
        self.rows = RowSteps(table, [self.settings.get(name) for name in each])
        relations = 2 * model.num_relations if recipe.composition == "rnn" else 0
        self.sides, self.pulls = (np.zeros((2, relations, model.dim), table.dtype) for _ in range(2))
        self.composed = self.sides[0]
        self.matrices: RowSteps | None = None
        if relations:
            rows = model.shared.matrices.numpy().reshape(2, -1)
            self.matrices = RowSteps(rows, [self.settings["shared.matrices"]])
        self._number = 0

    def _joint_table(self) -> np.ndarray:
        """Put entities, relations, inverses and metrics into one table, and make the model's tensors views of it."""
        model = self.model
        names = [("entity", "vector"), *(("relation", name) for name in model.relation_tables())]
        together = torch.cat([getattr(model, role)[name] for role, name in names])
        begin = 0
        for role, name in names:
            rows = len(getattr(model, role)[name])
            getattr(model, role)[name] = together[begin : begin + rows]
            begin += rows
        return together.numpy()

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        order, recipe = self.examples.order, self.recipe
        shuffle(stream(recipe.seed, SHUFFLE, number), order)
        key = stream(recipe.seed, PATHS, number)
        factor = recipe.learning_rate_factor(number)
        loss, violations = 0.0, 0
        size = recipe.batch_size if self.matrices is not None else len(order)
        for start in range(0, len(order), size):
            self._number += 1
            self._compose()
            block = self.examples._replace(start=start, stop=min(start + size, len(order)))
            step, rows = self.rows.step(self._number, factor), self.rows
            found = train_paths(
                block,
                self.index,
                self.objective,
                key,
                step,
                rows.table,
                rows.first,
                rows.second,
                self.sides,
                self.pulls,
            )
            self._pull(factor)
            loss += found[0] + found[1]
            violations += found[2]
        decay_all(self.model, recipe, self.settings, factor)
        return EpochReport(loss / len(order), violations / (len(order) * recipe.drawn_negatives))

    def _relations(self) -> np.ndarray:
        """Return the vectors of the relations and of their inverses."""
        begin = self.model.num_entities
        found: np.ndarray = self.rows.table[begin : begin + 2 * self.model.num_relations]
        return found

    def _compose(self) -> None:
        """Map the vectors of steps by both matrices."""
        if self.matrices is not None:
            self.composed = self._relations().copy()
            for side, matrix in enumerate(self.model.shared.matrices.numpy()):
                self.sides[side] = self.composed @ matrix.T
            self.pulls[:] = 0

    def _pull(self, factor: float) -> None:
        """Take the step of the matrices, and of the relations through them, by gradient."""
        if self.matrices is None:
            return
        matrices = self.model.shared.matrices.numpy()
        gradients = np.stack([pull.T @ self.composed for pull in self.pulls]).reshape(2, -1)
        touched = np.flatnonzero(self.pulls.any(axis=(0, 2))).astype(np.int32)
        through = sum(pull[touched] @ matrix for pull, matrix in zip(self.pulls, matrices, strict=True))
        step = self.rows.step(self._number, factor)
        of_relations = step._replace(
            learning_rates=step.learning_rates[1:], penalties=step.penalties[1:], constraints=step.constraints[1:]
        )
        rows = touched + np.int32(self.model.num_entities)
        self.rows.take(rows, of_relations, np.ones(len(rows), bool), np.ascontiguousarray(through))
        both = np.arange(2, dtype=np.int32)
        self.matrices.take(both, self.matrices.step(self._number, factor), np.ones(2, bool), gradients)

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        found = {"steps": torch.tensor([self._number])}
        found |= {"first": torch.from_numpy(self.rows.first), "second": torch.from_numpy(self.rows.second)}
        if self.matrices is not None:
            found["matrices_first"] = torch.from_numpy(self.matrices.first)
            found["matrices_second"] = torch.from_numpy(self.matrices.second)
        return found

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        self._number = int(state["steps"][0])
        steps = [("", self.rows), *([("matrices_", self.matrices)] if self.matrices is not None else [])]
        for prefix, each in steps:
            each.first[...] = state[f"{prefix}first"].numpy()
            each.second[...] = state[f"{prefix}second"].numpy()
