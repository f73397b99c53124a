"""Training under a full metric, with matrix products over groups of triples of one relation.

A score |e|^T W |e| costs 2 k^2 operations, and W alone (160 KB at k = 200) does not fit the innermost cache. So the kernels process
triples of one relation together. If the rows of A are their residuals, one product A W gives the scores (the sums of A * AW along the
rows) and the gradients (2 AW with the signs of e), with 2 k^2 operations for each residual.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array, Examples, Objective, Tables
from transa.kernels.cache import kernel
from transa.kernels.losses import loss_and_factors
from transa.kernels.scores import FAST
from transa.kernels.scores.residuals import scatter_residual


def grouped_gradient_phase(
    groups: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    absolute: bool,
    examples: Examples,
    tables: Tables,
    objective: Objective,
    scores: Array,
    factors: Array,
    gradients: Array,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    active: npt.NDArray[np.bool_],
) -> None:
    """Compute the gradients of a batch under the full metric: phase one, as in `transa.kernels.training.gradient_phase`.

    Parameters
    ----------
    groups, order
        Rows ``groups[g]`` to ``groups[g + 1]`` of the triples have the same relation. Groups are processed in this order; threads get
        equal parts of it.
    absolute
        Whether the metric weighs |e| instead of e.
    examples, tables, objective
        See `transa.kernels.arguments`; ``tables.extra`` holds the metrics.
    scores, factors, gradients, losses, violations, active
        Results, as in `gradient_phase`.
    """
    _grouped_gradient_phase(
        groups,
        order,
        absolute,
        tuple(examples),
        tuple(tables),
        tuple(objective),
        scores,
        factors,
        gradients,
        losses,
        violations,
        active,
    )


@kernel(parallel=True, fastmath=FAST)
def _grouped_gradient_phase(
    groups, order, absolute, examples, tables, objective, scores, factors, gradients, losses, violations, active
):
    triples, start, _, negatives, at_head = examples
    vectors, num_entities, metric, _ = tables
    loss, margin, temperature, negligible, root, _ = objective
    size = vectors.shape[1]
    count = negatives.shape[1]
    for turn in prange(len(order)):
        g = order[turn]
        first, last = groups[g], groups[g + 1]
        relation = triples[first, 1]
        residuals = np.empty(((last - first) * (1 + count), size), vectors.dtype)
        for t in range(first, last):
            b = t - start
            base = b * (3 + count)
            for j in range(-1, count):
                other = triples[t, 0] if j < 0 else negatives[b, j]
                head = other if j < 0 or at_head[b, j] else triples[t, 0]
                tail = triples[t, 2] if j < 0 or at_head[b, j] else other
                place = base if j < 0 else base + 3 + j
                row = (t - first) * (1 + count) + j + 1
                for i in range(size):
                    e = vectors[head, i] + vectors[num_entities + relation, i] - vectors[tail, i]
                    gradients[place, i] = e
                    residuals[row, i] = abs(e) if absolute else e
        products = np.dot(residuals, metric[relation])
        for t in range(first, last):
            b = t - start
            base = b * (3 + count)
            for j in range(1 + count):
                row = (t - first) * (1 + count) + j
                value = vectors.dtype.type(0)
                for i in range(size):
                    value += residuals[row, i] * products[row, i]
                scores[b, j] = np.sqrt(max(value, vectors.dtype.type(1e-24))) if root else value
            losses[b], violations[b], active[b] = loss_and_factors(
                loss, margin, temperature, negligible, scores, factors, b
            )
            if not active[b]:
                continue
            for j in range(-1, count):
                factor = factors[b, j + 1]
                if factor == 0 and j >= 0:
                    continue
                scale = vectors.dtype.type(factor / scores[b, j + 1] if root else 2 * factor)
                place = base if j < 0 else base + 3 + j
                row = (t - first) * (1 + count) + j + 1
                for i in range(size):
                    e = gradients[place, i]
                    bent = scale * products[row, i]
                    if absolute:
                        bent = bent if e > 0 else (-bent if e < 0 else vectors.dtype.type(0))
                    gradients[place, i] = bent
                scatter_residual(gradients, (place, base, -1 if j < 0 else int(at_head[b, j])))


def hinge_gradient_phase(
    groups: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    absolute: bool,
    examples: Examples,
    tables: Tables,
    objective: Objective,
    factors: Array,
    gradients: Array,
    losses: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
    active: npt.NDArray[np.bool_],
) -> None:
    """Do the work of `grouped_gradient_phase` with fewer operations, for the margin loss on f_r itself.

    f' - f = (|e'| - |e|)^T W (|e'| + |e|) needs one matrix product for each pair. Only pairs that violate the margin need a second one,
    of |e'| + |e|, from which W|e| and W|e'| follow.
    """
    _hinge_gradient_phase(
        groups,
        order,
        absolute,
        tuple(examples),
        tuple(tables),
        tuple(objective),
        factors,
        gradients,
        losses,
        violations,
        active,
    )


@kernel(parallel=True, fastmath=FAST)
def _hinge_gradient_phase(
    groups, order, absolute, examples, tables, objective, factors, gradients, losses, violations, active
):
    triples, start, _, negatives, at_head = examples
    vectors, num_entities, metric, _ = tables
    _, margin, _, _, _, _ = objective
    size = vectors.shape[1]
    count = negatives.shape[1]
    like = vectors.dtype.type
    for turn in prange(len(order)):
        g = order[turn]
        first, last = groups[g], groups[g + 1]
        relation = triples[first, 1]
        shift = num_entities + relation
        pairs = (last - first) * count
        above, below = np.empty((pairs, size), vectors.dtype), np.empty((pairs, size), vectors.dtype)
        for pair in range(pairs):
            t = first + pair // count
            head, tail, false_head, false_tail = _ends(triples, t, negatives, at_head, t - start, pair % count)
            for i in range(size):
                true = vectors[head, i] + vectors[shift, i] - vectors[tail, i]
                false = vectors[false_head, i] + vectors[shift, i] - vectors[false_tail, i]
                if absolute:
                    true, false = abs(true), abs(false)
                above[pair, i] = false + true
                below[pair, i] = false - true
        bent_below = np.dot(below, metric[relation])
        violating = np.empty(pairs, np.int64)
        found = 0
        for t in range(first, last):
            b = t - start
            before = found
            losses[b] = 0.0
            for j in range(count):
                pair = (t - first) * count + j
                rise = like(0)
                for i in range(size):
                    rise += bent_below[pair, i] * above[pair, i]
                gap = margin - np.float64(rise)
                factors[b, j + 1] = -1 if gap > 0.0 else 0
                if gap > 0.0:
                    losses[b] += gap
                    violating[found] = pair
                    for i in range(size):
                        above[found, i] = above[pair, i]
                    found += 1
            violations[b] = found - before
            factors[b, 0] = violations[b]
            active[b] = found > before
        bent_above = np.dot(above[:found], metric[relation])
        for k in range(found):
            pair = violating[k]
            t = first + pair // count
            b, j = t - start, pair % count
            base = b * (3 + count)
            head, tail, false_head, false_tail = _ends(triples, t, negatives, at_head, b, j)
            if k == 0 or violating[k - 1] // count != pair // count:
                for i in range(size):
                    e = vectors[head, i] + vectors[shift, i] - vectors[tail, i]
                    bent = like(violations[b]) * (bent_above[k, i] - bent_below[pair, i])
                    gradients[base, i] = bent if not absolute or e > 0 else (-bent if e < 0 else like(0))
                scatter_residual(gradients, (base, base, -1))
            for i in range(size):
                e = vectors[false_head, i] + vectors[shift, i] - vectors[false_tail, i]
                bent = bent_above[k, i] + bent_below[pair, i]
                gradients[base + 3 + j, i] = -bent if not absolute or e > 0 else (bent if e < 0 else like(0))
            scatter_residual(gradients, (base + 3 + j, base, int(at_head[b, j])))


@njit(forceinline=True)
def _ends(triples, t, negatives, at_head, b, j):
    """Return head and tail of a triple, and of its negative `j`."""
    head, tail, entity = np.int64(triples[t, 0]), np.int64(triples[t, 2]), np.int64(negatives[b, j])
    return (head, tail, entity, tail) if at_head[b, j] else (head, tail, head, entity)
