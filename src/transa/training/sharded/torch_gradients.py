"""The gradients of some lanes by torch, on any device: those of the compiled kernels up to rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.kernels.arguments import Array, Examples, Objective, Tables
from transa.models import Model, Rows
from transa.training.epoch_batches import Batch
from transa.training.losses import loss_of, without_negligible
from transa.training.sharded.gradients import LaneGradients, Moved


class TorchLaneGradients(LaneGradients):
    """Computes gradients by autograd on a device; rows come from the memory of this process, and sums go back to it.

    Parameters
    ----------
    model
        Whose score is differentiated; it scores row by row.
    objective, negatives, kind, extra
        See `LaneGradients`.
    device
        Such as ``"cuda"``. Sums on a GPU are not added in the same order each time.
    """

    def __init__(
        self, model: Model, objective: Objective, negatives: int, kind: npt.DTypeLike, extra: int, device: str
    ) -> None:
        super().__init__(None, objective, model.dim, negatives, kind, extra)
        self.model = model
        self.device = device

    def of_lanes(self, examples: Examples, tables: Tables, lanes: list[Batch]) -> list[Moved]:
        """Return the sums of the gradients of some lanes, whose rows and groups are those of `examples`."""
        self.make_room(len(lanes), tables)
        vectors = torch.from_numpy(tables.vectors).to(self.device)
        extra = torch.from_numpy(tables.extra).to(self.device)
        return [self._of_lane(at, lane, examples, tables, vectors, extra) for at, lane in enumerate(lanes)]

    def _of_lane(
        self, at: int, lane: Batch, examples: Examples, tables: Tables, vectors: Tensor, extra: Tensor
    ) -> Moved:
        some, first = slice(lane.start, lane.stop), tables.num_entities
        triples, entities, at_head = examples.triples[some], examples.negatives[some], examples.at_head[some]
        if not len(triples):
            return self._moved(at, first, np.empty(0), np.empty(0, np.int64))
        ends = [
            np.concatenate([triples[:, [place]], np.where(side, entities, triples[:, [place]])], axis=1)
            for place, side in ((0, at_head), (2, ~at_head))
        ]
        heads, tails = (self._ids(each) for each in ends)
        relations = self._ids(triples[:, 1])
        vectors, extra = vectors.detach().requires_grad_(), extra.detach().requires_grad_(self.extra > 0)
        given = {"vector": vectors[first + relations].unsqueeze(1), "metric": extra[relations].unsqueeze(1)}
        relation = Rows({name: given[name] for name in self.model.relation_tables()})
        scores = self.model.score(Rows(vector=vectors[heads]), relation, Rows(vector=vectors[tails]))
        if self.objective.negligible:
            scores.register_hook(partial(without_negligible, share=self.objective.negligible))  # type: ignore[no-untyped-call]
        scores.retain_grad()
        goal = self.objective
        losses, violating = loss_of(goal.loss, goal.margin, goal.temperature, scores[:, 0], scores[:, 1:])
        losses.sum().backward()  # type: ignore[no-untyped-call]
        assert scores.grad is not None and vectors.grad is not None  # noqa: S101
        active = torch.ne(scores.grad, 0)
        active[:, 0] = active.any(1)
        for rows in (heads[active], tails[active], first + relations[active[:, 0]]):
            self.moved[at, rows.cpu().numpy()] = True
        self.sums[at, : len(vectors)] = vectors.grad.cpu().numpy()
        if extra.grad is not None:
            self.extra_sums[at, : len(extra)] = extra.grad.cpu().numpy()
        found = losses.detach().double().cpu().numpy(), violating.sum(1).cpu().numpy()
        return self._moved(at, first, *found)

    def _ids(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).long().to(self.device)
