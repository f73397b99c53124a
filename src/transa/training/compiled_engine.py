"""What the compiled engines share: the loop over batches, the buffers, and optimiser steps in the memory of the model's tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Examples, Objective
from transa.kernels.threads import one_blas_thread
from transa.models import Model
from transa.training.engine import EpochReport
from transa.training.epoch_batches import GROUP_SIZE, Batch, EpochBatches
from transa.training.losses import LOSSES
from transa.training.recipe import Recipe
from transa.training.settings import decay_all, table_settings
from transa.training.steps import TableSteps


class CompiledEngine:
    """Trains a model with compiled kernels. A subclass computes the gradients of a batch and takes its steps.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, how.
    batch_size
        Positives in a batch; by default the recipe's.

    Attributes
    ----------
    steps
        The trained tables, by the names under which checkpoints keep the two parts of their optimiser state.
    number
        The number of the last step.
    """

    name = "numba"

    def __init__(
        self, model: Model, graph: KnowledgeGraph, recipe: Recipe, *, root: bool = False, batch_size: int | None = None
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.settings = table_settings(model, recipe)
        self.epoch_batches = EpochBatches(graph, recipe, grouped=model.grouped, batch_size=batch_size)
        self.objective = Objective(
            *(LOSSES[recipe.loss], recipe.margin, recipe.temperature, recipe.negligible, root, recipe.soft_penalty)
        )
        self.steps: dict[tuple[str, str], TableSteps] = {}
        self.number = 0
        largest = max(min(self.epoch_batches.batch_size, len(self.epoch_batches)), GROUP_SIZE if model.grouped else 1)
        self.losses = np.empty(largest, np.float64)
        self.violations = np.empty(largest, np.int64)
        self.active = np.empty(largest, np.bool_)

    def _allocate(self) -> None:
        """Allocate the buffers for the gradients of a batch."""
        kind, size, count = self.model.entity.vector.numpy().dtype, len(self.losses), self.recipe.drawn_negatives
        self.scores = np.empty((size, 1 + count), kind)
        self.factors = np.empty((size, 1 + count), kind)
        self.gradients = np.empty((size * (3 + count), self.model.dim), kind)

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        batches = self.epoch_batches
        batches.start_epoch(number)
        factor = self.recipe.learning_rate_factor(number)
        loss, violations = 0.0, 0
        products: AbstractContextManager[None] = one_blas_thread() if self.model.grouped else nullcontext()
        with products:
            for batch in batches.batches:
                self.number += 1
                self._train_batch(batch, batches.examples(batch), factor)
                size = batch.stop - batch.start
                loss += float(self.losses[:size].sum())
                violations += int(self.violations[:size].sum())
        decay_all(self.model, self.recipe, self.settings, factor)
        return EpochReport(loss / len(batches), violations / (len(batches) * self.recipe.drawn_negatives))

    def _train_batch(self, batch: Batch, examples: Examples, factor: float) -> None:
        """Write the losses and violations of a batch, and take its steps with all learning rates multiplied by `factor`."""
        raise NotImplementedError

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        found = {"steps": torch.tensor([self.number])}
        for names, steps in self.steps.items():
            found |= zip(names, map(torch.from_numpy, (steps.first, steps.second)), strict=True)
        return found

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        self.number = int(state["steps"][0])
        for (first, second), steps in self.steps.items():
            steps.first[...] = state[first].numpy()
            steps.second[...] = state[second].numpy()


def joint_vectors(model: Model) -> Tensor:
    """Put entities and relations into one table, and make the model's tensors views of it."""
    entities = model.entity.vector
    relations = model.relation.get("vector", torch.zeros(model.num_relations, model.dim, dtype=entities.dtype))
    together = torch.cat([entities, relations])
    model.entity["vector"] = together[: model.num_entities]
    if "vector" in model.relation:
        model.relation["vector"] = together[model.num_entities :]
    return together
