"""Ranking with torch, for any model and device: the scores of all entities for a few queries at a time, and what they tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.errors import InputError
from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.models import Model, Rows

#: Queries that are scored at a time, at most.
QUERIES = 256
#: Numbers that are held at a time.
BUDGET = 1 << 25


class TorchRanker:
    """Ranks by the scores of any model; see `transa.evaluation.ranking.Ranker`."""

    def __init__(self, model: Model, chunk: int | None) -> None:
        self.model = model
        self.chunk = chunk or max(1, BUDGET // (model.dim * 8))
        self.device = model.device

    def count(self, queries: Queries, barred: npt.NDArray[np.int64], callback: Callback | None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same."""
        counts = np.zeros((6, len(queries.targets)), np.int64)
        owner = queries.query_of_target
        for begin, end, scores in self._scores(queries):
            first, last = int(queries.target_offsets[begin]), int(queries.target_offsets[end])
            for start in range(first, last, len(scores)):
                rows = slice(start, min(start + len(scores), last))
                targets = queries.targets[rows]
                own = scores[torch.from_numpy(owner[rows] - begin).to(self.device)]
                levels = own.gather(1, torch.from_numpy(targets).to(self.device)[:, None])
                counts[0, rows] = (own < levels).sum(1).cpu().numpy()
                counts[1, rows] = (own == levels).sum(1).cpu().numpy() - 1
                counts[2:4, rows] = _count_known(queries, owner[rows], targets, own, levels[:, 0])
                counts[4:, rows] = _compare_barred(barred[owner[rows]], targets, own, levels)
            if callback is not None:
                callback(last - first)
        return RankCounts(counts, len(queries) * self.model.num_entities)

    def best(self, queries: Queries, barred: npt.NDArray[np.int64], number: int, leave_out_known: bool) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores."""
        answers = np.full((len(queries), number), -1, np.int64)
        best = np.full((len(queries), number), np.inf)
        found = min(number, self.model.num_entities)
        for begin, end, scores in self._scores(queries):
            if leave_out_known:
                for q in range(begin, end):
                    known = torch.from_numpy(queries.known[queries.starts[q] : queries.stops[q]]).long()
                    scores[q - begin, known] = torch.inf
            rows = np.flatnonzero(barred[begin:end] >= 0)
            scores[torch.from_numpy(rows), torch.from_numpy(barred[begin + rows])] = torch.inf
            values, ids = torch.sort(scores, dim=1, stable=True)
            best[begin:end, :found] = values[:, :found].double().cpu().numpy()
            answers[begin:end, :found] = ids[:, :found].cpu().numpy()
        return np.where(np.isinf(best), -1, answers), best

    def _scores(self, queries: Queries) -> Iterator[tuple[int, int, Tensor]]:
        """Yield parts of the queries, each from one query up to another, with the scores of all entities."""
        size = max(1, min(QUERIES, BUDGET // max(self.model.num_entities, 1)))
        borders = queries.parts(size, by_relation=self.model.grouped).tolist()
        for begin, end in itertools.pairwise(borders):
            yield begin, end, self._scores_of(queries, begin, end)

    def _scores_of(self, queries: Queries, begin: int, end: int) -> Tensor:
        """Return the scores of some queries, of shape (queries, entities); of a grouped model, all of one relation."""
        model = self.model
        given = model.gather("entity", torch.from_numpy(queries.fixed[begin:end]).to(self.device))
        fixed = Rows({name: table.unsqueeze(1) for name, table in given.items()})
        if model.grouped:
            relation = model.gather("relation", torch.tensor(queries.relations[begin], device=self.device))
        else:
            gathered = model.gather("relation", torch.from_numpy(queries.relations[begin:end]).to(self.device))
            relation = Rows({name: table.unsqueeze(1) for name, table in gathered.items()})
        scores = torch.empty(end - begin, model.num_entities, dtype=model.entity.vector.dtype, device=self.device)
        step = max(1, self.chunk // max(end - begin, 1))
        with torch.no_grad():
            for start in range(0, model.num_entities, step):
                some = Rows({name: table[start : start + step].unsqueeze(0) for name, table in model.entity.items()})
                pair = (some, fixed) if queries.side == "head" else (fixed, some)
                scores[:, start : start + step] = model.score(pair[0], relation, pair[1])
        if scores.numel() and not math.isfinite(float(scores.min()) - float(scores.max())):
            relation_id = int(queries.relations[begin])
            raise InputError(f"the model has scores for the relation {relation_id} (id) that are NaN or infinite")
        return scores


def _compare_barred(
    barred: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], scores: Tensor, levels: Tensor
) -> npt.NDArray[np.bool_]:
    """Tell of each target whether another entity that is barred scores better, and whether it scores the same."""
    values = scores.gather(1, torch.from_numpy(np.maximum(barred, 0)).to(scores.device)[:, None])
    other = (barred >= 0) & (barred != targets)
    return np.stack([(compared[:, 0].cpu().numpy()) & other for compared in (values < levels, values == levels)])


def _count_known(
    queries: Queries,
    owner: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    scores: Tensor,
    levels: Tensor,
) -> npt.NDArray[np.int64]:
    """Count the known answers that score better than each target, and those that score the same.

    Of each target there is the query it belongs to (`owner`), that query's scores of all entities, and its own score (`levels`).
    """
    sizes = queries.stops[owner] - queries.starts[owner]
    row = np.repeat(np.arange(len(owner)), sizes)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    answers = queries.known[np.repeat(queries.starts[owner], sizes) + inside].astype(np.int64)
    other = answers != targets[row]
    rows = torch.from_numpy(row[other]).to(scores.device)
    values, limits = scores[rows, torch.from_numpy(answers[other]).to(scores.device)], levels[rows]
    return np.stack(
        [
            torch.bincount(rows[chosen], minlength=len(owner)).cpu().numpy()
            for chosen in (values < limits, values == limits)
        ]
    )
