"""One batch of training on residual models, without leaving the processor's caches.

The deterministic way has two phases. In the first, every thread takes some of the batch's positives, reads the parameters as they were
before the batch and writes the gradient of each row that a positive touches. In the second, every thread owns some of the rows and adds
up their gradients in the order of the batch, then takes one step on each. No row has two writers and no sum depends on who computes it,
so that the result is the same for any number of threads. The lock-free way takes the steps at once, positive by positive, from all
threads; rows may be read while they change, and the result depends on chance.

Entities and relations stand in one table, `vectors`: entity i is row i, relation i is row num_entities + i.

Work for one positive with K negatives of dimension k: (1 + K) k subtractions and scores, as much again for gradients, (3 + K) rows
written and read back, at most as many rows updated.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.cache import kernel
from transa.kernels.losses import loss_and_factors
from transa.kernels.optimizers import update_row
from transa.kernels.prefetch import AHEAD, prefetch_row
from transa.kernels.random import half_bits, shuffled_position
from transa.kernels.scores import (
    FAST,
    add_normal_gradient,
    add_tilt_gradient,
    clear_metric_gradient,
    differentiate,
    project,
    residual_score,
    scatter_residual,
    tilt,
)

#: Rows that lie together in memory (here 8) have the same owner, which keeps cache lines from going back and forth.
NEIGHBOURS = 3


@njit(fastmath=FAST, inline="always")
def _gradients(  # type: ignore[no-untyped-def]
    head, relation, tail, b, negatives, at_head, vectors, num_entities, metric, normal, soft, weight, kind, root, loss, margin,
    temperature, negligible, scores, factors, gradients, metric_gradients,
):  # fmt: skip
    """Write the gradients of one positive, the `b`-th of its batch, and return its loss, the number of violating negatives and whether
    there is any gradient; if not, what stands in `gradients` means nothing.

    `gradients` has 3 + K rows for each positive: head, tail, relation and the entities of the negatives.
    """
    count = negatives.shape[1]
    base = b * (3 + count)
    like = vectors.dtype.type
    vector = num_entities + relation
    for j in range(-1, count):  # -1: the positive itself
        other = head if j < 0 else negatives[b, j]
        first = other if j < 0 or at_head[b, j] else head
        second = tail if j < 0 or at_head[b, j] else other
        value = residual_score(kind, vectors, first, vector, second, metric, normal, relation)
        scores[b, j + 1] = weight * (np.sqrt(value) if root else value)
    total, violations, active = loss_and_factors(loss, margin, temperature, negligible, scores, factors, b)
    excess, slope, square = tilt(vectors, vector, normal, relation)
    total += soft * excess
    active = active or soft * excess > 0
    if not active:
        return total, violations, active
    clear_metric_gradient(metric_gradients, b)
    for j in range(-1, count):
        factor = factors[b, j + 1]
        if factor == 0 and j >= 0:
            continue
        other = head if j < 0 else negatives[b, j]
        first = other if j < 0 or at_head[b, j] else head
        second = tail if j < 0 or at_head[b, j] else other
        place = base if j < 0 else base + 3 + j
        value = scores[b, j + 1] / weight
        scale = like(factor * weight)
        if root:  # the chain rule through the square root
            scale = like(factor * weight / (2 * max(value, like(1e-12))))
            value *= value
        differentiate(
            kind, vectors, first, vector, second, gradients, place, metric, normal, relation, value, scale, metric_gradients, b
        )  # fmt: skip
        add_normal_gradient(vectors, first, second, gradients, place, normal, relation, metric_gradients, b)
        scatter_residual(gradients, base, j, j >= 0 and at_head[b, j])
    for c in range(3 + count):
        if c != 2 and (c < 2 or factors[b, c - 2] != 0):
            project(gradients, base + c, normal, relation)
    if excess > 0:
        add_tilt_gradient(
            vectors, vector, normal, relation, slope, square, like(soft), gradients, base + 2, metric_gradients, b
        )
    return total, violations, active


@njit(forceinline=True)
def _owner(row, parts):  # type: ignore[no-untyped-def]
    """Return which part a row belongs to: evenly spread, without a division."""
    return (((row >> NEIGHBOURS) * 2654435769) & 0xFFFFFFFF) * parts >> 32


@njit(forceinline=True)
def _prefetch(triples, position, negatives, b, vectors):  # type: ignore[no-untyped-def]
    prefetch_row(vectors, triples[position, 0])
    prefetch_row(vectors, triples[position, 2])
    for j in range(negatives.shape[1]):
        prefetch_row(vectors, negatives[b, j])


@kernel(parallel=True)
def shuffle(key, order):  # type: ignore[no-untyped-def]
    """Fill `order` with the permutation that `key` names."""
    half = half_bits(len(order))
    for i in prange(len(order)):
        order[i] = shuffled_position(i, len(order), half, key)


@kernel(parallel=True)
def arrange(triples, spans, order, arranged_triples, arranged_spans):  # type: ignore[no-untyped-def]
    """Lay out triples and what goes with them in an order."""
    for i in prange(len(order)):
        for c in range(triples.shape[1]):
            arranged_triples[i, c] = triples[order[i], c]
        for c in range(spans.shape[1]):
            arranged_spans[i, c] = spans[order[i], c]


@kernel(parallel=True, fastmath=FAST)
def gradient_phase(  # type: ignore[no-untyped-def]
    triples, stop, start, negatives, at_head, vectors, num_entities, metric, normal, soft, weights, kind, root, loss, margin,
    temperature, negligible, scores, metric_gradients, factors, gradients, losses, violations, active,
):  # fmt: skip
    """Phase one: the gradients of the positives ``triples[start:stop]``, each into its own part of the buffers."""
    for b in prange(stop - start):
        if b + AHEAD < stop - start:
            _prefetch(triples, start + b + AHEAD, negatives, b + AHEAD, vectors)
        relation = triples[start + b, 1]
        losses[b], violations[b], active[b] = _gradients(
            triples[start + b, 0], relation, triples[start + b, 2], b, negatives, at_head, vectors, num_entities, metric, normal,
            soft, weights[relation], kind, root, loss, margin, temperature, negligible, scores, factors, gradients, metric_gradients,
        )  # fmt: skip


@kernel(parallel=True)
def factor_phase(loss, margin, temperature, negligible, size, scores, factors, losses, violations, active):  # type: ignore[no-untyped-def]
    """Write the losses of `size` positives, and their derivatives by the scores."""
    for b in prange(size):
        losses[b], violations[b], active[b] = loss_and_factors(
            loss, margin, temperature, negligible, scores, factors, b
        )


@kernel(parallel=True)
def scatter_gradients(size, at_head, by_head, by_tail, gradients):  # type: ignore[no-untyped-def]
    """Bring the gradients by both ends of positives and negatives to the rows of `gradients` (see `_gradients`).

    Rows b (1 + K) of `by_head` and `by_tail` are those of positive b, and its K negatives follow. There is no row of a relation.
    """
    count = at_head.shape[1]
    for b in prange(size):
        own, base = b * (1 + count), b * (3 + count)
        for i in range(by_head.shape[1]):
            head, tail = by_head[own, i], by_tail[own, i]
            for j in range(count):
                if at_head[b, j]:
                    gradients[base + 3 + j, i] = by_head[own + 1 + j, i]
                    tail += by_tail[own + 1 + j, i]
                else:
                    gradients[base + 3 + j, i] = by_tail[own + 1 + j, i]
                    head += by_head[own + 1 + j, i]
            gradients[base, i] = head
            gradients[base + 1, i] = tail


@kernel(parallel=True, fastmath=FAST)
def update_phase(  # type: ignore[no-untyped-def]
    parts, triples, start, stop, step, negatives, factors, gradients, active, slots, touched, num_entities, vectors, first,
    second, optimizer, learning_rates, penalties, constraints,
):  # fmt: skip
    """Phase two: add up the gradients of each row in the order of the batch and take one step on it.

    The sum of a row stands in the place of its first gradient, whose number is kept in the row's slot; `touched` has room for the
    rows of each part. Rates, penalties and constraints are those of entities and of relations; there may be no rows of relations.
    """
    width = 3 + negatives.shape[1]
    relations = len(vectors) > num_entities
    size = vectors.shape[1]
    for part in prange(parts):
        found = 0
        for b in range(stop - start):
            if not active[b]:
                continue
            for c in range(width):
                if (c > 2 and factors[b, c - 2] == 0) or (c == 2 and not relations):
                    continue
                row = np.int64(negatives[b, c - 3] if c > 2 else triples[start + b, 2 * c if c < 2 else 1])
                if c == 2:
                    row += num_entities
                if _owner(row, parts) != part:
                    continue
                code = b * width + c
                total = slots[row]
                if total < 0:
                    slots[row] = code
                    touched[part, found] = row
                    found += 1
                else:
                    for i in range(size):
                        gradients[total, i] += gradients[code, i]
        for t in range(found):
            row = touched[part, t]
            role = 0 if row < num_entities else 1
            update_row(
                optimizer,
                learning_rates[role],
                penalties[role],
                constraints[role],
                step,
                vectors,
                row,
                gradients,
                slots[row],
                first,
                second,
            )
            slots[row] = -1


@kernel(parallel=True, fastmath=FAST)
def metric_phase(  # type: ignore[no-untyped-def]
    parts, triples, start, stop, step, gradients, active, slots, metric, first, second, optimizer, learning_rate, penalty,
    constraint,
):  # fmt: skip
    """Phase two for a metric or normal learned by gradient, one row (flattened) for each relation."""
    size = metric.shape[1]
    for part in prange(parts):
        for turn in range(2):
            for b in range(stop - start):
                row = triples[start + b, 1]
                if not active[b] or _owner(row, parts) != part:
                    continue
                if turn == 0:
                    if slots[row] < 0:
                        slots[row] = b
                    else:
                        total = slots[row]
                        for i in range(size):
                            gradients[total, i] += gradients[b, i]
                elif slots[row] == b:
                    slots[row] = -1
                    update_row(
                        optimizer, learning_rate, penalty, constraint, step, metric, row, gradients, b, first, second
                    )


@kernel(parallel=True, fastmath=FAST)
def lock_free_phase(  # type: ignore[no-untyped-def]
    chunk, triples, start, stop, step, negatives, at_head, vectors, num_entities, metric, weights, kind, root, loss, margin,
    temperature, negligible, losses, violations, first, second, optimizer, learning_rates, penalties, constraints,
):  # fmt: skip
    """Gradients and steps together, positive by positive, in chunks that run side by side. The metric is not learned here."""
    count = negatives.shape[1]
    for c in prange((stop - start + chunk - 1) // chunk):
        scores = np.empty((1, 1 + count), vectors.dtype)
        factors = np.empty((1, 1 + count), vectors.dtype)
        gradients = np.empty((3 + count, vectors.shape[1]), vectors.dtype)
        own_negatives = np.empty((1, count), negatives.dtype)
        own_at_head = np.empty((1, count), np.bool_)
        for b in range(c * chunk, min((c + 1) * chunk, stop - start)):
            if b + AHEAD < stop - start:
                _prefetch(triples, start + b + AHEAD, negatives, b + AHEAD, vectors)
            for j in range(count):
                own_negatives[0, j] = negatives[b, j]
                own_at_head[0, j] = at_head[b, j]
            relation = triples[start + b, 1]
            losses[b], violations[b], active = _gradients(
                triples[start + b, 0], relation, triples[start + b, 2], 0, own_negatives, own_at_head, vectors, num_entities,
                metric, None, 0.0, weights[relation], kind, root, loss, margin, temperature, negligible, scores, factors,
                gradients, None,
            )  # fmt: skip
            if not active:
                continue
            for w in range(3 + count):
                if w == 2:
                    row = num_entities + relation
                elif w < 2:
                    row = np.int64(triples[start + b, 2 * w])
                else:
                    if factors[0, w - 2] == 0:
                        continue
                    row = np.int64(negatives[b, w - 3])
                role = 0 if w != 2 else 1
                update_row(
                    optimizer,
                    learning_rates[role],
                    penalties[role],
                    constraints[role],
                    step,
                    vectors,
                    row,
                    gradients,
                    w,
                    first,
                    second,
                )
