"""Lookups in the index of known facts, and corruption that avoids these facts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.random import below, draw, unit


@njit(forceinline=True)
def find(values, start, stop, wanted):
    """Return the first position in the sorted ``values[start:stop]`` whose value is at least `wanted`."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


def contains(queries: Array, offsets: Array, answers: Array, asked: Array, wanted: Array) -> npt.NDArray[np.bool_]:
    """Tell for each `i` whether ``wanted[i]`` is among the answers to the query ``asked[i]``."""
    found: npt.NDArray[np.bool_] = _contains(queries, offsets, answers, asked, wanted)
    return found


@kernel(parallel=True)
def _contains(queries, offsets, answers, asked, wanted):
    found = np.zeros(len(asked), np.bool_)
    for i in prange(len(asked)):
        row = find(queries, 0, len(queries), asked[i])
        if row < len(queries) and queries[row] == asked[i]:
            stop = offsets[row + 1]
            place = find(answers, offsets[row], stop, wanted[i])
            found[i] = place < stop and answers[place] == wanted[i]
    return found


def known_among(
    spans: Array, start: int, stop: int, heads: Array, tails: Array, entities: Array, known: npt.NDArray[np.bool_]
) -> None:
    """Tell which `entities` are known heads (``known[0]``) and known tails (``known[1]``) for rows `start` to `stop`."""
    _known_among(spans, start, stop, heads, tails, entities, known)


@kernel(parallel=True)
def _known_among(spans, start, stop, heads, tails, entities, known):
    for i in prange(stop - start):
        row = start + i
        for j in range(len(entities)):
            place = find(heads, spans[row, 0], spans[row, 1], entities[j])
            known[0, i, j] = place < spans[row, 1] and heads[place] == entities[j]
            place = find(tails, spans[row, 2], spans[row, 3], entities[j])
            known[1, i, j] = place < spans[row, 3] and tails[place] == entities[j]


@njit(forceinline=True)
def absent(answers, start, stop, index):
    """Return the number at position `index` among all numbers that are not in the sorted, distinct ``answers[start:stop]``.

    ``answers[j] - (j - start)`` absent numbers are below ``answers[j]``. A binary search finds how many answers are below the result.
    """
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if answers[middle] - (middle - start) <= index:
            low = middle + 1
        else:
            high = middle
    return index + (low - start)


class Candidates(NamedTuple):
    """The entities that corruption draws from.

    Attributes
    ----------
    head_probability
        For each relation, the probability that the head is replaced.
    num_entities, heads, tails
        The known facts: their answers, as in `transa.data.KnownFacts`.
    head_offsets, head_pool, tail_offsets, tail_pool
        The entities that may replace a head or tail of relation r are ``pool[offsets[r]:offsets[r + 1]]``, or all if pools are empty.
    head_places, tail_places
        For each answer, its position in the pool of its relation.
    """

    head_probability: Array
    num_entities: int
    heads: Array
    tails: Array
    head_offsets: Array
    head_pool: Array
    head_places: Array
    tail_offsets: Array
    tail_pool: Array
    tail_places: Array


@njit(forceinline=True)
def corrupt_one(bits, relation, head_start, head_stop, tail_start, tail_stop, candidates):
    """Choose in one draw a side and an entity for it that makes no known triple.

    The entity is uniform over all allowed ones. Drawing until the result is unknown has the same distribution, but its loop might not
    end. If every candidate for a side makes a known triple, the other side is replaced; if that holds for both sides, all entities
    become candidates.

    Returns
    -------
    tuple of bool and int
        Whether the head is replaced, and by which entity (-1 if every corruption of both sides is known).
    """
    replace_head = unit(bits) < candidates.head_probability[relation]
    if len(candidates.head_pool):
        first_head, first_tail = candidates.head_offsets[relation], candidates.tail_offsets[relation]
        free_heads = candidates.head_offsets[relation + 1] - first_head - (head_stop - head_start)
        free_tails = candidates.tail_offsets[relation + 1] - first_tail - (tail_stop - tail_start)
        if candidates.head_probability[relation] == 0:  # heads stay
            free_heads = 0
        at_head = replace_head if (free_heads > 0 and free_tails > 0) else free_heads > 0
        if at_head:
            place = absent(candidates.head_places, head_start, head_stop, below(bits, free_heads))
            return True, np.int64(candidates.head_pool[first_head + place])
        if free_tails > 0:
            place = absent(candidates.tail_places, tail_start, tail_stop, below(bits, free_tails))
            return False, np.int64(candidates.tail_pool[first_tail + place])
    free_heads = candidates.num_entities - (head_stop - head_start)
    free_tails = candidates.num_entities - (tail_stop - tail_start)
    if (replace_head and free_heads == 0) or (not replace_head and free_tails == 0):
        replace_head = not replace_head
    if replace_head:
        if free_heads == 0:
            return True, np.int64(-1)
        return True, absent(candidates.heads, head_start, head_stop, below(bits, free_heads))
    if free_tails == 0:
        return False, np.int64(-1)
    return False, absent(candidates.tails, tail_start, tail_stop, below(bits, free_tails))


