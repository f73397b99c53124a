"""Ranking all entities for each query, exactly, for models whose score is a function of query - entity.

Of a residual h + r - t, the query is h + r where tails are ranked and t - r where heads are. Which of two entities scores better is
decided by their scores in double precision. Hardly any of these are ever computed: single precision gives each score, or bounds of it,
together with a limit of its rounding error (`slack`), and only entities that stay open against a level are looked at again.

Per entity and query this costs, with k dimensions,

- 3 k operations for L1 and L2;
- 2 k for weighted squares (diagonal and signed metrics, squared L2, with or without biases), which are a matrix product,
  ``sum w e^2 = w.q^2 - 2 (w q).x + w.x^2``, and 3 k for the w.x^2 of each relation and entity, 2 k more for each vector of a low-rank
  metric without absolute values;
- 4 k for a low-rank metric on absolute values, and 3 k more for each of its vectors;
- 6 k for the full metric, from its leading eigenpair: with a = |e|, eigenvalues l_i and eigenvectors u_i,
  ``a^T W a = l_1 (u_1.a)^2 + rest``, and the rest lies between the smallest and the largest of the other eigenvalues times
  ``|a|^2 - (u_1.a)^2``. What stays open (a few percent) is bounded again with `transa.kernels.spectra.AXES` eigenvectors, and then (a
  few in a thousand) computed, each time as matrix products;
- 2 k for a quadratic form (Adaptive Metric), since ``e^T W e = q^T W q - 2 q.(W x) + x^T W x`` is a matrix product too, and
  2 k^2 for the W x of each relation and entity.

One scan does this for whatever is made of the scores (`transa.kernels.reducers`). Entities pass in chunks that stay in the cache,
against a block of queries at a time; no array of queries times entities is ever made.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.bounds import bound, bound_by_axes, bound_by_metric, products_of, room_for_upper, slack_of
from transa.kernels.by_class import by_class
from transa.kernels.cache import kernel
from transa.kernels.exact import extent_of, fill_queries, room_for_matrix, weigh
from transa.kernels.rank_types import (
    Factors,
    Full,
    Known,
    Metric,
    Norm,
    Quadratic,
    Questions,
    Space,
    Tile,
    Vectors,
    Weighted,
)
from transa.kernels.reducers import Counting, Keeping, enter, keep_open, list_open, narrow, settle
from transa.kernels.scores import FAST

#: Queries whose scores are held together.
BLOCK = 16


def count_better(
    metric: Metric, vectors: Vectors, questions: Questions, known: Known, chunk: int, results: Counting
) -> None:
    """Count for each target of each query the entities that score better or the same, `chunk` entities at a time."""
    _count_better(metric, vectors, questions, known, chunk, results.targets, results.counts, results.rescored)


def best_answers(
    metric: Metric, vectors: Vectors, questions: Questions, known: Known, chunk: int, results: Keeping
) -> None:
    """Find for each query the entities of the lowest scores that are neither known answers nor barred, `chunk` entities at a time."""
    _best_answers(metric, vectors, questions, known, chunk, results.answers, results.scores)


# Results are arguments of their own: what a parallel loop writes to the arrays of a tuple is lost.


@kernel(parallel=True, fastmath=FAST, nogil=True)
def _count_better(metric, vectors, questions, known, chunk, targets, counts, rescored):
    for thread in prange(len(questions.shares) - 1):
        _scan(metric, vectors, questions, known, chunk, np.int64(thread), Counting(targets, counts, rescored))


@kernel(parallel=True, fastmath=FAST, nogil=True)
def _best_answers(metric, vectors, questions, known, chunk, answers, scores):
    for thread in prange(len(questions.shares) - 1):
        _scan(metric, vectors, questions, known, chunk, np.int64(thread), Keeping(answers, scores))


@njit(fastmath=FAST, forceinline=True)
def _scan(metric, vectors, questions, known, chunk, thread, reducer):
    """Pass all entities by the queries of the tasks of one thread."""
    tasks, order, total = questions.tasks, questions.order, len(vectors.entities)
    space = _space_for(metric, vectors, questions, chunk)
    for turn in range(questions.shares[thread], questions.shares[thread + 1]):
        task = order[turn]
        first, last = tasks[task], tasks[task + 1]
        relation = questions.relations[first]
        heaviest = weigh(metric, relation, space.precise)
        for begin in range(0, total, chunk):
            width = min(chunk, total - begin)
            products = products_of(metric, vectors, relation, begin, width)
            for start in range(first, last, BLOCK):
                tile = Tile(task, relation, start, min(start + BLOCK, last), begin, width)
                fill_queries(vectors, questions, tile, space)
                if begin == 0:
                    _limit_errors(metric, vectors, tile, space, heaviest)
                bound(metric, vectors, products, tile, space)
                enter(metric, vectors, questions, known, tile, space, reducer)
                narrow(tile, space, reducer)
                refined = _refine(metric, vectors, questions, tile, space, reducer)
                settle(metric, vectors, questions, known, tile, space, refined, reducer)


@njit(forceinline=True)
def _space_for(metric, vectors, questions, chunk):
    """Return the arrays that a thread works in."""
    size, dtype = vectors.entities.shape[1], vectors.entities.dtype
    queries = len(questions.fixed)
    lower = np.empty((BLOCK, chunk), dtype)
    return Space(
        np.empty(questions.offsets[queries], np.float64),
        np.empty(queries, np.float64),
        np.empty(queries, np.float64),
        np.zeros((BLOCK, size), np.float64),
        np.zeros((BLOCK, size), dtype),
        lower,
        room_for_upper(metric, lower),
        np.empty(lower.size, np.int64),
        np.empty(lower.size, np.int64),
        np.zeros(lower.shape, np.bool_),
        room_for_matrix(metric),
        np.empty((2, size), np.float64),
    )


@njit(forceinline=True)
def _limit_errors(metric, vectors, tile, space, heaviest):
    """Write how large the scores of the tile's queries may be, and how large their errors."""
    extents, slacks, query = space.extents, space.slacks, space.query
    for q in range(tile.start, tile.stop):
        extents[q] = extent_of(metric, vectors, query, q - tile.start, tile.relation, heaviest)
        slacks[q] = slack_of(metric, vectors, query, q - tile.start, tile.relation, extents[q])


@by_class("metric")
def _refine(metric, vectors, questions, tile, space, reducer):
    """Narrow the bounds of pairs that are open, and return how many of them were scored in full."""


@_refine.of(Norm, Weighted, Factors, Quadratic)
def _refine_nothing(metric, vectors, questions, tile, space, reducer):
    return 0


@_refine.of(Full)
def _refine_full(metric, vectors, questions, tile, space, reducer):
    found = list_open(questions, tile, space)
    bound_by_axes(metric, vectors, tile, space, found)
    narrow(tile, space, reducer)
    found = keep_open(questions, tile, space, found)
    bound_by_metric(metric, vectors, tile, space, found)
    narrow(tile, space, reducer)
    return found
