"""Ranking in two stages: one model ranks all entities, and another puts the best of them in another order.

The best by the first stage stay before all others, and the others keep its order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.models import Model

if TYPE_CHECKING:
    from transa.evaluation.compiled_ranking import CompiledRanker
    from transa.evaluation.torch_ranking import TorchRanker

    Stage: TypeAlias = "CompiledRanker | TorchRanker | ReorderingRanker"

#: Questions that are put to the second stage at a time.
PART = 1024


class ReorderingRanker:
    """Ranks by a model that has a `first_stage`; see `transa.evaluation.ranking.Ranker`."""

    def __init__(self, model: Model, first: Stage) -> None:
        self.model = model
        self.first = first

    def count(self, queries: Queries, barred: npt.NDArray[np.int64], callback: Callback | None) -> RankCounts:
        """Count for each target of each query the entities that are better or the same."""
        found = self.first.count(queries, barred, callback)
        if not self.model.reranked:
            return found
        for part, (begin, end) in self._parts(queries):
            first, last = queries.target_offsets[begin], queries.target_offsets[end]
            answers, scores = self._best(part, np.full(len(part), -1, np.int64), leave_out_known=False)
            counts, listed = count_listed(part, answers, scores, barred[begin:end])
            rows = np.arange(first, last)[listed]
            found.counts[:, rows] = counts[:, listed]
        return found

    def best(self, queries: Queries, barred: npt.NDArray[np.int64], number: int, leave_out_known: bool) -> BestAnswers:
        """Return the `number` best entities for each query, and their scores."""
        if not self.model.reranked:
            return self.first.best(queries, barred, number, leave_out_known)
        answers = np.full((len(queries), number), -1, np.int64)
        scores = np.full((len(queries), number), np.inf)
        for part, (begin, end) in self._parts(queries):
            found = self._best(part, barred[begin:end], leave_out_known=leave_out_known, number=number)
            answers[begin:end], scores[begin:end] = (each[:, :number] for each in found)
        return answers, scores

    def _parts(self, queries: Queries) -> Iterator[tuple[Queries, tuple[int, int]]]:
        """Yield some of the queries after others, and where they begin and end."""
        for begin in range(0, len(queries), PART):
            end = min(begin + PART, len(queries))
            first, last = queries.target_offsets[begin], queries.target_offsets[end]
            part = replace(
                queries,
                fixed=queries.fixed[begin:end],
                relations=queries.relations[begin:end],
                target_offsets=queries.target_offsets[begin : end + 1] - first,
                targets=queries.targets[first:last],
                origins=queries.origins[first:last],
                starts=queries.starts[begin:end],
                stops=queries.stops[begin:end],
            )
            yield part, (begin, end)

    def _best(
        self, queries: Queries, barred: npt.NDArray[np.int64], *, leave_out_known: bool, number: int = 0
    ) -> BestAnswers:
        """Return the best entities of the first stage, as many as are reranked or wanted, in the order of the second."""
        size = min(self.model.reranked, self.model.num_entities)
        answers, scores = self.first.best(queries, barred, max(size, number), leave_out_known)
        scores[:, :size] = self.model.reorder(
            queries.side, queries.fixed, queries.relations, answers[:, :size], scores[:, :size]
        )
        order = np.lexsort((answers[:, :size], scores[:, :size]))
        for each in (answers, scores):
            each[:, :size] = np.take_along_axis(each[:, :size], order, axis=1)
        return answers, scores


def count_listed(
    queries: Queries, answers: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], barred: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Count what stands before each target among some listed answers to its question, as `RankCounts.counts` has it.

    Returns the counts, and which targets are in their lists; for the others the counts mean nothing.
    """
    owner, targets = queries.query_of_target, queries.targets
    mine, values = answers[owner], scores[owner]
    here = (mine == targets[:, None]) & (mine >= 0)
    listed = here.any(axis=1)
    level = np.where(here, values, 0.0).sum(axis=1, where=here)[:, None]
    other = (mine >= 0) & ~here
    kinds = other, other & _known(queries, answers)[owner], other & (mine == barred[owner][:, None])
    counts = [(kind & compared).sum(axis=1) for kind in kinds for compared in (values < level, values == level)]
    return np.stack(counts), listed


def _known(queries: Queries, answers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which answers are known."""
    sizes = queries.stops - queries.starts
    row = np.repeat(np.arange(len(queries)), sizes)
    places = np.arange(len(row)) + np.repeat(queries.starts - (np.cumsum(sizes) - sizes), sizes)
    width = int(answers.max(initial=0)) + 1
    known = queries.known[places].astype(np.int64)
    keys = (row * width + known)[known < width]
    wanted = np.arange(len(answers))[:, None] * width + answers
    found: npt.NDArray[np.bool_] = (answers >= 0) & np.isin(wanted, keys)
    return found
