"""The compiled engine for full metrics: it scores groups of triples of one relation as matrix products."""

from __future__ import annotations

import numpy as np

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Examples, Tables
from transa.kernels.full_metric import grouped_gradient_phase, hinge_gradient_phase
from transa.kernels.scores import GroupScore
from transa.kernels.threads import dealt
from transa.models import Model
from transa.training.compiled_engine import CompiledEngine, joint_vectors
from transa.training.epoch_batches import Batch
from transa.training.recipe import Recipe
from transa.training.steps import VectorSteps


class FullMetricEngine(CompiledEngine):
    """Trains the vectors under k x k metrics; the metrics themselves come from their closed form.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how.
    score, root
        The model's score, and whether its square root is taken.
    """

    def __init__(
        self, model: Model, graph: KnowledgeGraph, recipe: Recipe, score: GroupScore, *, root: bool = False
    ) -> None:
        super().__init__(model, graph, recipe, root=root)
        self.absolute = score.absolute
        self._allocate()
        vectors, metric = joint_vectors(model).numpy(), model.relation.metric.numpy()
        self.tables = Tables(vectors, model.num_entities, metric, np.ones(model.num_relations, vectors.dtype))
        both = self.settings["entity.vector"], self.settings["relation.vector"]
        touched = len(self.losses) * (3 + recipe.drawn_negatives)
        self.vectors = self.steps["first", "second"] = VectorSteps(vectors, both, model.num_entities, touched)

    def _train_batch(self, batch: Batch, examples: Examples, factor: float) -> None:
        work = batch.groups, dealt(np.diff(batch.groups)), self.absolute, examples, self.tables, self.objective
        results = self.factors, self.gradients, self.losses, self.violations, self.active
        if self.recipe.loss == "margin" and not self.objective.root:
            hinge_gradient_phase(*work, *results)
        else:
            grouped_gradient_phase(*work, self.scores, *results)
        step = self.vectors.step(self.number, factor)
        self.vectors.take(examples, step, self.factors, self.active, self.gradients)
