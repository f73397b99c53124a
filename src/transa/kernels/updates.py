"""Phase two of a batch (see `transa.kernels.training`): add up the gradients of each row and take one step on it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array, Examples, Objective, Step
from transa.kernels.cache import kernel
from transa.kernels.losses import loss_and_factors
from transa.kernels.optimizers import update_row
from transa.kernels.scores import FAST
from transa.kernels.threads import share

#: 2^NEIGHBOURS rows that are adjacent in memory have the same owner, so that threads do not compete for cache lines.
NEIGHBOURS = 3
#: Numbers of a part of `update_rows`, at least: with fewer, a second thread would cost more than it does.
SHARED = 1 << 15


def loss_gradients(
    objective: Objective,
    scores: Array,
    factors: Array,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    active: npt.NDArray[np.bool_],
) -> None:
    """Write the loss of each positive, and its derivatives with respect to the scores of the positive and its negatives.

    The arrays are those of `transa.kernels.training.gradient_phase`, cut to the size of the batch.
    """
    _loss_gradients(tuple(objective), scores, factors, losses, violations, active)


@kernel(parallel=True)
def _loss_gradients(objective, scores, factors, losses, violations, active):
    loss, margin, temperature, negligible, _, _ = objective
    for b in prange(len(scores)):
        losses[b], violations[b], active[b] = loss_and_factors(
            loss, margin, temperature, negligible, scores, factors, b
        )


def scatter_gradients(at_head: npt.NDArray[np.bool_], by_head: Array, by_tail: Array, gradients: Array) -> None:
    """Add the gradients with respect to heads and tails to the rows of `gradients` they belong to.

    Row b (1 + K) of `by_head` and `by_tail` is positive b, and its K negatives follow. Rows of relations are left alone.
    """
    _scatter_gradients(at_head, by_head, by_tail, gradients)


@kernel(parallel=True)
def _scatter_gradients(at_head, by_head, by_tail, gradients):
    count = at_head.shape[1]
    for b in prange(len(at_head)):
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


def update_vectors(
    examples: Examples,
    num_entities: int,
    step: Step,
    factors: Array,
    active: npt.NDArray[np.bool_],
    gradients: Array,
    slots: npt.NDArray[np.int64],
    touched: npt.NDArray[np.int64],
    vectors: Array,
    first: Array,
    second: Array,
) -> None:
    """Add up the gradients of each row in the order of the batch and take one step on it.

    Parameters
    ----------
    examples, num_entities, step
        The batch, the number of entities, and how to step.
    factors, active, gradients
        The output of phase one. Gradients are overwritten: the sum for a row replaces its first gradient.
    slots, touched
        Scratch: for each row of the table the position of its sum, otherwise -1; and the rows that each part touches. There are as
        many parts as `touched` has rows.
    vectors, first, second
        The table, with or without rows of relations, and the state of the optimiser.
    """
    _update_vectors(
        tuple(examples), num_entities, tuple(step), factors, active, gradients, slots, touched, vectors, first, second
    )


@kernel(parallel=True, fastmath=FAST)
def _update_vectors(examples, num_entities, step, factors, active, gradients, slots, touched, vectors, first, second):
    triples, start, stop, negatives, _ = examples
    optimizer, number, learning_rates, penalties, constraints = step
    width = 3 + negatives.shape[1]
    relations = len(vectors) > num_entities
    size = vectors.shape[1]
    parts = len(touched)
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
                number,
                vectors,
                row,
                gradients,
                slots[row],
                first,
                second,
            )
            slots[row] = -1


def update_rows(
    rows: npt.NDArray[np.int32],
    step: Step,
    active: npt.NDArray[np.bool_],
    parts: int,
    gradients: Array,
    slots: npt.NDArray[np.int64],
    table: Array,
    first: Array,
    second: Array,
) -> None:
    """Add up the gradients of each row of a table in their order, and take one step on it.

    Parameters
    ----------
    rows, active, gradients
        The row that each gradient belongs to, and which of them hold a gradient. Gradients are overwritten.
    step
        How to step; of each array, the first value counts.
    parts
        How many parts to divide the work into, at most.
    slots
        Scratch, -1 for each row.
    table, first, second
        The table and the state of the optimiser, with the same rows.
    """
    parts = max(1, min(parts, gradients.size // SHARED))
    share(
        lambda part: _update_rows(part, parts, rows, tuple(step), active, gradients, slots, table, first, second), parts
    )


@kernel(fastmath=FAST, nogil=True)
def _update_rows(part, parts, rows, step, active, gradients, slots, table, first, second):
    optimizer, number, learning_rates, penalties, constraints = step
    size = table.shape[1]
    for turn in range(2):
        for b in range(len(rows)):
            row = rows[b]
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
                    optimizer,
                    learning_rates[0],
                    penalties[0],
                    constraints[0],
                    number,
                    table,
                    row,
                    gradients,
                    b,
                    first,
                    second,
                )


@njit(forceinline=True)
def _owner(row, parts):
    """Return the part that owns a row; rows are spread evenly, without a division."""
    return (((row >> NEIGHBOURS) * 2654435769) & 0xFFFFFFFF) * parts >> 32
