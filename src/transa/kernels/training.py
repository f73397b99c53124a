"""Training on one batch, row by row, within the processor's caches.

Deterministic training has two phases. In the first, every thread takes some of the batch's positives, reads the parameters as they were
before the batch, and writes the gradient of each row that a positive touches. In the second, every thread owns some of the rows, adds
up their gradients in the order of the batch, and takes one step on each. No two threads write the same row, and no sum depends on the
thread that computes it, so the result is the same for any number of threads. Lock-free training takes steps at once, positive by
positive, from all threads; rows may be read while they change, and the result depends on chance.

A positive with K negatives costs 1 + K scores, the gradients of those that matter, 3 + K rows written and read back, and at most as
many rows updated.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array, Examples, Objective, Step, Tables
from transa.kernels.cache import kernel
from transa.kernels.losses import loss_and_factors
from transa.kernels.optimizers import update_row
from transa.kernels.prefetch import AHEAD, prefetch_row
from transa.kernels.scores import FAST, RowScore

#: Positives that a thread takes at a time in lock-free training.
CHUNK = 256


def gradient_phase(
    score: RowScore,
    examples: Examples,
    tables: Tables,
    objective: Objective,
    scores: Array,
    factors: Array,
    gradients: Array,
    extra_gradients: Array,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    active: npt.NDArray[np.bool_],
) -> None:
    """Write the gradients of a batch's positives, each into its own part of the buffers: phase one.

    Parameters
    ----------
    score
        The score to train.
    examples, tables, objective
        See `transa.kernels.arguments`.
    scores, factors
        Of shape (positives, 1 + K): the scores of each positive and its negatives, and the derivatives of the loss in these scores.
    gradients, extra_gradients
        3 + K rows for each positive (see `transa.kernels.scores.add_gradients`), and the gradient with respect to the extra rows of
        its relation. They are undefined for a positive that is not active.
    losses, violations, active
        For each positive: the loss, how many negatives violate, and whether there is any gradient.
    """
    compiled_phases(score)[0](
        tuple(examples),
        tuple(tables),
        tuple(objective),
        scores,
        factors,
        gradients,
        extra_gradients,
        losses,
        violations,
        active,
    )


def lock_free_phase(
    score: RowScore,
    examples: Examples,
    tables: Tables,
    objective: Objective,
    step: Step,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    first: Array,
    second: Array,
) -> None:
    """Compute gradients and take steps positive by positive, with chunks of positives in parallel.

    ``tables.vectors`` and the optimiser's state, `first` and `second`, are changed in place. Extra rows of relations are not learned.
    """
    compiled_phases(score)[1](
        tuple(examples), tuple(tables), tuple(objective), tuple(step), losses, violations, tables.vectors, first, second
    )


def lane_phase(
    score: RowScore,
    borders: npt.NDArray[np.int64],
    examples: Examples,
    tables: Tables,
    objective: Objective,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    moved: npt.NDArray[np.bool_],
    sums: Array,
    extra_sums: Array,
) -> None:
    """Add up the gradients of lanes, positive by positive, with lanes in parallel.

    No gradient of a negative is kept, only sums. So a score that wants to `finish` all of them at once is none for this kernel, and
    neither is one with soft constraints.

    Parameters
    ----------
    score, examples, tables, objective
        As of `gradient_phase`.
    borders
        Lane i has the positives from ``borders[i]`` to ``borders[i + 1]``, counted from ``examples.start``.
    losses, violations
        One of each for every positive.
    moved
        Set for the rows of each lane that have a gradient.
    sums, extra_sums
        For each lane, the table to which gradients are added, and the same for the extra rows of relations.
    """
    work = borders, tuple(examples), tuple(tables), tuple(objective)
    compiled_phases(score)[2](*work, losses, violations, moved, sums, extra_sums)


@cache
def compiled_phases(score: RowScore) -> tuple[Any, Any, Any]:
    """Return the kernels of a score: `gradient_phase`, `lock_free_phase` and `lane_phase`."""
    value, differentiate, excess, finish = score.value, score.differentiate, score.excess, score.finish

    @njit(fastmath=FAST, inline="always")
    def score_all(triple, b, negatives, at_head, vectors, extra, weight, root, scores):
        """Write the scores of a positive and its negatives."""
        head, relation, tail, row = triple
        for j in range(-1, negatives.shape[1]):  # -1: the positive itself
            other = head if j < 0 else negatives[b, j]
            first = other if j < 0 or at_head[b, j] else head
            second = tail if j < 0 or at_head[b, j] else other
            found = value(vectors, first, relation, second, extra, row)
            scores[b, j + 1] = weight * (np.sqrt(found) if root else found)

    @njit(fastmath=FAST, inline="always")
    def differentiate_one(triple, other, vectors, extra, scale, score, factor, gradients, places, extra_gradients, b):
        """Add the gradients of a positive or one of its negatives; `scale` holds the relation's weight, `root` and the soft penalty."""
        head, relation, tail, row = triple
        weight, root, _ = scale
        like = vectors.dtype.type
        first = head if places[2] == 0 else other
        second = other if places[2] == 0 else tail
        found = score / weight
        slope = like(factor * weight)
        if root:  # the chain rule through the square root
            slope = like(factor * weight / (2 * max(found, like(1e-12))))
            found *= found
        differentiate(vectors, first, relation, second, extra, row, found, slope, gradients, places, extra_gradients, b)

    @njit(fastmath=FAST, inline="always")
    def differentiate_all(
        triple, b, negatives, at_head, vectors, extra, scale, scores, factors, gradients, extra_gradients
    ):
        """Write the gradients of a positive and its negatives."""
        head, relation, _, row = triple
        count = negatives.shape[1]
        base = b * (3 + count)
        for m in range(extra_gradients.shape[1]):
            for i in range(extra_gradients.shape[2]):
                extra_gradients[b, m, i] = 0
        for j in range(-1, count):
            factor = factors[b, j + 1]
            if factor == 0 and j >= 0:
                continue
            side = -1 if j < 0 else int(at_head[b, j])
            other = head if j < 0 else negatives[b, j]
            places = (base if j < 0 else base + 3 + j, base, side)
            differentiate_one(
                triple, other, vectors, extra, scale, scores[b, j + 1], factor, gradients, places, extra_gradients, b
            )
        finish(vectors, relation, extra, row, scale[2], factors, gradients, b, extra_gradients)

    def gradient_phase(  # pragma: no cover (compiled)
        examples, tables, objective, scores, factors, gradients, extra_gradients, losses, violations, active
    ):
        triples, start, stop, negatives, at_head = examples
        vectors, num_entities, extra, weights = tables
        loss, margin, temperature, negligible, root, soft_penalty = objective
        for b in prange(stop - start):
            if b + AHEAD < stop - start:
                _prefetch(triples, start + b + AHEAD, negatives, b + AHEAD, vectors)
            row = triples[start + b, 1]
            triple = (triples[start + b, 0], num_entities + row, triples[start + b, 2], row)
            weight = weights[row]
            score_all(triple, b, negatives, at_head, vectors, extra, weight, root, scores)
            total, violating, moves = loss_and_factors(loss, margin, temperature, negligible, scores, factors, b)
            beyond = soft_penalty * excess(vectors, triple[1], extra, row)
            losses[b], violations[b], active[b] = total + beyond, violating, moves or beyond > 0
            if active[b]:
                differentiate_all(
                    triple,
                    b,
                    negatives,
                    at_head,
                    vectors,
                    extra,
                    (weight, root, soft_penalty),
                    scores,
                    factors,
                    gradients,
                    extra_gradients,
                )

    def lock_free_phase(  # pragma: no cover (compiled)
        examples, tables, objective, step, losses, violations, vectors, first, second
    ):
        triples, start, stop, negatives, at_head = examples
        _, num_entities, extra, weights = tables
        loss, margin, temperature, negligible, root, _ = objective
        optimizer, number, learning_rates, penalties, constraints = step
        count = negatives.shape[1]
        for c in prange((stop - start + CHUNK - 1) // CHUNK):
            scores = np.empty((1, 1 + count), vectors.dtype)
            factors = np.empty((1, 1 + count), vectors.dtype)
            gradients = np.empty((3 + count, vectors.shape[1]), vectors.dtype)
            extra_gradients = np.empty((1, 0, vectors.shape[1]), vectors.dtype)
            own_negatives = np.empty((1, count), negatives.dtype)
            own_at_head = np.empty((1, count), np.bool_)
            for b in range(c * CHUNK, min((c + 1) * CHUNK, stop - start)):
                if b + AHEAD < stop - start:
                    _prefetch(triples, start + b + AHEAD, negatives, b + AHEAD, vectors)
                for j in range(count):
                    own_negatives[0, j] = negatives[b, j]
                    own_at_head[0, j] = at_head[b, j]
                row = triples[start + b, 1]
                triple = (triples[start + b, 0], num_entities + row, triples[start + b, 2], row)
                weight = weights[row]
                score_all(triple, 0, own_negatives, own_at_head, vectors, extra, weight, root, scores)
                losses[b], violations[b], active = loss_and_factors(
                    loss, margin, temperature, negligible, scores, factors, 0
                )
                if not active:
                    continue
                differentiate_all(
                    triple,
                    0,
                    own_negatives,
                    own_at_head,
                    vectors,
                    extra,
                    (weight, root, 0.0),
                    scores,
                    factors,
                    gradients,
                    extra_gradients,
                )
                for w in range(3 + count):
                    if w > 2 and factors[0, w - 2] == 0:
                        continue
                    place = np.int64(negatives[b, w - 3] if w > 2 else triples[start + b, 2 * w if w < 2 else 1])
                    role = 1 if w == 2 else 0
                    place += role * num_entities
                    update_row(
                        optimizer,
                        learning_rates[role],
                        penalties[role],
                        constraints[role],
                        number,
                        vectors,
                        place,
                        gradients,
                        w,
                        first,
                        second,
                    )

    def lane_phase(  # pragma: no cover (compiled)
        borders, examples, tables, objective, losses, violations, moved, sums, extra_sums
    ):
        triples, start, _, negatives, at_head = examples
        vectors, num_entities, extra, weights = tables
        loss, margin, temperature, negligible, root, _ = objective
        count, size = negatives.shape[1], vectors.shape[1]
        learned = extra_sums.shape[2]
        for lane in prange(len(borders) - 1):
            scores = np.empty((1, 1 + count), vectors.dtype)
            factors = np.empty((1, 1 + count), vectors.dtype)
            gradients = np.empty((4, size), vectors.dtype)  # head, tail, relation, one negative
            extra_gradients = np.empty((1, learned, size), vectors.dtype)
            for b in range(borders[lane], borders[lane + 1]):
                if b + AHEAD < borders[lane + 1]:
                    _prefetch(triples, start + b + AHEAD, negatives, b + AHEAD, vectors)
                row = triples[start + b, 1]
                triple = (triples[start + b, 0], num_entities + row, triples[start + b, 2], row)
                scale = (weights[row], root, 0.0)
                score_all(triple, 0, negatives[b : b + 1], at_head[b : b + 1], vectors, extra, scale[0], root, scores)
                losses[b], violations[b], moves = loss_and_factors(
                    loss, margin, temperature, negligible, scores, factors, 0
                )
                if not moves:
                    continue
                extra_gradients[...] = 0
                for j in range(-1, count):
                    if factors[0, j + 1] == 0 and j >= 0:
                        continue
                    other = triple[0] if j < 0 else negatives[b, j]
                    places = (0, 0, -1) if j < 0 else (3, 0, int(at_head[b, j]))
                    score, factor = scores[0, j + 1], factors[0, j + 1]
                    differentiate_one(
                        triple, other, vectors, extra, scale, score, factor, gradients, places, extra_gradients, 0
                    )
                    if j >= 0:
                        moved[lane, other] = True
                        for i in range(size):
                            sums[lane, other, i] += gradients[3, i]
                for w in range(3):
                    place = triple[0] if w == 0 else (triple[2] if w == 1 else triple[1])
                    moved[lane, place] = True
                    for i in range(size):
                        sums[lane, place, i] += gradients[w, i]
                for m in range(learned):
                    for i in range(size):
                        extra_sums[lane, row, m, i] += extra_gradients[0, m, i]

    compiled = kernel(variant=score.name, parallel=True, fastmath=FAST)
    return compiled(gradient_phase), compiled(lock_free_phase), compiled(lane_phase)


@njit(forceinline=True)
def _prefetch(triples, position, negatives, b, vectors):
    prefetch_row(vectors, triples[position, 0])
    prefetch_row(vectors, triples[position, 2])
    for j in range(negatives.shape[1]):
        prefetch_row(vectors, negatives[b, j])
