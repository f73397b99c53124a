"""The full metric: scores, gradients and the closed form on groups of triples of one relation, as matrix products.

A score |e|^T W |e| costs 2 k^2 operations, and W alone (160 KB at k = 200) does not fit the innermost cache. So triples of one
relation are taken together: with their residuals as the rows of A, one product A W gives the scores (the sums of A * AW along the
rows) and the gradients (2 AW with the signs of e), 2 k^2 operations a residual. The closed form A'^T A' - A^T A is the symmetric part
of (A' - A)^T (A' + A), 2 k^2 operations a pair.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.cache import kernel
from transa.kernels.codes import PSD
from transa.kernels.facts import corrupt_one
from transa.kernels.losses import loss_and_factors
from transa.kernels.random import draw
from transa.kernels.scores import FAST, scatter_residual

#: Triples whose pairs are multiplied at once in the closed form.
CHUNK = 256


@kernel(parallel=True, fastmath=FAST)
def grouped_gradient_phase(  # type: ignore[no-untyped-def]
    triples, groups, order, start, negatives, at_head, vectors, num_entities, metric, kind, root, loss, margin, temperature, negligible,
    scores, factors, gradients, losses, violations, active,
):  # fmt: skip
    """Phase one of a batch (see `transa.kernels.training`) under the full metric.

    `groups` holds the borders of the batch's groups: rows ``groups[g]`` to ``groups[g + 1]`` of `triples` have one relation. `start` is
    the batch's first row, `order` the order in which groups are taken; threads get even parts of it.
    """
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
                    residuals[row, i] = e if kind == PSD else abs(e)
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
                    if kind != PSD:
                        bent = bent if e > 0 else (-bent if e < 0 else vectors.dtype.type(0))
                    gradients[place, i] = bent
                scatter_residual(gradients, base, j, j >= 0 and at_head[b, j])


@kernel(parallel=True, fastmath=FAST)
def hinge_gradient_phase(  # type: ignore[no-untyped-def]
    triples, groups, order, start, negatives, at_head, vectors, num_entities, metric, kind, margin, factors, gradients, losses,
    violations, active,
):  # fmt: skip
    """As `grouped_gradient_phase`, for the margin loss on f_r itself, with fewer operations.

    f' - f = (|e'| - |e|)^T W (|e'| + |e|) needs one product a pair, and only the pairs that violate need the second, of |e'| + |e|,
    from which W|e| and W|e'| follow.
    """
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
                if kind != PSD:
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
                    gradients[base, i] = bent if kind == PSD or e > 0 else (-bent if e < 0 else like(0))
                scatter_residual(gradients, base, -1, False)
            for i in range(size):
                e = vectors[false_head, i] + vectors[shift, i] - vectors[false_tail, i]
                bent = bent_above[k, i] + bent_below[pair, i]
                gradients[base + 3 + j, i] = -bent if kind == PSD or e > 0 else (bent if e < 0 else like(0))
            scatter_residual(gradients, base, j, at_head[b, j])


@njit(forceinline=True)
def _ends(triples, t, negatives, at_head, b, j):  # type: ignore[no-untyped-def]
    """Head and tail of a triple, and of its negative `j`."""
    head, tail, entity = np.int64(triples[t, 0]), np.int64(triples[t, 2]), np.int64(negatives[b, j])
    return (head, tail, entity, tail) if at_head[b, j] else (head, tail, head, entity)


@kernel(parallel=True, fastmath=FAST)
def closed_form(  # type: ignore[no-untyped-def]
    triples, spans, offsets, order, key, candidates, vectors, metric, signed, violating, margin, negatives, root,
):  # fmt: skip
    """Replace each W_r by the mean over `negatives` of sum |e'||e'|^T - sum |e||e|^T over its triples.

    A pair's share is the symmetric part of (|e'| - |e|)(|e'| + |e|)^T: one outer product in place of two.

    Parameters
    ----------
    triples, spans
        Sorted by relation, with the spans of `transa.kernels.facts.corrupt_pairs`.
    offsets
        The triples of relation r are ``offsets[r]`` to ``offsets[r + 1]``. The W_r of a relation without any becomes 0.
    order
        In which order relations are taken; threads get even parts of this list.
    key, candidates
        For the corruptions, drawn anew.
    vectors, metric
        The parameters; `metric` is overwritten.
    signed
        Take e in place of |e| (Adaptive Metric).
    violating, margin, root
        Count only pairs whose negative scores within the margin under the W_r before.
    """
    size, num_entities = vectors.shape[1], candidates.num_entities
    share = vectors.dtype.type(1.0 / negatives)
    for turn in prange(len(order)):
        relation = order[turn]
        total = np.zeros((size, size), vectors.dtype)
        for begin in range(offsets[relation], offsets[relation + 1], CHUNK):
            end = min(begin + CHUNK, offsets[relation + 1])
            pairs = (end - begin) * negatives
            above, below = np.empty((pairs, size), vectors.dtype), np.empty((pairs, size), vectors.dtype)
            for pair in range(pairs):
                t = begin + pair // negatives
                head, tail = np.int64(triples[t, 0]), np.int64(triples[t, 2])
                at_head, entity = corrupt_one(
                    draw(key, np.uint64(begin * negatives + pair)), relation,
                    spans[t, 0], spans[t, 1], spans[t, 2], spans[t, 3], candidates,
                )  # fmt: skip
                false_head = np.int64(entity) if at_head else head
                false_tail = tail if at_head else np.int64(entity)
                for i in range(size):
                    true = vectors[head, i] + vectors[num_entities + relation, i] - vectors[tail, i]
                    false = vectors[false_head, i] + vectors[num_entities + relation, i] - vectors[false_tail, i]
                    if not signed:
                        true, false = abs(true), abs(false)
                    above[pair, i] = false + true
                    below[pair, i] = share * (false - true)
            if violating:
                _drop_pairs_beyond(margin, above, below, metric[relation], negatives, root)
            product = np.dot(below.T, above)
            for i in range(size):
                for j in range(size):
                    total[i, j] += product[i, j]
        half = vectors.dtype.type(0.5)
        for i in range(size):
            for j in range(size):
                metric[relation, i, j] = half * (total[i, j] + total[j, i])


@kernel(parallel=True, fastmath=FAST)
def finish_metric(metric, counts, columns, clip, scale, mean, shrinkage, ones):  # type: ignore[no-untyped-def]
    """Turn closed forms into metrics, in place.

    Parameters
    ----------
    metric, counts
        The closed form of each relation and the number of its triples. A relation without any gets the prior.
    columns
        Add the identity, scale every column to norm 1 and take the symmetric part, which is all that f_r sees; nothing else.
    clip
        Set negative entries to 0.
    scale
        Multiply by this.
    mean
        If above 0, scale to this mean of the diagonal instead; a matrix without a trace becomes the prior.
    shrinkage, ones
        Mix with the prior, the identity or all ones (times `mean`), in the proportion counts : shrinkage.
    """
    size = metric.shape[1]
    like = metric.dtype.type
    height = like(mean) if mean > 0 else like(1)
    for relation in prange(len(metric)):
        factor = like(scale)
        if columns:
            for j in range(size):
                norm = like(0)
                for i in range(size):
                    value = metric[relation, i, j] + (1 if i == j else 0)
                    norm += value * value
                norm = max(np.sqrt(norm), like(1e-12))
                for i in range(size):
                    metric[relation, i, j] = (metric[relation, i, j] + (1 if i == j else 0)) / norm
            for i in range(size):
                for j in range(i):
                    mean = (metric[relation, i, j] + metric[relation, j, i]) / 2
                    metric[relation, i, j] = mean
                    metric[relation, j, i] = mean
            factor = like(1)
        elif mean > 0:
            total = like(0)
            for i in range(size):
                total += max(metric[relation, i, i], like(0)) if clip else metric[relation, i, i]
            factor = like(size * mean) / total if total > like(1e-12) else like(0)
        own = (
            like(counts[relation] / max(counts[relation] + shrinkage, 1e-12))
            if factor > 0 and counts[relation] > 0
            else like(0)
        )
        for i in range(size):
            for j in range(size):
                value = metric[relation, i, j]
                if clip and value < 0:
                    value = like(0)
                prior = height if ones or i == j else like(0)
                metric[relation, i, j] = own * factor * value + (1 - own) * prior


@njit(fastmath=FAST, forceinline=True)
def _drop_pairs_beyond(margin, above, below, metric, negatives, root):  # type: ignore[no-untyped-def]
    """Set `below` to 0 for pairs whose negative scores at least `margin` more than the positive."""
    for_above, for_below = np.dot(above, metric), np.dot(below, metric)
    for pair in range(len(above)):
        true = false = 0.0
        for i in range(above.shape[1]):
            plus, minus = above[pair, i], negatives * below[pair, i]
            bent_plus, bent_minus = for_above[pair, i], negatives * for_below[pair, i]
            true += (plus - minus) * (bent_plus - bent_minus) / 4
            false += (plus + minus) * (bent_plus + bent_minus) / 4
        if root:
            true, false = np.sqrt(max(true, 0.0)), np.sqrt(max(false, 0.0))
        if true + margin <= false:
            below[pair] = 0
