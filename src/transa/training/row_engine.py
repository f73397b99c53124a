"""The compiled engine for scores on rows: norms and metrics of a residual, and any other `RowScore`."""

from __future__ import annotations

import numpy as np

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Examples, Tables
from transa.kernels.scores import RowScore
from transa.kernels.training import gradient_phase, lock_free_phase
from transa.models import Model
from transa.training.compiled_engine import CompiledEngine, joint_vectors
from transa.training.epoch_batches import Batch
from transa.training.recipe import Recipe
from transa.training.steps import RowSteps, VectorSteps

#: Positives in a lock-free batch, whose negatives are drawn together.
LOCK_FREE_BATCH = 1 << 16


class RowEngine(CompiledEngine):
    """Trains a model with fused kernels that score and differentiate triple by triple.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how.
    score, root
        The model's score, and whether its square root is taken.
    lock_free
        Take steps positive by positive from all threads without locks. This is faster, but two runs with the same seed differ, and
        the batch size has no meaning.
    """

    def __init__(
        self,
        model: Model,
        graph: KnowledgeGraph,
        recipe: Recipe,
        score: RowScore,
        *,
        root: bool = False,
        lock_free: bool = False,
    ) -> None:
        super().__init__(model, graph, recipe, root=root, batch_size=LOCK_FREE_BATCH if lock_free else None)
        self.score = score
        self.lock_free = lock_free
        vectors = joint_vectors(model).numpy()
        kind = vectors.dtype
        extra, learned = self._extra_rows()
        weights = model.relation.get("weight")
        self.tables = Tables(
            vectors,
            model.num_entities,
            extra,
            np.ones(model.num_relations, kind) if weights is None else weights.numpy(),
        )
        both = self.settings["entity.vector"], self.settings.get("relation.vector")
        touched = 0 if lock_free else len(self.losses) * (3 + recipe.drawn_negatives)
        self.vectors = self.steps["first", "second"] = VectorSteps(vectors, both, model.num_entities, touched)
        self.extra: RowSteps | None = None
        if learned:
            rows = extra.reshape(len(extra), -1)
            self.extra = self.steps["metric_first", "metric_second"] = RowSteps(rows, [self.settings[learned]])
        if lock_free:
            self.name = "numba, lock-free"
        else:
            self._allocate()
            self.extra_gradients = np.empty((len(self.losses), extra.shape[1] if learned else 0, model.dim), kind)

    def _extra_rows(self) -> tuple[np.ndarray, str]:
        """Return the extra rows of relations that the score reads (metric or normal), and the name of their table if it is learned."""
        relation = self.model.relation
        for name in ("metric", "normal"):
            if name in relation:
                rows = relation[name].numpy().reshape(self.model.num_relations, -1, self.model.dim)
                return rows, f"relation.{name}" if f"relation.{name}" in self.settings else ""
        return np.zeros((self.model.num_relations, 0, self.model.dim), self.model.entity.vector.numpy().dtype), ""

    def _train_batch(self, batch: Batch, examples: Examples, factor: float) -> None:
        step = self.vectors.step(self.number, factor)
        if self.lock_free:
            state = self.vectors.first, self.vectors.second
            lock_free_phase(
                *(self.score, examples, self.tables, self.objective, step, self.losses, self.violations, *state)
            )
            return
        gradient_phase(
            *(self.score, examples, self.tables, self.objective, self.scores, self.factors, self.gradients),
            *(self.extra_gradients, self.losses, self.violations, self.active),
        )
        self.vectors.take(examples, step, self.factors, self.active, self.gradients)
        if self.extra is not None:
            size = batch.stop - batch.start
            gradients = self.extra_gradients.reshape(len(self.extra_gradients), -1)
            relations = np.ascontiguousarray(examples.triples[batch.start : batch.stop, 1])
            self.extra.take(relations, self.extra.step(self.number, factor), self.active[:size], gradients)
