"""Link prediction: where the true head and tail of a triple stand among all entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from transa.data.facts import Answers, KnownFacts
from transa.data.graph import Triples
from transa.kernels.codes import LOW_RANK
from transa.models import Model, Rows

Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")

#: Bytes of residuals that the torch path holds at a time.
BUDGET = 1 << 28


@dataclass(frozen=True, eq=False)
class LinkPrediction:
    """Counts behind the ranks of each triple, of shape (triples, 2): head and tail.

    Attributes
    ----------
    better, equal
        How many entities score better than the true one, and how many others the same.
    known_better, known_equal
        How many of these make a known fact.
    """

    better: npt.NDArray[np.int64]
    equal: npt.NDArray[np.int64]
    known_better: npt.NDArray[np.int64]
    known_equal: npt.NDArray[np.int64]

    def ranks(self, *, filtered: bool = True) -> npt.NDArray[np.float64]:
        """Return realistic ranks from 1: ties count half."""
        better, equal = self.better, self.equal
        if filtered:
            better, equal = better - self.known_better, equal - self.known_equal
        return 1 + better + equal / 2

    def summary(self, *, filtered: bool = True) -> dict[str, dict[str, float]]:
        """Return MR, MRR and Hits@1, 3, 10 for head, tail and both."""
        ranks = self.ranks(filtered=filtered)
        sides = {"head": ranks[:, 0], "tail": ranks[:, 1], "both": ranks.ravel()}
        return {
            side: {
                "mr": float(values.mean()),
                "mrr": float((1 / values).mean()),
                **{f"hits@{k}": float((values <= k).mean()) for k in (1, 3, 10)},
            }
            for side, values in sides.items()
        }


def link_prediction(model: Model, triples: Triples, known: KnownFacts) -> LinkPrediction:
    """Rank the head and the tail of each triple among all entities.

    Parameters
    ----------
    model
        What scores.
    triples
        Rows of (head, relation, tail).
    known
        The facts that a filtered rank leaves out.
    """
    counts = np.zeros((4, len(triples), 2), dtype=np.int64)
    for column, side in enumerate(SIDES):
        answers = known.heads if side == "head" else known.tails
        asked = known.head_queries(triples) if side == "head" else known.tail_queries(triples)
        starts, stops = _spans(answers, asked)
        kernel = model.kernel()
        on_cpu = model.entity.vector.device.type == "cpu"
        rank = _rank_with_kernel if kernel is not None and kernel.kind <= LOW_RANK and on_cpu else _rank_with_torch
        counts[:, :, column] = rank(model, triples, side, starts, stops, answers.answers)
    return LinkPrediction(*counts)


def _spans(answers: Answers, queries: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    rows = answers.rows(queries)
    return np.where(rows >= 0, answers.offsets[rows], 0), np.where(rows >= 0, answers.offsets[rows + 1], 0)


def _rank_with_kernel(
    model: Model,
    triples: Triples,
    side: Side,
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    known: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]:
    from transa.kernels.ranking import rank_queries

    kernel = model.kernel()
    assert kernel is not None  # noqa: S101
    entities = model.entity.vector.numpy()
    heads, relations, tails = triples.T
    moved = model.relation.vector.numpy()[relations] if "vector" in model.relation else entities.dtype.type(0)
    queries = entities[tails] - moved if side == "head" else entities[heads] + moved
    metric = model.relation.get("metric")
    table = np.zeros((1, 0, 0), entities.dtype) if metric is None else metric.numpy()
    targets = np.ascontiguousarray(heads if side == "head" else tails)
    counts = np.empty((4, len(triples)), dtype=np.int64)
    rank_queries(
        kernel.kind, queries, np.ascontiguousarray(relations), targets, entities, table, starts, stops, known, *counts
    )
    return counts


def _rank_with_torch(
    model: Model,
    triples: Triples,
    side: Side,
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    known: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]:
    """Score all entities for a few queries at a time; of a grouped model, for queries of one relation."""
    counts = np.empty((4, len(triples)), dtype=np.int64)
    device = model.entity.vector.device
    candidates = Rows({name: table.unsqueeze(0) for name, table in model.entity.items()})
    row_bytes = model.num_entities * model.dim * model.entity.vector.element_size()
    together = max(1, BUDGET // row_bytes)
    order = np.argsort(triples[:, 1], kind="stable")
    cuts = np.flatnonzero(np.diff(triples[order, 1])) + 1 if model.grouped else np.empty(0, dtype=np.int64)
    for group in np.split(order, cuts):
        for begin in range(0, len(group), together):
            rows = group[begin : begin + together]
            ids = torch.from_numpy(triples[rows].astype(np.int64)).to(device)
            fixed = model.gather("entity", ids[:, 2 if side == "head" else 0])
            fixed = Rows({name: table.unsqueeze(1) for name, table in fixed.items()})
            if model.grouped:
                relation = model.gather("relation", ids[0, 1])
            else:
                gathered = model.gather("relation", ids[:, 1])
                relation = Rows({name: table.unsqueeze(1) for name, table in gathered.items()})
            with torch.no_grad():
                pair = (candidates, fixed) if side == "head" else (fixed, candidates)
                scores = model.score(pair[0], relation, pair[1]).cpu().numpy()
            for row, values in zip(rows, scores, strict=True):
                target_id = triples[row, 0 if side == "head" else 2]
                target = values[target_id]
                others = known[starts[row] : stops[row]]
                others = values[others[others != target_id]]
                counts[:, row] = (
                    np.count_nonzero(values < target),
                    np.count_nonzero(values == target) - 1,
                    np.count_nonzero(others < target),
                    np.count_nonzero(others == target),
                )
    return counts
