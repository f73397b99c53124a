"""Paths of one and two steps between entities, and how reliable they are (path-constraint resource allocation, Lin et al. 2015).

Step r goes along relation r, and step r + relations against it. A path is numbered first * (steps + 1) + second, where `steps` is twice
the number of relations; a path of one step has `steps` in the place of its second one. No walk is stored: the rows of two entities are
joined whenever the paths between them are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from transa.kernels.cache import kernel
from transa.kernels.facts import find

#: From this ratio of two rows on, the entries of the shorter one are looked up in the longer one.
UNEQUAL = 8


class PathIndex(NamedTuple):
    """Every training triple from both of its ends.

    Attributes
    ----------
    starts
        The steps from entity e are those from ``starts[e]`` to ``starts[e + 1]``, in the order of the other end and of the step.
    others, steps
        The other end, and the step that leads there.
    shares
        Of shape (2, steps). What resource allocation passes on: one divided by the number of ends that this step has from e, and that
        the opposite step has from the other end.
    relations
        How many relations there are.
    """

    starts: npt.NDArray[np.int64]
    others: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float64]
    relations: int


class FoundPaths(NamedTuple):
    """The paths of some pairs of entities.

    Attributes
    ----------
    offsets
        Those of pair i are from ``offsets[i]`` to ``offsets[i + 1]``.
    paths, walks
        The number of each path, and of the walks over it.
    reliability
        Of shape (paths, 2): from head to tail and, over the reversed path, from tail to head; divided by the sum over all paths.
    """

    offsets: npt.NDArray[np.int64]
    paths: npt.NDArray[np.int64]
    walks: npt.NDArray[np.int64]
    reliability: npt.NDArray[np.float64]


@njit
def opposite(step, relations):
    """Return the step in the other direction."""
    return step - relations if step >= relations else step + relations


@njit
def mark(index, before, entity, marks):
    """Forget where the steps of the entity `before` (-1: none) lead, and note where in the row of another one each end begins."""
    starts, others = index.starts, index.others
    if before >= 0:
        for i in range(starts[before], starts[before + 1]):
            marks[others[i]] = -1
    for i in range(starts[entity + 1] - 1, starts[entity] - 1, -1):
        marks[others[i]] = i


@njit
def walk(index, head, marks, tail, paths, shares):
    """Write the paths of all walks of one and two steps from a marked head to a tail, and return how many walks there are.

    Parameters
    ----------
    index, head, marks, tail
        The index, and the two entities; `mark` has marked the head.
    paths, shares
        Of shape (2, room) and (2, room): the two steps of each walk, and its share of the resource in both directions. Walks for which
        there is no room are counted and not written.
    """
    starts, others, steps, passed, relations = index.starts, index.others, index.steps, index.shares, index.relations
    space = paths.shape[1]
    last, begin, stop = starts[head + 1], starts[tail], starts[tail + 1]
    count = 0
    i = marks[tail]
    while 0 <= i < last and others[i] == tail:
        if count < space:
            paths[0, count] = steps[i]
            paths[1, count] = 2 * relations
            shares[0, count] = passed[0, i]
            shares[1, count] = passed[1, i]
        count += 1
        i += 1
    few = stop - begin > UNEQUAL * (last - starts[head])
    at, end = (starts[head], last) if few else (begin, stop)
    while at < end:
        middle = others[at]
        i = at if few else marks[middle]
        first = find(others, begin, stop, middle) if few else at
        until = first
        while until < stop and others[until] == middle:
            until += 1
        upto = i
        while 0 <= upto < last and others[upto] == middle:
            for j in range(first, until):
                if count < space:
                    paths[0, count] = steps[upto]
                    paths[1, count] = opposite(steps[j], relations)
                    shares[0, count] = passed[0, upto] * passed[1, j]
                    shares[1, count] = passed[1, upto] * passed[0, j]
                count += 1
            upto += 1
        at = upto if few else until
    return count


def find_paths(index: PathIndex, pairs: npt.NDArray[np.int32], own: npt.NDArray[np.int32], limit: float) -> FoundPaths:
    """Return the paths between some pairs whose reliability, in one direction or the other, is above a limit.

    Parameters
    ----------
    index
        All training triples.
    pairs
        Rows of (head, tail); fastest if pairs with the same head stand together.
    own
        For each pair a step that is no path of it, or -1.
    limit
        The smallest reliability.
    """
    return FoundPaths(*_find_paths(index, pairs, own, limit))


@kernel()
def _find_paths(index, pairs, own, limit):
    steps = 2 * index.relations
    marks = np.full(len(index.starts) - 1, -1, np.int64)
    before = np.int64(-1)
    walked, shares = np.empty((2, 1024), np.int32), np.empty((2, 1024))
    keys, used, counts, sums = _table(1024)
    offsets = np.zeros(len(pairs) + 1, np.int64)
    paths, walks, reliability = np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 2))
    found = 0
    for pair in range(len(pairs)):
        head, tail = np.int64(pairs[pair, 0]), np.int64(pairs[pair, 1])
        if head != before:
            mark(index, before, head, marks)
            before = head
        number = walk(index, head, marks, tail, walked, shares)
        if number > walked.shape[1]:
            walked, shares = np.empty((2, 2 * number), np.int32), np.empty((2, 2 * number))
            keys, used, counts, sums = _table(2 * number)
            walk(index, head, marks, tail, walked, shares)
        filled, there, back = 0, 0.0, 0.0
        for w in range(number):
            if walked[0, w] == own[pair] and walked[1, w] == steps:
                continue
            key = np.int64(walked[0, w]) * (steps + 1) + walked[1, w]
            slot = slot_of(keys, key)
            if keys[slot] == -1:
                keys[slot] = key
                counts[slot] = 0
                sums[slot, 0] = sums[slot, 1] = 0.0
                used[filled] = slot
                filled += 1
            counts[slot] += 1
            sums[slot, 0] += shares[0, w]
            sums[slot, 1] += shares[1, w]
            there += shares[0, w]
            back += shares[1, w]
        if found + filled > len(paths):
            size = 2 * (found + filled) + 16 * len(pairs)
            paths, walks = _longer(paths, found, size), _longer(walks, found, size)
            more = np.empty((size, 2))
            more[:found] = reliability[:found]
            reliability = more
        for place in range(filled):
            slot = used[place]
            one, other = sums[slot, 0] / there, sums[slot, 1] / back
            if max(one, other) > limit:
                paths[found] = keys[slot]
                walks[found] = counts[slot]
                reliability[found, 0] = one
                reliability[found, 1] = other
                found += 1
            keys[slot] = -1
        offsets[pair + 1] = found
    return offsets, paths[:found], walks[:found], reliability[:found]


@njit
def _table(entries):
    """Return an empty hash table: keys, the places in use, and what is counted and summed for each."""
    size = table_size(entries)
    return np.full(size, -1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, 2))


@njit
def _longer(values, used, size):
    longer = np.empty(size, np.int64)
    longer[:used] = values[:used]
    return longer


@njit
def table_size(entries):
    """Return the size of a hash table for so many entries."""
    size = 64
    while size < 2 * entries:
        size *= 2
    return size


@njit
def slot_of(keys, key):
    """Return the place of a key in a hash table, or the free place where it belongs."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot
