"""Counts of rules without constants: r(x, y) <= s1(x, z), s2(z, y), and those of fewer and of more atoms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.facts import find
from transa.kernels.rule_index import RuleIndex, longer, row_of


def count_chains(index: RuleIndex, first: int, sources: Array, length: int, support: int) -> npt.NDArray[np.int64]:
    """Return the rules whose body begins with a step, as rows of (further steps, relation, support, body, PCA body).

    A body grounds x, y and what is between them in different entities. It is counted once for each pair (x, y).

    Parameters
    ----------
    index
        The facts.
    first
        The first step of the bodies.
    sources
        The rows of this step to start from, or a part of them.
    length
        The most atoms of a body. Where one is shorter, the steps after its last are -1.
    support
        Rules of less support are left out.
    """
    found: npt.NDArray[np.int64] = _count_chains(index, first, sources, length, support)
    return found


@njit
def _add(keys, counts, key, more):
    """Add to a count of an open-addressing table; return whether the key is new."""
    mask = len(keys) - 1
    place = (key * np.int64(-7046029254386353131) >> np.int64(24)) & mask
    while keys[place] != -1 and keys[place] != key:
        place = (place + 1) & mask
    new = keys[place] == -1
    keys[place] = key
    counts[place] += more
    return new


@njit
def _find(keys, values, key):
    """Return the value of a key in an open-addressing table, or -1."""
    mask = len(keys) - 1
    place = (key * np.int64(-7046029254386353131) >> np.int64(24)) & mask
    while keys[place] != -1 and keys[place] != key:
        place = (place + 1) & mask
    return values[place] if keys[place] == key else -1


@njit
def _grown(keys, counts):
    """Return a table of twice the size with the same counts."""
    larger, sums = np.full(2 * len(keys), -1, np.int64), np.zeros(2 * len(keys), np.int64)
    for place in range(len(keys)):
        if keys[place] >= 0:
            _add(larger, sums, keys[place], counts[place])
    return larger, sums


@njit
def _wider(values):
    """Return an array whose rows are twice as long, with the same beginnings."""
    larger = np.empty((values.shape[0], 2 * values.shape[1]), values.dtype)
    larger[:, : values.shape[1]] = values
    return larger


@njit
def _by_step(index, level, places, number, heads, rows, touched):
    """Sort the rows of the entities of a level by their steps, as linked lists; return how many steps there are, and the lists.

    Entry i is ``rows[level, :, i]``: the next entry of its step, the row, and the place of the entity. The first entry of step s is
    ``heads[level, s]``.
    """
    size, steps = 0, 0
    for origin in range(number):
        for row in range(index.first[places[origin]], index.first[places[origin] + 1]):
            if size == rows.shape[2]:
                larger = np.empty((rows.shape[0], 3, 2 * rows.shape[2]), rows.dtype)
                larger[:, :, : rows.shape[2]] = rows
                rows = larger
            step = index.steps[row]
            if heads[level, step] < 0:
                touched[level, steps] = step
                steps += 1
            rows[level, 0, size], rows[level, 1, size], rows[level, 2, size] = heads[level, step], row, origin
            heads[level, step] = size
            size += 1
    return steps, rows


@njit
def _passed(nodes, parents, level, origin, y):
    """Tell whether the way to a node of a level passes through y."""
    while level >= 0:
        if nodes[level, origin] == y:
            return True
        origin = parents[level, origin]
        level -= 1
    return False


@kernel(nogil=True)
def _count_chains(index, first, sources, length, support):
    entities, relations = len(index.first) - 1, index.relations
    steps, width = 2 * relations, relations + 1
    stamp, slot = np.zeros(entities, np.int64), np.zeros(entities, np.int64)
    tick = 0
    # level l has the ways that the body takes after l + 1 atoms: where each ends, and what it extends on the level before; and the
    # rows that go on from there, by their steps, of which `done` have been followed
    heads, touched = np.full((length, steps), -1, np.int64), np.empty((length, steps), np.int64)
    rows = np.empty((length, 3, 64), np.int64)
    nodes, parents = np.empty((length, 64), np.int64), np.empty((length, 64), np.int64)
    body, done, there = np.zeros(length, np.int64), np.zeros(length, np.int64), np.zeros(length, np.int64)
    keys, counts, used = np.full(1 << 10, -1, np.int64), np.zeros(1 << 10, np.int64), 0
    # what each source adds to each body, for the PCA
    body_of, source_of, pairs_of, entries = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64), 0
    for source in sources:
        x = index.owners[source]
        facts, last = index.fact_first[x], index.fact_first[x + 1]
        if length > 1:  # the first fact about each tail; a body of one atom has few tails, which are looked up
            for fact in range(last - 1, facts - 1, -1):
                slot[index.fact_tails[fact]] = fact + 1
        level = 0
        while True:  # bodies that begin alike come one after the other
            if level > 0:
                if done[level] == there[level]:
                    level -= 1
                    if level == 0:
                        break
                    continue
                step = touched[level, done[level]]
                done[level] += 1
                body[level] = body[level - 1] * (steps + 1) + step + 1
                link = heads[level, step]
                heads[level, step] = -1
                row, origin, link = rows[level, 1, link], rows[level, 2, link], rows[level, 0, link]
            else:
                row, origin, link = source, -1, -1
            tick += 1
            stamp[x] = tick
            pairs, number = 0, 0
            code = body[level]
            for _ in range(level, length - 1):
                code *= steps + 1
            code *= width
            at, end = index.starts[row], index.starts[row + 1]
            while True:
                if at == end:
                    if link < 0:
                        break
                    row, origin, link = rows[level, 1, link], rows[level, 2, link], rows[level, 0, link]
                    at, end = index.starts[row], index.starts[row + 1]
                    continue
                y = index.ends[at]
                at += 1
                if y == x or (level > 1 and _passed(nodes, parents, level - 2, parents[level - 1, origin], y)):
                    continue
                if level < length - 1:
                    if number == nodes.shape[1]:
                        nodes, parents = _wider(nodes), _wider(parents)
                    nodes[level, number], parents[level, number] = y, origin
                    number += 1
                if stamp[y] == tick:
                    continue
                stamp[y] = tick
                pairs += 1
                fact = slot[y] - 1 if length > 1 else find(index.fact_tails, facts, last, y)
                while 0 <= fact < last and index.fact_tails[fact] == y:
                    relation = index.fact_relations[fact]
                    if level > 0 or relation != first:
                        used += _add(keys, counts, code + relation, 1)
                        if 2 * used > len(keys):
                            keys, counts = _grown(keys, counts)
                    fact += 1
            if pairs:
                if entries == len(body_of):
                    body_of, source_of, pairs_of = longer(body_of), longer(source_of), longer(pairs_of)
                body_of[entries], source_of[entries], pairs_of[entries] = code, x, pairs
                entries += 1
            if level < length - 1:
                level += 1
                there[level], rows = _by_step(index, level, nodes[level - 1], number, heads, rows, touched)
                done[level] = 0
            elif level == 0:
                break
        if length > 1:
            slot[index.fact_tails[facts:last]] = 0
    kept = np.flatnonzero((keys >= 0) & (counts >= support))
    kept = kept[np.argsort(keys[kept])]
    found = np.zeros((len(kept), length + 3), np.int64)
    # bodies of the rules that are kept: their first rule, by an open-addressing table
    size = 1
    while size < 4 * len(kept):
        size *= 2
    bodies, first_rule = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    for number in range(len(kept)):
        key = keys[kept[number]]
        rest = key // width
        for place in range(length - 2, -1, -1):
            found[number, place] = rest % (steps + 1) - 1
            rest //= steps + 1
        found[number, length - 1], found[number, length] = key % width, counts[kept[number]]
        if number == 0 or key // width != keys[kept[number - 1]] // width:
            _add(bodies, first_rule, key // width, number)
    for entry in range(entries):
        body = body_of[entry] // width
        number = _find(bodies, first_rule, body)
        while 0 <= number < len(kept) and keys[kept[number]] // width == body:
            found[number, length + 1] += pairs_of[entry]
            if row_of(index, source_of[entry], found[number, length - 1]) >= 0:
                found[number, length + 2] += pairs_of[entry]
            number += 1
    return found
