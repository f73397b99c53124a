"""The compiled engine for the softmax over entities: matrix products in tiles (`transa.kernels.softmax`), then one step on each row."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Array
from transa.kernels.softmax import Space, Tile, cross_entropy, space_for
from transa.kernels.threads import one_blas_thread
from transa.models import Model
from transa.models.linearised import Linearised, RelationRows
from transa.training.engine import EpochReport
from transa.training.epoch_batches import EpochBatches
from transa.training.query_batches import QueryBatch, QueryBatches, Ragged, part_of, places_among
from transa.training.recipe import Recipe
from transa.training.settings import decay_all, table_settings
from transa.training.steps import RowSteps

#: Scores that a tile holds, at most; but a tile has at least `QUERIES` queries.
SCORES, QUERIES = 1 << 23, 16


class SoftmaxEngine:
    """Trains a model that can be linearised (`Model.linearise`) by cross-entropy over entities.

    A question with several right answers counts once for each. Its loss is that of the softmax over all entities, or over the
    entities of its batch and some that are drawn for it.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how.
    """

    name = "numba, softmax"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        self.model = model
        self.graph = graph
        self.recipe = recipe
        self.settings = table_settings(model, recipe)
        self.queries = QueryBatches(graph, recipe, heads=not model.directional)
        self.entities = model.entity.vector.numpy()
        self.steps = {
            name: RowSteps(table.numpy().reshape(len(table), -1), [self.settings[name]])
            for name, table in model.tensors().items()
            if name in self.settings
        }
        self._number = 0
        self._space: Space | None = None

    @cached_property
    def epoch_batches(self) -> EpochBatches:
        """Batches of triples, which this engine does not need itself."""
        return EpochBatches(self.graph, self.recipe, grouped=self.model.grouped)

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        factor = self.recipe.learning_rate_factor(number)
        loss = 0.0
        with one_blas_thread():
            for batch in self.queries.epoch(number):
                self._number += 1
                loss += self._train_batch(batch, number, factor)
        decay_all(self.model, self.recipe, self.settings, factor)
        return EpochReport(loss / len(self.queries.targets), None)

    def _train_batch(self, batch: QueryBatch, number: int, factor: float) -> float:
        """Take the steps of a batch and return its loss."""
        rows = self.queries.candidates(batch, number)
        vectors = self.entities if rows is None else self.entities[rows]
        fixed, targets = (at if rows is None else np.searchsorted(rows, at) for at in (batch.fixed, batch.targets))
        hidden = places_among(rows, batch.hidden_offsets, batch.hidden)
        relations, owner = np.unique(batch.relations, return_inverse=True)
        tables = {name: table.numpy()[relations] for name, table in self.model.relation.items()}
        sign = np.where(batch.at_head, -1, 1).astype(vectors.dtype)
        kept, kept_moved = self.queries.kept(batch, number, self.model.dim, vectors.dtype)
        given = vectors[fixed] if kept is None else kept * vectors[fixed]
        asked = self.model.linearise(given, RelationRows(tables, owner, sign), kept_moved)
        loss, gradients = self._differentiate(asked, (batch.offsets, targets), hidden, vectors, rows)
        by_fixed, by_tables = asked.backward(gradients.pop("linear"), gradients.pop("squared"))
        np.add.at(gradients["entity.vector"], fixed, by_fixed if kept is None else kept * by_fixed)
        gradients |= {f"relation.{name}": by_table for name, by_table in by_tables.items()}
        if self.recipe.cubic_penalty:
            penalised = {"entity.vector": vectors, "relation.vector": tables["vector"]}
            loss += self._penalise(batch, owner, (fixed, targets), penalised, gradients)
        touched = np.arange(len(vectors)) if rows is None else rows
        for name, gradient in gradients.items():
            if name in self.steps:
                steps, ids = self.steps[name], touched if name.startswith("entity.") else relations
                active = np.ones(len(ids), np.bool_)
                steps.take(
                    ids.astype(np.int32), steps.step(self._number, factor), active, gradient.reshape(len(ids), -1)
                )
        return loss

    def _differentiate(
        self, asked: Linearised, answers: Ragged, hidden: Ragged, vectors: Array, rows: Array | None
    ) -> tuple[float, dict[str, Array]]:
        """Return the loss, and the gradients by a, by w and the u_m, by the candidates' vectors and their biases.

        `answers` and `hidden` are borders and candidates of the right answers and of those that do not count.
        """
        kind = vectors.dtype
        temperature = kind.type(self.recipe.temperature)
        bias = self.model.entity["bias"].numpy() if "bias" in self.model.entity else np.empty(0, kind)
        bias = temperature * (bias if rows is None or not len(bias) else bias[rows])
        scale = np.full(
            (asked.squared.shape[1], 1), np.sqrt(temperature), kind
        )  # of the u_m, whose products are squared
        scale[0] = temperature
        linear, squared = temperature * asked.linear, scale * asked.squared
        losses = np.empty(len(asked.linear))
        gradients = {
            "linear": np.empty_like(asked.linear),
            "squared": np.zeros_like(asked.squared),
            "entity.vector": np.zeros_like(vectors),
            "entity.bias": np.zeros_like(bias),
        }
        size = max(QUERIES, min(len(losses), SCORES // len(vectors)))
        for start in range(0, len(losses), size):
            some = slice(start, min(start + size, len(losses)))
            low, high = (asked.owner[some.start], asked.owner[some.stop - 1] + 1) if len(asked.squared) else (0, 0)
            tile = Tile(
                linear[some],
                squared[low:high],
                asked.owner[some] - low,
                *part_of(answers, some),
                *part_of(hidden, some),
                self.recipe.label_smoothing,
            )
            by_squared = np.empty_like(tile.squared)
            held = tile.squared.size // self.model.dim
            self._space = space_for(len(tile.linear), held, len(vectors), self.model.dim, kind, self._space)
            cross_entropy(
                *(tile, vectors, bias, self._space, losses[some], gradients["linear"][some]),
                *(by_squared, gradients["entity.vector"], gradients["entity.bias"]),
            )
            gradients["squared"][low:high] += by_squared
        for name in ("linear", "entity.bias"):
            gradients[name] *= temperature
        gradients["squared"] *= scale
        return float(losses.sum()), gradients

    def _penalise(
        self,
        batch: QueryBatch,
        owner: Array,
        places: tuple[Array, Array],
        tables: dict[str, Array],
        gradients: dict[str, Array],
    ) -> float:
        """Add the gradient of the cubic penalty on the vectors of each positive, and return the penalty.

        `places` are the rows of the questions' entities and of their answers in ``tables["entity.vector"]``.
        """
        answers = np.diff(batch.offsets)
        fixed, targets = places
        size = len(tables["entity.vector"])
        counts = {
            "entity.vector": np.bincount(fixed, answers, size) + np.bincount(targets, minlength=size),
            "relation.vector": np.bincount(owner, answers),
        }
        total = 0.0
        for name, count in counts.items():
            used = np.flatnonzero(count)
            values = tables[name][used]
            weights = (self.recipe.cubic_penalty * count[used]).astype(values.dtype)[:, None]
            gradients[name][used] += 3 * weights * values * np.abs(values)
            total += float((weights * np.abs(values) ** 3).sum())
        return total

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        found = {"steps": torch.tensor([self._number])}
        for name, steps in self.steps.items():
            found |= {f"{name}.0": torch.from_numpy(steps.first), f"{name}.1": torch.from_numpy(steps.second)}
        return found

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        self._number = int(state["steps"][0])
        for name, steps in self.steps.items():
            steps.first[...] = state[f"{name}.0"].numpy()
            steps.second[...] = state[f"{name}.1"].numpy()
