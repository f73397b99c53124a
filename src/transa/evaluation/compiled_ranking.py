"""Ranking with the compiled kernels: what they need to know of a model, and queries in calls that each take a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.kernels.codes import DIAGONAL, FULL, L2, PSD, PSD_LOW_RANK, SIGNED_LOW_RANK, SQUARED_L2
from transa.kernels.rank_types import Factors, Full, Known, Metric, Norm, Quadratic, Questions, Vectors, Weighted
from transa.kernels.ranking import best_answers, count_better
from transa.kernels.reducers import Counting, Keeping
from transa.kernels.scores import find_score
from transa.kernels.spectra import fill_spectra, without_spectra
from transa.kernels.threads import dealt, one_blas_thread
from transa.models import Model

#: Entities that the kernels take at a time.
CHUNK = 2048
#: Queries that are one task of a thread, at most, and the least number of tasks a thread should get.
TASK, TASKS = 256, 8
#: The same where entities are projected for one relation at a time.
HYPERPLANE_TASK = 16
#: Queries in one call of the kernels: progress is told after each.
SLICE = 8192


class CompiledRanker:
    """Ranks by a model that has a kernel; see `transa.evaluation.ranking.Ranker`."""

    def __init__(self, model: Model, chunk: int | None) -> None:
        kernel = model.kernel()
        assert kernel is not None  # noqa: S101
        kind = find_score(kernel.score).ranking
        assert kind is not None  # noqa: S101
        self.root = kernel.root or kind == L2
        self.weights = model.relation.get("weight")
        normals = model.relation.get("normal")
        self.normals = None if normals is None else normals.double().numpy()
        self.chunk = min(chunk or CHUNK, max(model.num_entities, 1))
        self.vectors = _vectors(model, double=normals is not None)
        self.metric = _metric(kind, model)
        self.by_relation = normals is not None or len(getattr(self.metric, "table", ())) > 1
        self.analysed = np.zeros(model.num_relations, bool)

    def count(self, queries: Queries, barred: npt.NDArray[np.int64], callback: Callback | None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same."""
        counts = np.zeros((6, len(queries.targets)), np.int64)
        known = Known(queries.starts, queries.stops, queries.known, barred)
        rescored = 0
        with one_blas_thread():
            for vectors, questions in self._calls(queries, queries.target_offsets):
                results = Counting(queries.targets, counts, np.zeros(len(questions.tasks) - 1, np.int64))
                count_better(self.metric, vectors, questions, known, self.chunk, results)
                rescored += int(results.rescored.sum())
                if callback is not None:
                    first, last = questions.tasks[0], questions.tasks[-1]
                    callback(int(queries.target_offsets[last] - queries.target_offsets[first]))
        return RankCounts(counts, rescored)

    def best(self, queries: Queries, barred: npt.NDArray[np.int64], number: int, leave_out_known: bool) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores."""
        results = Keeping(np.full((len(queries), number), -1, np.int64), np.full((len(queries), number), np.inf))
        known = Known(queries.starts, queries.stops if leave_out_known else queries.starts, queries.known, barred)
        with one_blas_thread():
            for vectors, questions in self._calls(queries, np.arange(len(queries) + 1)) if number else ():
                best_answers(self.metric, vectors, questions, known, self.chunk, results)
        scores = results.scores
        if self.root:
            scores = np.sqrt(np.maximum(scores, 0.0))
        if isinstance(self.metric, Weighted):
            scores = scores - self.metric.bias[queries.fixed].astype(np.float64)[:, None]
        if self.weights is not None:
            scores *= self.weights.double().numpy()[queries.relations][:, None]
        return results.answers, scores

    def _calls(self, queries: Queries, offsets: npt.NDArray[np.int64]) -> Iterator[tuple[Vectors, Questions]]:
        """Yield what the kernels are called with, for one part of the queries after another."""
        sign = 1.0 if queries.side == "tail" else -1.0
        threads = numba.get_num_threads()
        self._analyse(queries.relations)
        for tasks in self._tasks(queries):
            order = dealt(np.diff(tasks))
            shares = np.arange(threads + 1) * len(order) // threads
            vectors = self._vectors_for(queries.relations[tasks[0]])
            yield vectors, Questions(sign, queries.fixed, queries.relations, offsets, tasks, order, shares)

    def _tasks(self, queries: Queries) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the borders of the tasks of one call after another."""
        size = max(1, min(TASK, len(queries) // (TASKS * numba.get_num_threads())))
        if self.normals is not None:  # a call for each relation, whose few queries all threads share
            size = min(size, HYPERPLANE_TASK)
        tasks = queries.parts(size, by_relation=self.by_relation)
        begin = 0
        while begin < len(tasks) - 1:
            last = tasks[begin] + SLICE
            if self.normals is not None:
                last = min(last, np.searchsorted(queries.relations, queries.relations[tasks[begin]], side="right"))
            end = max(begin + 1, int(np.searchsorted(tasks, last, side="right")) - 1)
            yield tasks[begin : end + 1]
            begin = end

    def _analyse(self, relations: npt.NDArray[np.int64]) -> None:
        """Bring the eigenpairs of full metrics, for relations that have not been asked about before."""
        if isinstance(self.metric, Full):
            asked = np.unique(relations)
            fill_spectra(self.metric, asked[~self.analysed[asked]])
            self.analysed[asked] = True

    def _vectors_for(self, relation: int) -> Vectors:
        """Return the vectors, projected to the relation's hyperplane where it has one."""
        if self.normals is None:
            return self.vectors
        entities, normal = self.vectors.entities, self.normals[relation]
        projected = entities - (entities * normal).sum(1, keepdims=True) * normal
        return self.vectors._replace(entities=projected, reach=_reach(projected))


def _vectors(model: Model, *, double: bool) -> Vectors:
    """Return a model's vectors, in double precision or their own, with limits of the rounding errors."""
    table = model.entity.vector.double() if double else model.entity.vector
    entities = np.ascontiguousarray(table.numpy())
    vectors = model.relation.get("vector")
    shifts = np.zeros((model.num_relations, model.dim)) if vectors is None else vectors.numpy()
    own, exact = float(np.finfo(entities.dtype).eps) / 2, float(np.finfo(np.float64).eps) / 2
    return Vectors(
        entities,
        shifts.astype(entities.dtype, copy=False),
        _reach(entities),
        residual_error=8 * own,
        sum_error=(2 * model.dim + model.rank + 32) * own,
        exact_error=(4 * model.dim + model.rank + 64) * exact,
    )


def _metric(kind: int, model: Model) -> Metric:
    """Return how the kernels score a residual."""
    if kind == SQUARED_L2 and "normal" not in model.relation:
        return _weighted(np.ones((1, 1, model.dim), model.entity.vector.numpy().dtype), model)
    if kind < DIAGONAL:
        return Norm(kind)
    table = np.ascontiguousarray(model.relation.metric.numpy())
    if kind in (DIAGONAL, SIGNED_LOW_RANK):
        return _weighted(table, model)
    if kind == PSD_LOW_RANK:  # d stands for its squares, which keep their precision
        return _weighted(np.concatenate([np.square(table[:, :1], dtype=np.float64), table[:, 1:]], axis=1), model)
    if kind == FULL:
        return without_spectra(table)
    return Quadratic(table) if kind == PSD else Factors(table)


def _weighted(rows: npt.NDArray[Any], model: Model) -> Weighted:
    """Return weighted squares with the biases of entities, or biases of 0; the rows of a relation are w and its u_m."""
    entities = model.entity.vector.numpy()
    bias = model.entity.bias.numpy() if model.biases else np.zeros(len(entities), entities.dtype)
    weights, factors = (np.ascontiguousarray(part) for part in (rows[:, 0], rows[:, 1:]))
    return Weighted(weights, factors, np.ascontiguousarray(bias), float(np.abs(bias).max(initial=0)))


def _reach(entities: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the largest absolute value in each column."""
    return np.asarray(np.abs(entities).max(axis=0, initial=0), np.float64)
