"""Cross-entropy over candidate entities: scores, softmax and gradients as matrix products, a tile at a time.

The score of a candidate c for a query is ``a.c - w.c^2 - sum_m (u_m.c)^2 + b_c``, higher for better answers. A metric W on h + r - c is
of this form, with a = 2 W (h + r): the part that all candidates share does not change a softmax. A product of vectors has no w.

A tile is some queries against all candidates. Queries of one relation share w and the u_m, so they are sorted by relation, and their
squares are computed once for each relation of a tile. With Q queries of U relations, n candidates and k dimensions, a tile takes 6
(Q + U) n k operations in matrix products, 8 U n k more for each u_m, and one exponential for each pair.

Threads share a tile by chunks of candidates. A chunk's rows of the candidates' gradient belong to it alone. What chunks add to the
same place (sums of exponentials, gradients of queries) is kept apart and added in the order of chunks. So the result is the same for
any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.exponential import exp_not_positive
from transa.kernels.scores import ORDERED, in_order, inlined
from transa.kernels.threads import share

#: Candidates in a chunk.
CHUNK = 512
#: The score of candidates that do not count.
HIDDEN = -1e30


class Tile(NamedTuple):
    """Queries with their targets.

    Attributes
    ----------
    linear
        a of each query, of shape (Q, k).
    squared, owner
        w and the u_m of each relation, of shape (U, 1 + rank, k), and the row of each query in it. U is 0 where scores have no w.
    offsets, targets
        The right answers of query q are the candidates ``targets[offsets[q]:offsets[q + 1]]``.
    hidden_offsets, hidden
        In the same form the candidates that do not count.
    smoothing
        This share of a target's probability is spread evenly over all candidates.
    """

    linear: Array
    squared: Array
    owner: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    hidden_offsets: npt.NDArray[np.int64]
    hidden: npt.NDArray[np.int64]
    smoothing: float


class Space(NamedTuple):
    """The arrays that the chunks of a tile work in.

    Attributes
    ----------
    scores
        A chunk's scores of the tile's queries: (chunks, Q x CHUNK).
    tops, sums, aims
        For each chunk and query: the best score, the sum of exponentials relative to it, the sum of its targets' scores.
    by_linear, by_squared
        What each chunk adds to the gradients by a, and by w and u: (chunks, Q x k) and (chunks, U x (1 + rank) x k).
    """

    scores: Array
    tops: Array
    sums: npt.NDArray[np.float64]
    aims: npt.NDArray[np.float64]
    by_linear: Array
    by_squared: Array


def space_for(
    queries: int, rows: int, candidates: int, dim: int, kind: npt.DTypeLike, kept: Space | None = None
) -> Space:
    """Return the arrays for a tile of so many queries and rows of w and u.

    They are those of an earlier tile, `kept`, where these are large enough.
    """
    chunks = -(-candidates // CHUNK)
    widths = queries * min(CHUNK, candidates), queries, queries, queries, queries * dim, rows * dim
    kinds = kind, kind, np.float64, np.float64, kind, kind
    if kept is not None and all(
        part.shape[0] >= chunks and part.shape[1] >= width for part, width in zip(kept, widths, strict=True)
    ):
        return kept
    return Space(*(np.empty((chunks, width), each) for width, each in zip(widths, kinds, strict=True)))


def cross_entropy(
    tile: Tile,
    candidates: Array,
    bias: Array,
    space: Space,
    losses: npt.NDArray[np.float64],
    by_linear: Array,
    by_squared: Array,
    by_candidates: Array,
    by_bias: Array,
) -> None:
    """Write the loss of each query and the gradients by a and w; add the gradients by the candidates and their biases.

    Parameters
    ----------
    tile, candidates, bias
        The queries, the vectors of the candidates, and b; empty where candidates have none.
    space
        See `space_for`.
    losses, by_linear, by_squared
        Results, written.
    by_candidates, by_bias
        Results, added to what is there.
    """
    queries = len(tile.linear)
    chunks = -(-len(candidates) // CHUNK)
    scores, tops, sums, aims, parts_of_linear, parts_of_squared = (part[:chunks] for part in space)

    def score(chunk: int) -> None:
        own = _own_terms(tile.squared, candidates[chunk * CHUNK : (chunk + 1) * CHUNK])
        _score(chunk, tuple(tile), candidates, bias, own, scores, tops, sums, aims)

    def differentiate(chunk: int) -> None:
        part = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        slopes = np.empty((len(tile.squared), len(candidates[part])), candidates.dtype)
        _differentiate(chunk, tuple(tile), candidates, scores, shares, slopes, parts_of_linear, by_candidates, by_bias)
        own = parts_of_squared[chunk, : tile.squared.size].reshape(tile.squared.shape)
        _differentiate_own_terms(tile.squared, candidates[part], slopes, own, by_candidates[part])

    share(score, chunks)
    shares = _normalise(tile, tops[:, :queries], sums[:, :queries], aims[:, :queries], losses)
    share(differentiate, chunks)
    _add_chunks(parts_of_linear, np.add, by_linear)
    _add_chunks(parts_of_squared, np.subtract, by_squared)


def _own_terms(squared: Array, some: Array) -> Array:
    """Return ``w.c^2 + sum_m (u_m.c)^2`` of each relation and some candidates c."""
    found: Array = squared[:, 0] @ np.square(some).T
    for m in range(1, squared.shape[1]):
        found += np.square(squared[:, m] @ some.T)
    return found


def _differentiate_own_terms(
    squared: Array, some: Array, slopes: Array, by_squared: Array, by_candidates: Array
) -> None:
    """Write the gradient of ``slopes * own terms`` by w and the u_m, and subtract that by the candidates."""
    if not len(squared):
        return
    by_squared[:, 0] = slopes @ np.square(some)
    by_candidates -= 2 * some * (slopes.T @ squared[:, 0])
    for m in range(1, squared.shape[1]):
        bent = 2 * slopes * (squared[:, m] @ some.T)
        by_squared[:, m] = bent @ some
        by_candidates -= bent.T @ squared[:, m]


def _normalise(
    tile: Tile,
    tops: Array,
    sums: npt.NDArray[np.float64],
    aims: npt.NDArray[np.float64],
    losses: npt.NDArray[np.float64],
) -> Array:
    """Write the losses, and return by what each chunk's exponentials are multiplied to become probabilities, one for each answer."""
    best = tops.astype(np.float64)
    top = best.max(0)
    log_total = top + np.log((sums * np.exp(best - top)).sum(0))
    count = np.diff(tile.offsets)
    losses[: len(count)] = count * log_total - aims.sum(0)
    shares: Array = (np.exp(best - log_total) * count).astype(tile.linear.dtype)
    return shares


