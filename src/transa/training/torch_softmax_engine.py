"""The softmax over entities by autograd, for any model on any device. Tests hold the compiled engine to its results."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.models import Model, Rows
from transa.training.engine import EpochReport
from transa.training.query_batches import QueryBatch, QueryBatches, part_of, places_among
from transa.training.recipe import Recipe
from transa.training.settings import decay_all
from transa.training.torch_engine import FAR, TorchEngine

#: Numbers that a tile holds, at most.
BUDGET = 1 << 25


class TorchSoftmaxEngine(TorchEngine):
    """Trains by cross-entropy over entities; see `transa.training.softmax_engine` for the objective.

    Parameters
    ----------
    model, graph, recipe, device
        As of `TorchEngine`.
    """

    name = "torch, softmax"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe, device: str = "cpu") -> None:
        if recipe.dropout and not model.linear:
            raise InputError(f"dropout: {model.name} has no h + r of which entries could be left out")
        super().__init__(model, graph, recipe, device)
        self.queries = QueryBatches(graph, recipe, heads=not model.directional)

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        factor = self.recipe.learning_rate_factor(number)
        loss = sum(self._train_queries(batch, number, factor) for batch in self.queries.epoch(number))
        decay_all(self.model, self.recipe, self.settings, factor)
        return EpochReport(loss / len(self.queries.targets), None)

    def _train_queries(self, batch: QueryBatch, number: int, factor: float) -> float:
        """Take the steps of a batch and return its loss."""
        rows = self.queries.candidates(batch, number)
        entities = self._tensor(np.arange(self.model.num_entities) if rows is None else rows)
        relations, owner = np.unique(batch.relations, return_inverse=True)
        touched = {"entity": entities, "relation": self._tensor(relations), "shared": None}
        leaves = {role: self._leaves(role, ids) for role, ids in touched.items()}
        places = batch.fixed, batch.targets
        fixed, targets = (self._tensor(at if rows is None else np.searchsorted(rows, at)) for at in places)
        kind = leaves["entity"].vector.detach().cpu().numpy().dtype
        masks = self.queries.kept(batch, number, self.model.dim, kind)
        kept, kept_moved = (None if mask is None else torch.from_numpy(mask).to(self.device) for mask in masks)
        size = max(1, BUDGET // (len(entities) * (1 if self.model.linear else self.model.dim)))
        owners, counts, total = self._tensor(owner), self._tensor(np.diff(batch.offsets)), 0.0
        for part in _parts(batch, size, by_relation=self.model.grouped):
            given = Rows({name: table[fixed[part]] for name, table in leaves["entity"].items()})
            if kept is not None:
                given["vector"] = kept[part] * given.vector
            logits = self._logits(batch, part, leaves, given, owners, kept_moved)
            if self.recipe.hide_answers:
                logits = logits.masked_fill(self._hidden(batch, part, rows, len(entities)), -FAR)
            answers = targets[batch.offsets[part.start] : batch.offsets[part.stop]]
            loss = self._loss(logits, torch.repeat_interleave(counts[part]), answers)
            if self.recipe.cubic_penalty:
                loss = loss + self._penalty(leaves, fixed[part], answers, owners[part], counts[part])
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        self._steps += 1
        for role, ids in touched.items():
            self._step(role, slice(None) if ids is None else ids, slice(None), leaves[role], factor)
        return total

    def _logits(
        self, batch: QueryBatch, part: slice, leaves: dict[str, Rows], given: Rows, owner: Tensor, kept: Tensor | None
    ) -> Tensor:
        """Return the scores of all candidates for some questions, higher for better answers."""
        model, every = self.model, leaves["entity"]
        one = owner[part.start] if model.grouped else owner[part]
        relation = Rows({name: table[one] for name, table in leaves["relation"].items()})
        at_head = torch.from_numpy(batch.at_head[part]).to(self.device)
        if model.linear:
            return model.linear_scores(given, relation, every, at_head, None if kept is None else kept[part])
        if not model.grouped:
            relation = Rows({name: table.unsqueeze(1) for name, table in relation.items()})
        given = Rows({name: table.unsqueeze(1) for name, table in given.items()})
        candidates = Rows({name: table.unsqueeze(0) for name, table in every.items()})
        saved, model.shared = model.shared, leaves["shared"]
        try:
            sides = [model.score(candidates, relation, given), model.score(given, relation, candidates)]
        finally:
            model.shared = saved
        return -torch.where(at_head[:, None], sides[0], sides[1])

    def _hidden(self, batch: QueryBatch, part: slice, rows: npt.NDArray[np.int64] | None, width: int) -> Tensor:
        """Tell which candidates of some questions do not count."""
        offsets, places = part_of(places_among(rows, batch.hidden_offsets, batch.hidden), part)
        found = np.zeros((len(offsets) - 1, width), bool)
        found[np.repeat(np.arange(len(found)), np.diff(offsets)), places] = True
        return torch.from_numpy(found).to(self.device)

    def _loss(self, logits: Tensor, rows: Tensor, answers: Tensor) -> Tensor:
        """Return the cross-entropy of all right answers; `rows` tells the question of each."""
        logs = torch.log_softmax(self.recipe.temperature * logits, 1)
        smoothing = self.recipe.label_smoothing
        return -((1 - smoothing) * logs[rows, answers] + smoothing * logs.mean(1)[rows]).sum()

    def _penalty(
        self, leaves: dict[str, Rows], fixed: Tensor, answers: Tensor, owner: Tensor, counts: Tensor
    ) -> Tensor:
        """Return the cubic penalty on the vectors of each positive."""
        entity, relation = (leaves[role].vector.abs().pow(3).sum(1) for role in ("entity", "relation"))
        total = (counts * (entity[fixed] + relation[owner])).sum() + entity[answers].sum()
        return self.recipe.cubic_penalty * total


def _parts(batch: QueryBatch, size: int, *, by_relation: bool) -> list[slice]:
    """Divide a batch into parts of at most `size` questions, if asked each of one relation."""
    borders = set(range(0, len(batch), size)) | {len(batch)}
    if by_relation:
        borders |= set((np.flatnonzero(np.diff(batch.relations)) + 1).tolist())
    return [slice(start, stop) for start, stop in pairwise(sorted(borders))]
