"""The engine for several workers: it trains the lanes of this worker on rows that it pulls from all of them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import numpy.typing as npt
import torch

from transa.data import KnowledgeGraph
from transa.kernels.arguments import Array, Examples, Objective, Tables
from transa.kernels.scores import find_score
from transa.kernels.threads import one_blas_thread
from transa.models import Model
from transa.training.engine import EpochReport, training_graph, training_model
from transa.training.epoch_batches import Batch, EpochBatches
from transa.training.losses import LOSSES
from transa.training.recipe import Recipe
from transa.training.settings import table_settings
from transa.training.sharded.gradients import Distinct, LaneGradients, Moved
from transa.training.sharded.model import TABLES, ShardedModel
from transa.training.sharded.torch_gradients import TorchLaneGradients
from transa.training.sharded.workers import Workers


class ShardedEngine(ShardedModel):
    """Trains a model of which each worker holds a part.

    Parameters
    ----------
    model
        The model without its tables.
    graph, recipe
        What to train on, and how.
    workers
        Who takes part.
    device
        Where torch computes gradients; None: compiled kernels do.
    """

    name = "sharded"

    def __init__(
        self, model: Model, graph: KnowledgeGraph, recipe: Recipe, workers: Workers, device: str | None = None
    ) -> None:
        trained = training_model(model, recipe)
        super().__init__(model, recipe, workers, table_settings(trained, recipe))
        kernel = trained.kernel()
        assert kernel is not None  # noqa: S101
        self.epoch_batches = EpochBatches(
            training_graph(graph, recipe), recipe, grouped=trained.grouped, whole=False, dealt=self.entities.numbering
        )
        kind = np.dtype(recipe.precision)
        #: The tables of relations that a batch needs.
        self._needed = tuple(name for name in TABLES if name in trained.relation_tables())
        learned = model.relation_tables()["metric"][0] if "metric" in self.relations.steps else 0
        objective = Objective(
            *(LOSSES[recipe.loss], recipe.margin, recipe.temperature, recipe.negligible, kernel.root, 0.0)
        )
        sizes = recipe.drawn_negatives, kind, learned
        self.lanes = LaneGradients(find_score(kernel.score), objective, model.dim, *sizes)
        if device is not None:
            self.name = f"sharded, torch on {torch.device(device).type}"
            self.lanes = TorchLaneGradients(trained, objective, *sizes, device)
        #: Room for the vectors that a batch touches, which is used again: new pages take long.
        self._joint: Array = np.empty((0, model.dim), kind)
        self._distinct = {
            rows: Distinct(rows.numbering.block * recipe.lanes) for rows in (self.entities, self.relations)
        }

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch; all workers return the same report."""
        batches = self.epoch_batches
        batches.start_epoch(number)
        factor = self.recipe.learning_rate_factor(number)
        totals = np.zeros((len(self.workers.lanes), 2))  # loss and violations of each lane
        products: AbstractContextManager[None] = one_blas_thread() if batches.grouped else nullcontext()
        with products:
            for batch in batches.batches:
                self._train_batch(batch, factor, totals)
        self._decay(factor)
        loss, violations = 0.0, 0.0
        for of_lane in self.workers.gather(totals):  # in the order of the lanes, as all sums
            loss, violations = loss + float(of_lane[0]), violations + float(of_lane[1])
        return EpochReport(loss / len(batches), violations / (len(batches) * self.recipe.drawn_negatives))

    @property
    def is_finite(self) -> bool:
        """Whether all rows of this worker are numbers."""
        tables = [*self.entities.tables.values(), *self.relations.tables.values()]
        return all(bool(np.isfinite(table.sum())) for table in tables)

    def _train_batch(self, batch: Batch, factor: float, totals: npt.NDArray[np.float64]) -> None:
        """Take the steps of a batch, and add its losses and violations to `totals`."""
        self.steps += 1
        lanes = [self.epoch_batches.cut(batch)[number] for number in self.workers.lanes]
        examples = self.epoch_batches.lane_examples(self.workers.lanes, lanes)
        rows, places, tables = self.small(examples, self._needed)
        start = lanes[0].start
        here = [Batch(lane.start - start, lane.stop - start, lane.groups - start) for lane in lanes]
        found = self.lanes.of_lanes(places, tables, here)
        totals += [(lane.loss, lane.violations) for lane in found]
        self._push(rows, found, factor)

    def small(self, examples: Examples, needed: tuple[str, ...]) -> tuple[tuple[Array, Array], Examples, Tables]:
        """Pull the rows that some positives touch, of the `needed` tables of relations: vectors, and metrics if asked for.

        Returns which rows these are, the positives by their places among them, and the tables, whose vectors the next call overwrites.
        """
        triples = examples.triples
        of_entity, of_relation = self.entities.numbering.rows, self.relations.numbering.rows
        ends, negatives, related = of_entity[triples[:, ::2]], of_entity[examples.negatives], of_relation[triples[:, 1]]
        distinct = self._distinct[self.entities]
        entities = distinct.of(np.concatenate([ends.ravel(), negatives.ravel()]))
        place = distinct.number(entities)
        local = np.empty((len(triples), 3), np.int32)
        local[:, ::2] = place[ends]
        local_negatives = place[negatives]
        distinct = self._distinct[self.relations]
        relations = distinct.of(related)
        local[:, 1] = distinct.number(relations)[related]
        dim = self.model.dim
        vectors = self.entities.pull(entities, ("vector",))
        pulled = self.relations.pull(relations, needed)
        extra = np.ascontiguousarray(pulled[:, dim:]).reshape(len(pulled), pulled.shape[1] // dim - 1, dim)
        count = len(vectors) + len(pulled)
        if len(self._joint) < count:
            self._joint = np.empty((count, dim), vectors.dtype)
        joint = np.concatenate([vectors, pulled[:, :dim]], out=self._joint[:count])
        tables = Tables(joint, len(entities), extra, np.ones(len(pulled), vectors.dtype))
        places = Examples(local, 0, len(local), local_negatives, examples.at_head)
        return (entities, relations), places, tables

    def _push(self, rows: tuple[Array, Array], found: list[Moved], factor: float) -> None:
        """Send the sums of each lane to the workers that hold the rows, which take the step."""
        count = len(rows[0])
        each = self.lanes.sums.shape[1]
        places = np.concatenate([at * each + lane.entities for at, lane in enumerate(found)])
        entities = rows[0][np.concatenate([lane.entities for lane in found])]
        self.entities.push(entities, self.lanes.sums.reshape(-1, self.model.dim), places, self.steps, factor)
        relations = rows[1][np.concatenate([lane.relations for lane in found])]
        sums = self.lanes.of_relations(count, found)
        self.relations.push(relations, sums, np.arange(len(sums)), self.steps, factor)
        self.lanes.clear(count, found)

    def _decay(self, factor: float) -> None:
        """Take one step against C * |row|^2 on every vector after an epoch, if the recipe applies C to all rows."""
        recipe = self.recipe
        if recipe.penalty_rows == "all" and recipe.penalty:
            for rows, role in ((self.entities, "entity"), (self.relations, "relation")):
                learning_rate = self.settings[f"{role}.vector"].learning_rate
                torch.from_numpy(rows.tables["vector"]).mul_(1 - 2 * recipe.penalty * learning_rate * factor)
