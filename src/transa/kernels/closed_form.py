"""The closed form of W_r: sum |e'||e'|^T - sum |e||e|^T over the corrupted and true triples of a relation.

If the rows of A are the residuals of triples and the rows of A' those of their corruptions, A'^T A' - A^T A is the symmetric part of
(A' - A)^T (A' + A). That takes 2 k^2 operations for each pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.facts import Candidates, corrupt_one
from transa.kernels.random import draw
from transa.kernels.scores import FAST

#: How many triples are multiplied at once, with their negatives.
CHUNK = 256


class ClosedForm(NamedTuple):
    """How to compute the closed form of W_r.

    Attributes
    ----------
    absolute
        Use |e| (TransA) instead of e (Adaptive Metric).
    violating, margin, root
        Count only pairs whose negative scores within the margin under the previous W_r; with `root`, take square roots of the scores.
    negatives
        Corruptions of each triple.
    """

    absolute: bool
    violating: bool
    margin: float
    root: bool
    negatives: int


class SortedTriples(NamedTuple):
    """Training triples sorted by relation.

    Attributes
    ----------
    triples, spans
        The triples, and their spans as in `transa.kernels.facts.corrupt_pairs`.
    offsets
        The triples of relation r are rows ``offsets[r]`` to ``offsets[r + 1]``.
    """

    triples: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]


def closed_form(
    how: ClosedForm,
    triples: SortedTriples,
    order: npt.NDArray[np.int64],
    key: np.uint64,
    candidates: Candidates,
    vectors: Array,
    metric: Array,
) -> None:
    """Set each W_r to sum |e'||e'|^T - sum |e||e|^T over its triples, averaged over the negatives of a triple.

    A pair adds the symmetric part of (|e'| - |e|)(|e'| + |e|)^T: one outer product instead of two.

    Parameters
    ----------
    how
        See `ClosedForm`.
    triples, order
        The training triples, and the order in which relations are processed; threads get equal parts of it.
    key, candidates
        For drawing new corruptions.
    vectors, metric
        The parameters. `metric` is overwritten; the W_r of a relation without triples becomes 0.
    """
    _closed_form(how, triples, order, key, candidates, vectors, metric)


@kernel(parallel=True, fastmath=FAST)
def _closed_form(how, sorted_triples, order, key, candidates, vectors, metric):
    absolute, violating, margin, root, negatives = how
    triples, spans, offsets = sorted_triples
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
                places = (head, num_entities + relation, tail, np.int64(entity))
                _write_pair(vectors, places, at_head, absolute, share, above, below, pair)
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


def closed_form_sums(
    how: ClosedForm,
    triples: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    entities: npt.NDArray[np.int32],
    at_head: npt.NDArray[np.bool_],
    vectors: Array,
    num_entities: int,
    sums: Array,
) -> None:
    """Write (|e'| - |e|)(|e'| + |e|)^T, summed over groups of triples, for corruptions that are given.

    The symmetric part of such sums, added up over all triples of a relation, is what `closed_form` computes.

    Parameters
    ----------
    how
        See `ClosedForm`; all pairs count.
    triples, offsets
        Rows of (head, relation, tail); group i, all of one relation, is rows ``offsets[i]`` to ``offsets[i + 1]``.
    entities, at_head
        Their corruptions, as of `transa.kernels.facts.corrupt_pairs`.
    vectors, num_entities
        The vectors of entities and then of relations.
    sums
        Results, of shape (groups, k, k).
    """
    _closed_form_sums(tuple(how), triples, offsets, entities, at_head, vectors, num_entities, sums)


@kernel(parallel=True, fastmath=FAST)
def _closed_form_sums(how, triples, offsets, entities, at_head, vectors, num_entities, sums):
    absolute, _, _, _, negatives = how
    size = vectors.shape[1]
    share = vectors.dtype.type(1.0 / negatives)
    for group in prange(len(offsets) - 1):
        sums[group] = 0
        for begin in range(offsets[group], offsets[group + 1], CHUNK):
            end = min(begin + CHUNK, offsets[group + 1])
            pairs = (end - begin) * negatives
            above, below = np.empty((pairs, size), vectors.dtype), np.empty((pairs, size), vectors.dtype)
            for pair in range(pairs):
                t, j = begin + pair // negatives, pair % negatives
                places = (triples[t, 0], num_entities + triples[t, 1], triples[t, 2], entities[t, j])
                _write_pair(vectors, places, at_head[t, j], absolute, share, above, below, pair)
            product = np.dot(below.T, above)
            for i in range(size):
                for j in range(size):
                    sums[group, i, j] += product[i, j]


@njit(fastmath=FAST, forceinline=True)
def _write_pair(vectors, places, at_head, absolute, share, above, below, pair):
    """Write |e'| + |e|, and `share` times |e'| - |e|, of a triple and its corruption; `places` are head, relation, tail, new entity."""
    head, relation, tail, entity = places
    false_head = entity if at_head else head
    false_tail = tail if at_head else entity
    for i in range(vectors.shape[1]):
        true = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        false = vectors[false_head, i] + vectors[relation, i] - vectors[false_tail, i]
        if absolute:
            true, false = abs(true), abs(false)
        above[pair, i] = false + true
        below[pair, i] = share * (false - true)


def finish_metric(
    metric: Array,
    counts: npt.NDArray[np.int64],
    columns: bool,
    clip: bool,
    scale: float,
    mean: float,
    shrinkage: float,
    ones: bool,
) -> None:
    """Turn closed forms into metrics, in place.

    Parameters
    ----------
    metric, counts
        The closed form of each relation, and the number of its triples. A relation without triples gets the prior.
    columns
        Add the identity, scale every column to norm 1 and keep the symmetric part, which is all that f_r sees. Ignore `scale`.
    clip
        Set negative entries to 0.
    scale
        Multiply by this factor.
    mean
        If above 0, scale to this mean of the diagonal instead; a matrix whose trace is not positive becomes the prior.
    shrinkage, ones
        Mix with the prior (the identity or all ones, times `mean`) in the proportion counts : shrinkage.
    """
    _finish_metric(metric, counts, columns, clip, scale, mean, shrinkage, ones)


@kernel(parallel=True, fastmath=FAST)
def _finish_metric(metric, counts, columns, clip, scale, mean, shrinkage, ones):
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
def _drop_pairs_beyond(margin, above, below, metric, negatives, root):
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
