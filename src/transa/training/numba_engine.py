"""The numba engine: fused kernels on the CPU, for models whose score is a metric on a residual."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.kernels import training as kernels
from transa.kernels.codes import DIAGONAL, FREE, LOW_RANK, SGD
from transa.kernels.metric import grouped_gradient_phase, hinge_gradient_phase
from transa.kernels.threads import dealt, one_blas_thread
from transa.models import Model
from transa.training.engine import EpochReport
from transa.training.epoch_batches import Batch, EpochBatches
from transa.training.losses import LOSSES
from transa.training.optimizers import state_shapes
from transa.training.recipe import Recipe
from transa.training.settings import decay_all, table_settings

#: Corruptions that are drawn at once, for as many batches as it takes.
DRAWN = 1 << 18
#: Positives that a thread takes at a time without locks, and that are corrupted at once.
LOCK_FREE_CHUNK, LOCK_FREE_BATCH = 256, 1 << 16


class NumbaEngine:
    """Trains with compiled kernels, on the very memory of the model's tensors.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, how.
    lock_free
        Take steps positive by positive from all threads without locks. Faster, but two runs with the same seed differ, and `batch` has
        no meaning.
    """

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe, *, lock_free: bool = False) -> None:
        self.name = "numba, lock-free" if lock_free else "numba"
        self.model = model
        self.recipe = recipe
        self.lock_free = lock_free
        batch = LOCK_FREE_BATCH if lock_free else recipe.batch_size
        self.epoch_batches = EpochBatches(graph, recipe, grouped=model.grouped, batch=batch)
        self._bind(model)
        self._configure(recipe)
        self._allocate(min(batch, len(self.epoch_batches)), recipe.negatives)
        self._steps = 0

    def _bind(self, model: Model) -> None:
        """Put entities and relations into one table, of which the model's tensors become views."""
        kernel = model.kernel()
        if kernel is None:
            raise ValueError(f"{model.name} has no kernel")
        self.kernel = kernel
        entities = model.entity.vector
        relations = model.relation.get("vector", torch.zeros(model.num_relations, model.dim, dtype=entities.dtype))
        together = torch.cat([entities, relations])
        model.entity["vector"] = together[: model.num_entities]
        if "vector" in model.relation:
            model.relation["vector"] = together[model.num_entities :]
        self.vectors = together.numpy()
        kind = self.vectors.dtype
        weights = model.relation.get("weight")
        self.weights = np.ones(model.num_relations, kind) if weights is None else weights.numpy()
        metric, normal = model.relation.get("metric"), model.relation.get("normal")
        if normal is not None:  # learned as a metric of one row is
            metric = normal.unsqueeze(1)
        self.metric = np.zeros((model.num_relations, 0, model.dim), kind) if metric is None else metric.numpy()
        self.scored = self.metric if self.kernel.kind in (DIAGONAL, LOW_RANK) else None
        self.normal = None if normal is None else normal.numpy()

    def _configure(self, recipe: Recipe) -> None:
        settings = self.settings = table_settings(self.model, recipe)
        entity = settings["entity.vector"]
        relation = settings.get("relation.vector")
        self.optimizer = entity.optimizer
        self.learning_rates = (entity.learning_rate, relation.learning_rate if relation else 0.0)
        kind = self.vectors.dtype
        self.penalties = np.array([entity.penalty, relation.penalty if relation else 0.0], kind)
        self.constraints = np.array([entity.constraint, relation.constraint if relation else FREE])
        shapes = state_shapes(self.optimizer, *self.vectors.shape)
        self.first, self.second = (np.zeros(shape, kind) for shape in shapes)
        self.learned = settings.get("relation.metric" if self.normal is None else "relation.normal")
        rows = self.metric.shape[1] * self.model.dim if self.learned else 0
        shapes = state_shapes(self.optimizer if self.learned else SGD, self.model.num_relations, rows)
        self.metric_first, self.metric_second = (np.zeros(shape, kind) for shape in shapes)

    def _allocate(self, batch: int, negatives: int) -> None:
        kind, dim = self.vectors.dtype, self.model.dim
        batch = max(batch, 64)  # a grouped batch may be as large as a group
        drawn = max(batch, min(len(self.epoch_batches), DRAWN // negatives))
        self.drawn = np.empty((drawn, negatives), np.int32)
        self.drawn_at_head = np.empty((drawn, negatives), np.bool_)
        self.losses = np.empty(batch, np.float64)
        self.violations = np.empty(batch, np.int64)
        self.active = np.empty(batch, np.bool_)
        if self.lock_free:
            return
        self.scores = np.empty((batch, 1 + negatives), kind)
        self.factors = np.empty((batch, 1 + negatives), kind)
        self.gradients = np.empty((batch * (3 + negatives), dim), kind)
        self.metric_gradients = np.empty((batch, self.metric.shape[1] if self.learned else 0, dim), kind)
        self.slots = np.full(len(self.vectors), -1, np.int64)
        self.touched = np.empty((numba.get_num_threads(), batch * (3 + negatives)), np.int64)
        self.metric_slots = np.full(self.model.num_relations, -1, np.int64)

    def train_epoch(self, number: int) -> EpochReport:
        """Go once over the training triples."""
        self.epoch_batches.start_epoch(number)
        factor = self.recipe.learning_rate_factor(number)
        learning_rates = np.array(self.learning_rates, self.vectors.dtype) * self.vectors.dtype.type(factor)
        loss, violations = 0.0, 0
        with one_blas_thread() if self.model.grouped else nullcontext():
            begin = ahead = 0
            for batch in self.epoch_batches.batches:
                self._steps += 1
                if batch.stop > ahead:
                    begin, ahead = batch.start, min(batch.start + len(self.drawn), len(self.epoch_batches))
                    self.epoch_batches.corrupt(begin, ahead, self.drawn, self.drawn_at_head)
                part = slice(batch.start - begin, batch.stop - begin)
                self.negatives, self.at_head = self.drawn[part], self.drawn_at_head[part]
                if self.lock_free:
                    self._step_lock_free(batch, learning_rates)
                else:
                    self._step(batch, learning_rates, factor)
                size = batch.stop - batch.start
                loss += float(self.losses[:size].sum())
                violations += int(self.violations[:size].sum())
        decay_all(self.model, self.recipe, self.settings, factor)
        return EpochReport(
            loss / len(self.epoch_batches), violations / (len(self.epoch_batches) * self.recipe.negatives)
        )

    def _objective(self) -> tuple[Any, ...]:
        recipe, kernel = self.recipe, self.kernel
        return kernel.kind, kernel.root, LOSSES[recipe.loss], recipe.margin, recipe.temperature, recipe.negligible

    def _step(self, batch: Batch, learning_rates: npt.NDArray[Any], factor: float) -> None:
        start, stop = batch.start, batch.stop
        triples, entities = self.epoch_batches.triples, self.model.num_entities
        results = (self.factors, self.gradients, self.losses, self.violations, self.active)
        corrupted = (start, self.negatives, self.at_head, self.vectors, entities)
        if self.model.grouped:
            work = (triples, batch.groups, dealt(np.diff(batch.groups)), *corrupted, self.metric)
            if self.recipe.loss == "margin" and not self.kernel.root:
                hinge_gradient_phase(*work, self.kernel.kind, self.recipe.margin, *results)
            else:
                grouped_gradient_phase(*work, *self._objective(), self.scores, *results)
        else:
            learned = self.metric_gradients if self.learned else None
            kernels.gradient_phase(
                *(triples, stop, *corrupted, self.scored, self.normal, self.recipe.soft_penalty, self.weights),
                *(*self._objective(), self.scores, learned, *results),
            )
        threads = len(self.touched)
        kernels.update_phase(
            *(threads, triples, start, stop, self._steps, self.negatives, self.factors, self.gradients, self.active),
            *(
                self.slots,
                self.touched,
                entities,
                self.vectors,
                self.first,
                self.second,
                self.optimizer,
                learning_rates,
            ),
            *(self.penalties, self.constraints),
        )
        if self.learned:
            kind = self.vectors.dtype.type
            relations, size = len(self.metric), self.metric[0].size
            learning_rate, penalty = kind(self.learned.learning_rate) * kind(factor), kind(self.learned.penalty)
            kernels.metric_phase(
                *(threads, triples, start, stop, self._steps, self.metric_gradients.reshape(-1, size), self.active),
                *(self.metric_slots, self.metric.reshape(relations, size), self.metric_first, self.metric_second),
                *(self.optimizer, learning_rate, penalty, self.learned.constraint),
            )

    def _step_lock_free(self, batch: Batch, learning_rates: npt.NDArray[Any]) -> None:
        kernels.lock_free_phase(
            *(
                LOCK_FREE_CHUNK,
                self.epoch_batches.triples,
                batch.start,
                batch.stop,
                self._steps,
                self.negatives,
                self.at_head,
            ),
            *(
                self.vectors,
                self.model.num_entities,
                self.scored,
                self.weights,
                *self._objective(),
            ),
            *(self.losses, self.violations, self.first, self.second, self.optimizer, learning_rates, self.penalties),
            self.constraints,
        )

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        arrays = {
            "first": self.first,
            "second": self.second,
            "metric_first": self.metric_first,
            "metric_second": self.metric_second,
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()} | {
            "steps": torch.tensor([self._steps])
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take up the state after an epoch."""
        self._steps = int(state["steps"][0])
        for name in ("first", "second", "metric_first", "metric_second"):
            getattr(self, name)[...] = state[name].numpy()