@kernel(fastmath=ORDERED, nogil=True)
def _score(chunk, tile, candidates, bias, own_terms, scores, tops, sums, aims):
    """Write a chunk's exponentials of scores, relative to its best score of each query."""
    linear, _, owner, offsets, targets, hidden_offsets, hidden, smoothing = tile
    queries, total = len(linear), len(candidates)
    low = chunk * CHUNK
    high = low + CHUNK if low + CHUNK < total else total
    some, width = candidates[low:high], high - low
    own = scores[chunk, : queries * width].reshape(queries, width)
    np.dot(linear, some.T, own)
    if len(own_terms):
        _subtract(own, own_terms, owner)
    if len(bias):
        _add_bias(own, bias, low)
    _find_aims(own, offsets, targets, low, high, smoothing / total, 1 - smoothing, aims, chunk)
    if len(hidden):
        _hide(own, hidden_offsets, hidden, low, high)
    for q in range(queries):
        tops[chunk, q], sums[chunk, q] = _exponentiate(own, q)


@inlined
def _exponentiate(own, q):
    """Replace the scores of a query by exponentials relative to the best; return the best, and the sum of the exponentials."""
    top, found = own[q, 0], own.dtype.type(0)
    for x in range(own.shape[1]):
        top = max(top, own[q, x])
    for x in range(own.shape[1]):
        value = exp_not_positive(own[q, x] - top)
        own[q, x] = value
        found += value
    return top, found


@in_order
def _subtract(own, shared, owner):
    for q in range(own.shape[0]):
        row = owner[q]
        for x in range(own.shape[1]):
            own[q, x] -= shared[row, x]


@in_order
def _add_bias(own, bias, low):
    for q in range(own.shape[0]):
        for x in range(own.shape[1]):
            own[q, x] += bias[low + x]


@in_order
def _hide(own, offsets, hidden, low, high):
    """Give the candidates that do not count a score that no other falls below."""
    for q in range(own.shape[0]):
        for place in range(offsets[q], offsets[q + 1]):
            if low <= hidden[place] < high:
                own[q, hidden[place] - low] = HIDDEN


@in_order
def _find_aims(own, offsets, targets, low, high, spread, rest, aims, chunk):
    """Write for each query what the scores of a chunk's candidates add to the expected score of its targets."""
    for q in range(own.shape[0]):
        found = 0.0
        for place in range(offsets[q], offsets[q + 1]):
            if low <= targets[place] < high:
                found += np.float64(own[q, targets[place] - low])
        found *= rest
        if spread > 0:
            every = 0.0
            for x in range(own.shape[1]):
                every += np.float64(own[q, x])
            found += spread * every * (offsets[q + 1] - offsets[q])
        aims[chunk, q] = found


@kernel(fastmath=ORDERED, nogil=True)
def _differentiate(chunk, tile, candidates, scores, shares, by_own_terms, by_linear, by_candidates, by_bias):
    """Turn a chunk's exponentials into derivatives by the scores, and these into gradients; those by own terms are negated."""
    linear, _, owner, offsets, targets, _, _, smoothing = tile
    queries, total, size = len(linear), len(candidates), candidates.shape[1]
    low = chunk * CHUNK
    high = low + CHUNK if low + CHUNK < total else total
    some, width = candidates[low:high], high - low
    slopes = scores[chunk, : queries * width].reshape(queries, width)
    for q in range(queries):
        share = shares[chunk, q]
        even = linear.dtype.type((offsets[q + 1] - offsets[q]) * (smoothing / total))
        for x in range(width):
            slopes[q, x] = share * slopes[q, x] - even
        for place in range(offsets[q], offsets[q + 1]):
            if low <= targets[place] < high:
                slopes[q, targets[place] - low] -= linear.dtype.type(1 - smoothing)
    np.dot(slopes, some, by_linear[chunk, : queries * size].reshape(queries, size))
    added = np.dot(slopes.T, linear)
    for x in range(width):
        for i in range(size):
            by_candidates[low + x, i] += added[x, i]
    if len(by_own_terms):
        _add_by_owner(slopes, owner, by_own_terms)
    if len(by_bias):
        for q in range(queries):
            for x in range(width):
                by_bias[low + x] += slopes[q, x]


@in_order
def _add_by_owner(slopes, owner, found):
    found[...] = 0
    for q in range(slopes.shape[0]):
        row = owner[q]
        for x in range(slopes.shape[1]):
            found[row, x] += slopes[q, x]


def _add_chunks(parts: Array, add: np.ufunc, result: Array) -> None:
    """Write the sum over chunks, in their order, of what each of them adds or subtracts."""
    result[...] = 0
    for part in parts:
        add(result, part[: result.size].reshape(result.shape), out=result)
