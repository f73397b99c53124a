"""Ranking targets among all entities, exactly, for models whose score is a function of query - entity.

Of a residual h + r - t, the query is h + r where tails are ranked and t - r where heads are. Which of two entities scores better is
decided by their scores in double precision. Hardly any of these are ever computed: single precision gives each score, or bounds of it,
together with a limit of its rounding error (`slack`), and only entities that stay open against a target are looked at again.

Per entity and query this costs, with k dimensions,

- 3 k operations for L1, 3 k for (squared) L2, 4 k for a diagonal metric;
- 6 k for the full metric, from its leading eigenpair: with a = |e|, eigenvalues l_i and eigenvectors u_i,
  ``a^T W a = l_1 (u_1.a)^2 + rest``, and the rest lies between the smallest and the largest of the other eigenvalues times
  ``|a|^2 - (u_1.a)^2``. What stays open (a few percent) is bounded again with `AXES` eigenvectors, and then (a few in a thousand)
  computed, each time as matrix products;
- 2 k for the signed metric (Adaptive Metric), since ``e^T W e = q^T W q - 2 q.(W x) + x^T W x`` is a matrix product too, and
  2 k^2 for the W x of each relation and entity.

Entities pass in chunks that stay in the cache, against a block of queries at a time; no array of queries times entities is ever made.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.bounds import (
    ROWS,
    bound,
    bound_signed,
    keep_open,
    list_open,
    row_products,
    slack_of,
    tighten,
)
from transa.kernels.cache import kernel
from transa.kernels.exact import exact_score, extent_of, fill_queries, heaviest_row, residuals_of
from transa.kernels.facts import find
from transa.kernels.scores import FAST

#: Queries whose scores are held together.
BLOCK = 16


@kernel(parallel=True, fastmath=FAST)
def count_better(  # type: ignore[no-untyped-def]
    kind, sign, fixed, relations, tasks, order, entities, shifts, metric, squared, spectrum, signed, reach, errors,
    target_offsets, targets, starts, stops, known, chunk, counts, rescored,
):  # fmt: skip
    """Count for each target of each query the entities that score better or the same.

    Parameters
    ----------
    kind, entities, shifts, metric
        The score: entity and relation vectors, and the metrics or None.
    squared, spectrum, signed
        Of metrics of k x k entries, True, and of the others None; of the full metric, what `spectra` returns, otherwise None; of a
        signed one, True, otherwise None.
    sign, fixed, relations
        Query q is the entity ``fixed[q]`` plus `sign` times its relation's vector.
    tasks, order
        Queries ``tasks[i]`` to ``tasks[i + 1]`` are done by one thread; with a metric, they have one relation. Threads get even parts
        of `order`.
    reach, errors
        The largest absolute value in each column of `entities`; the relative errors of a residual, of a sum in the precision of the
        entities and of one in double precision.
    target_offsets, targets
        The targets of query q are ``targets[target_offsets[q]:target_offsets[q + 1]]``.
    starts, stops, known
        The known answers of query q are ``known[starts[q]:stops[q]]``, sorted.
    chunk
        Entities at a time.
    counts
        Results of shape (4, targets): entities better than the target, others equal to it, and of both those that are known answers.
    rescored
        Result: for each task, how many entities had to be scored in full.
    """
    size = entities.shape[1]
    like = entities.dtype.type
    for turn in prange(len(order)):
        task = order[turn]
        first, last = tasks[task], tasks[task + 1]
        relation = relations[first]
        levels = np.empty(target_offsets[last] - target_offsets[first], np.float64)
        slacks = np.empty(last - first, np.float64)
        extents = np.empty(last - first, np.float64)
        query = np.zeros((BLOCK, size), np.float64)
        rounded = np.zeros((BLOCK, size), entities.dtype)
        lower = np.empty((BLOCK, chunk), entities.dtype)
        upper = lower if spectrum is None else np.empty((BLOCK, chunk), entities.dtype)
        scratch = np.empty((2, size), np.float64)
        listed = np.zeros((BLOCK, 0 if squared is None else chunk), np.bool_)
        queries = np.empty(listed.size, np.int32)
        rows = np.empty(listed.size, np.int32)
        heaviest = 0.0
        if squared is not None:
            precise = metric[relation].astype(np.float64)
            heaviest = heaviest_row(metric, relation)
        for begin in range(0, len(entities), chunk):
            width = min(chunk, len(entities) - begin)
            if signed is not None:
                bent = np.dot(entities[begin : begin + width], metric[relation])
                own = row_products(bent, entities, begin)
            for block in range(first, last, BLOCK):
                end = min(block + BLOCK, last)
                fill_queries(block, end, sign, fixed, relations, entities, shifts, query, rounded)
                for q in range(block, end):
                    if begin == 0:
                        extents[q - first] = extent_of(
                            kind, query, q - block, reach, metric, squared, heaviest, relations[q], signed
                        )
                        slacks[q - first] = slack_of(
                            query, q - block, reach, spectrum, relations[q], errors, extents[q - first]
                        )
                        for t in range(target_offsets[q], target_offsets[q + 1]):
                            levels[t - target_offsets[first]] = exact_score(
                                kind, query, q - block, entities, targets[t], metric, relations[q], squared, signed, scratch
                            )  # fmt: skip
                            for c in range(4):
                                counts[c, t] = 0
                if signed is not None:
                    bound_signed(rounded, end - block, bent, own, metric[relation], lower, width)
                else:
                    bound(
                        kind, rounded, end - block, entities, begin, width, metric, spectrum, relation, errors, lower, upper
                    )  # fmt: skip
                if spectrum is not None:
                    found = list_open(
                        block,
                        end,
                        first,
                        width,
                        target_offsets,
                        levels,
                        slacks,
                        lower,
                        upper,
                        listed,
                        queries,
                        rows,
                        like,
                    )
                    for fully in (False, True):
                        tighten(
                            fully, rounded, entities, begin, metric, spectrum, relation, lower, upper, queries, rows, found, errors
                        )  # fmt: skip
                        if not fully:
                            found = keep_open(
                                block, first, target_offsets, levels, slacks, lower, upper, queries, rows, found, like
                            )
                    rescored[task] += found
                found = 0
                for q in range(block, end):
                    b = q - block
                    from_known = find(known, starts[q], stops[q], begin)
                    to_known = find(known, from_known, stops[q], begin + width)
                    for t in range(target_offsets[q], target_offsets[q + 1]):
                        level = levels[t - target_offsets[first]]
                        slack = slacks[q - first]
                        low, high = like(level - slack), like(level + slack)
                        better = near = 0
                        for x in range(width):
                            better += upper[b, x] < low
                            near += lower[b, x] <= high
                        counts[0, t] += better
                        for place in range(from_known, to_known):
                            counts[2, t] += known[place] != targets[t] and upper[b, known[place] - begin] < low
                        if near - better == (begin <= targets[t] < begin + width):
                            continue
                        for x in range(width):
                            if upper[b, x] < low or lower[b, x] > high or begin + x == targets[t]:
                                continue
                            if squared is not None:
                                if not listed[b, x]:
                                    listed[b, x] = True
                                    queries[found], rows[found] = b, x
                                    found += 1
                                continue
                            value = exact_score(
                                kind, query, b, entities, begin + x, metric, relations[q], squared, signed, scratch
                            )
                            _count(value, level, known, from_known, to_known, begin + x, counts, t)
                            rescored[task] += 1
                if squared is not None:
                    for start in range(0, found, ROWS):
                        stop = min(start + ROWS, found)
                        residuals = residuals_of(query, entities, begin, queries, rows, start, stop, signed)
                        products = np.dot(residuals, precise)
                        for entry in range(start, stop):
                            b, x = queries[entry], rows[entry]
                            listed[b, x] = False
                            q = block + b
                            slack = slacks[q - first]
                            value = 0.0
                            for i in range(size):
                                value += products[entry - start, i] * residuals[entry - start, i]
                            for t in range(target_offsets[q], target_offsets[q + 1]):
                                level = levels[t - target_offsets[first]]
                                low, high = like(level - slack), like(level + slack)
                                if upper[b, x] < low or lower[b, x] > high or begin + x == targets[t]:
                                    continue
                                settled = value
                                if abs(value - level) <= errors[2] * extents[q - first]:
                                    settled = exact_score(
                                        kind, query, b, entities, begin + x, metric, relation, squared, signed, scratch
                                    )
                                _count(settled, level, known, starts[q], stops[q], begin + x, counts, t)
                    rescored[task] += found * (spectrum is None)


@kernel(parallel=True, fastmath=FAST)
def best_answers(  # type: ignore[no-untyped-def]
    kind, sign, fixed, relations, tasks, order, entities, shifts, metric, squared, spectrum, signed, reach, errors,
    each, starts, stops, known, chunk, answers, scores,
):  # fmt: skip
    """Find for each query the entities of the lowest scores, the first of equal ones.

    Parameters are those of `count_better`, but for

    Parameters
    ----------
    each
        The numbers from 0 to that of queries, both included: each query has one limit, as if it were its target.
    starts, stops, known
        Answers ``known[starts[q]:stops[q]]`` are left out.
    answers, scores
        Results of shape (queries, number): entities and their scores in double precision, in rising order; -1 and infinity where
        there are not as many.
    """
    size, number = entities.shape[1], answers.shape[1]
    like = entities.dtype.type
    for turn in prange(len(order)):
        task = order[turn]
        first, last = tasks[task], tasks[task + 1]
        relation = relations[first]
        limits = np.empty(last - first, np.float64)
        slacks = np.empty(last - first, np.float64)
        query = np.zeros((BLOCK, size), np.float64)
        rounded = np.zeros((BLOCK, size), entities.dtype)
        lower = np.empty((BLOCK, chunk), entities.dtype)
        upper = lower if spectrum is None else np.empty((BLOCK, chunk), entities.dtype)
        scratch = np.empty((2, size), np.float64)
        listed = np.zeros((BLOCK, 0 if squared is None else chunk), np.bool_)
        queries = np.empty(listed.size, np.int32)
        rows = np.empty(listed.size, np.int32)
        heaviest = 0.0
        if squared is not None:
            heaviest = heaviest_row(metric, relation)
        for q in range(first, last):
            answers[q] = -1
            scores[q] = np.inf
        for begin in range(0, len(entities), chunk):
            width = min(chunk, len(entities) - begin)
            if signed is not None:
                bent = np.dot(entities[begin : begin + width], metric[relation])
                own = row_products(bent, entities, begin)
            for block in range(first, last, BLOCK):
                end = min(block + BLOCK, last)
                fill_queries(block, end, sign, fixed, relations, entities, shifts, query, rounded)
                if signed is not None:
                    bound_signed(rounded, end - block, bent, own, metric[relation], lower, width)
                else:
                    bound(
                        kind, rounded, end - block, entities, begin, width, metric, spectrum, relation, errors, lower, upper
                    )  # fmt: skip
                for q in range(block, end):
                    b = q - block
                    if begin == 0:
                        extent = extent_of(kind, query, b, reach, metric, squared, heaviest, relations[q], signed)
                        slacks[q - first] = slack_of(query, b, reach, spectrum, relations[q], errors, extent)
                    from_known = find(known, starts[q], stops[q], begin)
                    to_known = find(known, from_known, stops[q], begin + width)
                    for place in range(from_known, to_known):
                        lower[b, known[place] - begin] = np.inf
                        upper[b, known[place] - begin] = np.inf
                    limits[q - first] = _limit(scores[q, number - 1], upper[b, :width], number, slacks[q - first])
                if spectrum is not None:
                    found = list_open(
                        block, end, first, width, each, limits, slacks, lower, upper, listed, queries, rows, like
                    )
                    for fully in (False, True):
                        tighten(
                            fully, rounded, entities, begin, metric, spectrum, relation, lower, upper, queries, rows, found, errors
                        )  # fmt: skip
                        for q in range(block, end):
                            limits[q - first] = _limit(
                                scores[q, number - 1], upper[q - block, :width], number, slacks[q - first]
                            )
                        if not fully:
                            found = keep_open(
                                block, first, each, limits, slacks, lower, upper, queries, rows, found, like
                            )
                for q in range(block, end):
                    b = q - block
                    slack = slacks[q - first]
                    for x in range(width):
                        if (
                            lower[b, x] < np.inf
                            and lower[b, x] <= min(limits[q - first], scores[q, number - 1]) + slack
                        ):
                            value = exact_score(
                                kind, query, b, entities, begin + x, metric, relations[q], squared, signed, scratch
                            )
                            place = number
                            while place > 0 and value < scores[q, place - 1]:
                                place -= 1
                            if place < number:
                                for later in range(number - 1, place, -1):
                                    scores[q, later] = scores[q, later - 1]
                                    answers[q, later] = answers[q, later - 1]
                                scores[q, place] = value
                                answers[q, place] = begin + x


@njit(fastmath=FAST, forceinline=True)
def _limit(last, upper, number, slack):  # type: ignore[no-untyped-def]
    """Return a score that the last of the answers sought does not exceed: that of the last found, or from bounds."""
    better = 0
    for x in range(len(upper)):
        better += upper[x] < last
    if better < number:
        return last
    return min(last, np.float64(np.partition(upper, number - 1)[number - 1]) + slack)


@njit(forceinline=True)
def _count(value, level, known, start, stop, entity, counts, t):  # type: ignore[no-untyped-def]
    """Count an entity of a score against target `t`."""
    if value <= level:
        which = 0 if value < level else 1
        counts[which, t] += 1
        place = find(known, start, stop, entity)
        if place < stop and known[place] == entity:
            counts[2 + which, t] += 1