def corrupt_pairs(
    triples: Array,
    spans: Array,
    start: int,
    stop: int,
    first: int,
    key: np.uint64,
    candidates: Candidates,
    entities: npt.NDArray[np.int32],
    at_head: npt.NDArray[np.bool_],
) -> None:
    """Choose the corruptions of ``triples[start:stop]``: which entity, and whether it replaces the head.

    Parameters
    ----------
    triples
        Rows of (head, relation, tail).
    spans
        For each triple, where its known heads start and stop in the index of heads, and its known tails in the index of tails.
    first, key
        The counter of the first of these triples, and the key of the random numbers.
    candidates
        The entities to draw from.
    entities, at_head
        Results, of shape (triples, negatives). The entity is -1 if every corruption of the triple is known.
    """
    _corrupt_pairs(triples, spans, start, stop, first, key, candidates, entities, at_head)


@kernel(parallel=True)
def _corrupt_pairs(triples, spans, start, stop, first, key, candidates, entities, at_head):
    negatives = entities.shape[1]
    for i in prange(stop - start):
        t = start + i
        for j in range(negatives):
            bits = draw(key, np.uint64((first + i) * negatives + j))
            replace_head, entity = corrupt_one(
                bits, triples[t, 1], spans[t, 0], spans[t, 1], spans[t, 2], spans[t, 3], candidates
            )
            entities[i, j] = entity
            at_head[i, j] = replace_head


def corrupt_shared(
    triples: Array,
    spans: Array,
    start: int,
    stop: int,
    first: int,
    key: np.uint64,
    candidates: Candidates,
    shared: npt.NDArray[np.int32],
    together: int,
    entities: npt.NDArray[np.int32],
    at_head: npt.NDArray[np.bool_],
) -> None:
    """Choose corruptions as `corrupt_pairs` does, but take the entities from those that some adjacent positives share.

    Row i of `shared` belongs to the `together` positives from ``start + together * i`` on. Where such an entity would make a known
    fact, the positive has a negative of its own.
    """
    _corrupt_shared(triples, spans, start, stop, first, key, candidates, shared, together, entities, at_head)


@kernel(parallel=True)
def _corrupt_shared(triples, spans, start, stop, first, key, candidates, shared, together, entities, at_head):
    negatives = entities.shape[1]
    heads, tails = candidates.heads, candidates.tails
    for i in prange(stop - start):
        t = start + i
        for j in range(negatives):
            bits = draw(key, np.uint64((first + i) * negatives + j))
            replace_head = unit(bits) < candidates.head_probability[triples[t, 1]]
            entity = np.int64(shared[i // together, j])
            if replace_head:
                place = find(heads, spans[t, 0], spans[t, 1], entity)
                known = place < spans[t, 1] and heads[place] == entity
            else:
                place = find(tails, spans[t, 2], spans[t, 3], entity)
                known = place < spans[t, 3] and tails[place] == entity
            if known:
                replace_head, entity = corrupt_one(
                    bits, triples[t, 1], spans[t, 0], spans[t, 1], spans[t, 2], spans[t, 3], candidates
                )
            entities[i, j] = entity
            at_head[i, j] = replace_head
