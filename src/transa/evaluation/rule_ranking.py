"""Ranking by what rules say, alone or beside a model's own score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch

from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.evaluation.type_ranking import TypeRanker
from transa.kernels.rule_answers import Answers, count_answers
from transa.models import Model

#: Questions that rules answer at a time.
PART = 256


class RuleRanker(TypeRanker):
    """Ranks by rules; see `transa.evaluation.ranking.Ranker`.

    Without a model's own score, a question costs what its rules touch: all other entities share the last place.
    """

    def __init__(self, model: Model, chunk: int | None) -> None:
        super().__init__(model, chunk)
        assert model.evidence is not None  # noqa: S101
        self.evidence = model.evidence

    def count(self, queries: Queries, barred: npt.NDArray[np.int64], callback: Callback | None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same."""
        if self.model.has_vectors:
            return super().count(queries, barred, callback)
        counts, touched = np.zeros((6, len(queries.targets)), np.int64), 0
        for begin, end, found in self._answers(queries):
            offsets = queries.target_offsets[begin : end + 1]
            rows = slice(int(offsets[0]), int(offsets[-1]))
            known = queries.starts[begin:end], queries.stops[begin:end], queries.known
            targets = offsets - offsets[0], queries.targets[rows]
            counts[:, rows] = count_answers(found, targets, known, barred[begin:end], self.model.num_entities)
            touched += len(found.entities)
            if callback is not None:
                callback(rows.stop - rows.start)
        return RankCounts(counts, touched)

    def best(self, queries: Queries, barred: npt.NDArray[np.int64], number: int, leave_out_known: bool) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores."""
        if self.model.has_vectors:
            return super().best(queries, barred, number, leave_out_known)
        answers = np.full((len(queries), number), -1, np.int64)
        scores = np.full((len(queries), number), np.inf)
        for begin, end, found in self._answers(queries):
            for query in range(begin, end):
                part = slice(found.first[query - begin], found.first[query - begin + 1])
                out = barred[query : query + 1][barred[query : query + 1] >= 0]
                if leave_out_known:
                    out = np.append(queries.known[queries.starts[query] : queries.stops[query]], out)
                ids, values = best_of(found.entities[part], found.evidence[part], number, out, self.model.num_entities)
                answers[query, : len(ids)], scores[query, : len(ids)] = ids, values
        return answers, scores

    def _answers(self, queries: Queries) -> Iterator[tuple[int, int, Answers]]:
        """Yield parts of the queries, each from one query up to another, with what rules answer."""
        for begin in range(0, len(queries), PART):
            end = min(begin + PART, len(queries))
            yield begin, end, self.evidence.answers(queries.fixed[begin:end], self._steps(queries, begin, end))

    def _scores_of(self, queries: Queries, begin: int, end: int) -> torch.Tensor:
        """Return the scores of some queries by the model and by rules, of shape (queries, entities), in double precision."""
        own = self._own_scores(queries, begin, end)
        steps = self._steps(queries, begin, end)
        found = self.evidence.answers(queries.fixed[begin:end], steps)
        scale, weight = self.evidence.weights_of(steps).T
        own *= torch.from_numpy(scale)[:, None]
        row = np.repeat(np.arange(end - begin), np.diff(found.first))
        said = weight[row] * found.evidence
        own[torch.from_numpy(row), torch.from_numpy(found.entities.astype(np.int64))] -= torch.from_numpy(said)
        return own


def best_of(
    entities: npt.NDArray[np.int32],
    evidence: npt.NDArray[np.float64],
    number: int,
    left_out: npt.NDArray[np.int64],
    num_entities: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the `number` entities of most evidence and their scores; those without evidence come last, the lowest ids first."""
    kept = ~np.isin(entities, left_out)
    order = np.argsort(-evidence[kept], kind="stable")[:number]  # entities are sorted, so that the lowest id wins
    ids, scores = entities[kept][order].astype(np.int64), -evidence[kept][order]
    if len(ids) < number:
        taken = np.union1d(entities, left_out)
        others = np.arange(min(num_entities, number + len(taken)))
        others = others[~np.isin(others, taken)][: number - len(ids)]
        ids, scores = np.append(ids, others), np.append(scores, np.zeros(len(others)))
    return ids, scores
