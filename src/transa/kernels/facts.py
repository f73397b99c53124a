"""Look-ups in the known-facts index, and the corruption that must avoid what it holds."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.cache import kernel
from transa.kernels.random import below, draw, unit


@njit(forceinline=True)
def find(values, start, stop, wanted):  # type: ignore[no-untyped-def]
    """Return the first position in the sorted ``values[start:stop]`` whose value is at least `wanted`."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(parallel=True)
def contains(queries, offsets, answers, asked, wanted):  # type: ignore[no-untyped-def]
    """Tell for each `i` whether ``wanted[i]`` is among the answers to the query ``asked[i]``."""
    found = np.zeros(len(asked), np.bool_)
    for i in prange(len(asked)):
        row = find(queries, 0, len(queries), asked[i])
        if row < len(queries) and queries[row] == asked[i]:
            stop = offsets[row + 1]
            place = find(answers, offsets[row], stop, wanted[i])
            found[i] = place < stop and answers[place] == wanted[i]
    return found


@njit(forceinline=True)
def absent(answers, start, stop, index):  # type: ignore[no-untyped-def]
    """Return the number at position `index` of those that are not in the sorted, distinct ``answers[start:stop]``.

    Before ``answers[j]`` there are ``answers[j] - (j - start)`` absent numbers; the search finds how many answers come first.
    """
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if answers[middle] - (middle - start) <= index:
            low = middle + 1
        else:
            high = middle
    return index + (low - start)


@njit(forceinline=True)
def corrupt_one(  # type: ignore[no-untyped-def]
    bits, head_probability, num_entities, head_start, head_stop, heads, tail_start, tail_stop, tails
):
    """Choose a side and an entity for it that makes no known triple, in one draw.

    The entity is uniform over all that are allowed: the same distribution as drawing until the result is unknown, but with no
    loop that might not end. A side on which every entity is known gives way to the other.

    Returns
    -------
    tuple of bool and int
        Whether the head is replaced, and by which entity (-1: every corruption on both sides is known).
    """
    free_heads = num_entities - (head_stop - head_start)
    free_tails = num_entities - (tail_stop - tail_start)
    replace_head = unit(bits) < head_probability
    if (replace_head and free_heads == 0) or (not replace_head and free_tails == 0):
        replace_head = not replace_head
    if replace_head:
        if free_heads == 0:
            return True, np.int64(-1)
        return True, absent(heads, head_start, head_stop, below(bits, free_heads))
    if free_tails == 0:
        return False, np.int64(-1)
    return False, absent(tails, tail_start, tail_stop, below(bits, free_tails))


@kernel(parallel=True)
def corrupt_pairs(  # type: ignore[no-untyped-def]
    triples, spans, start, stop, first, key, head_probability, num_entities, heads, tails, entities, at_head
):
    """Choose the corruptions of ``triples[start:stop]``: which entity, and whether it replaces the head.

    Parameters
    ----------
    triples
        Rows of (head, relation, tail).
    spans
        For each triple, where its known heads start and stop in `heads`, and its known tails in `tails`.
    first, key
        The counter of the first of these triples, and the sequence of random numbers.
    head_probability
        Of each relation.
    num_entities, heads, tails
        The index of known facts.
    entities, at_head
        Results, of shape (triples, negatives). An entity of -1 marks a triple of which every corruption is known.
    """
    negatives = entities.shape[1]
    for i in prange(stop - start):
        t = start + i
        for j in range(negatives):
            replace_head, entity = corrupt_one(
                draw(key, np.uint64((first + i) * negatives + j)),
                head_probability[triples[t, 1]],
                num_entities,
                spans[t, 0],
                spans[t, 1],
                heads,
                spans[t, 2],
                spans[t, 3],
                tails,
            )
            entities[i, j] = entity
            at_head[i, j] = replace_head
