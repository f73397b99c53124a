"""Counts of rules without constants: r(x, y) <= s1(x, z), s2(z, y), and those of one and of three atoms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.facts import find
from transa.kernels.rule_index import RuleIndex, longer, row_of


def count_chains(index: RuleIndex, first: int, sources: Array, length: int, support: int) -> npt.NDArray[np.int64]:
    """Return the rules whose body begins with a step, as rows of (second step, third step, relation, support, body, PCA body).

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
        The most atoms of a body, 1 to 3. Where a body is shorter, the steps after its last are -1.
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
def _by_step(index, places, number, heads, chain, rows, froms, touched):
    """Sort the rows of some entities by their steps, as linked lists; return how many steps there are, and the lists.

    Row ``rows[i]`` belongs to ``places[froms[i]]``; the list of step s begins at ``heads[s]`` and goes on at ``chain[i]``.
    """
    size, steps = 0, 0
    for origin in range(number):
        for row in range(index.first[places[origin]], index.first[places[origin] + 1]):
            if size == len(chain):
                chain, rows, froms = longer(chain), longer(rows), longer(froms)
            step = index.steps[row]
            if heads[step] < 0:
                touched[steps] = step
                steps += 1
            chain[size], rows[size], froms[size] = heads[step], row, origin
            heads[step] = size
            size += 1
    return steps, chain, rows, froms


@kernel(nogil=True)
def _count_chains(index, first, sources, length, support):
    entities, relations = len(index.first) - 1, index.relations
    steps, width = 2 * relations, relations + 1
    stamp, slot = np.zeros(entities, np.int64), np.zeros(entities, np.int64)
    tick = 0
    heads2, touched2 = np.full(steps, -1, np.int64), np.empty(steps, np.int64)
    heads3, touched3 = np.full(steps, -1, np.int64), np.empty(steps, np.int64)
    chain2, rows2, froms2 = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    chain3, rows3, froms3 = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    middle, before = np.empty(64, np.int64), np.empty(64, np.int64)
    keys, counts, used = np.full(1 << 10, -1, np.int64), np.zeros(1 << 10, np.int64), 0
    # what each source adds to each body, for the PCA
    body_of, source_of, pairs_of, entries = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64), 0
    for source in sources:
        x = index.owners[source]
        facts, last = index.fact_first[x], index.fact_first[x + 1]
        if length > 1:  # the first fact about each tail; a body of one atom has few tails, which are looked up
            for fact in range(last - 1, facts - 1, -1):
                slot[index.fact_tails[fact]] = fact + 1
        start, stop = index.starts[source], index.starts[source + 1]
        direct = index.ends[start:stop]
        # bodies of one, two and three atoms in turn; `place` runs over the pairs (z, y) of the last atom
        steps2 = 0
        if length > 1:
            steps2, chain2, rows2, froms2 = _by_step(
                index, direct, len(direct), heads2, chain2, rows2, froms2, touched2
            )
        for second in range(-1, steps2):
            step2 = -1 if second < 0 else touched2[second]
            number = 0
            if second >= 0:
                link = heads2[step2]
                heads2[step2] = -1
                while link >= 0:
                    row = rows2[link]
                    for at in range(index.starts[row], index.starts[row + 1]):
                        if index.ends[at] != x:
                            if number == len(middle):
                                middle, before = longer(middle), longer(before)
                            middle[number], before[number] = index.ends[at], direct[froms2[link]]
                            number += 1
                    link = chain2[link]
            else:
                while len(middle) < len(direct):
                    middle, before = longer(middle), longer(before)
                for at in range(len(direct)):
                    middle[number], before[number] = direct[at], -1
                    number += 1
            steps3 = 0
            if length > 2 and second >= 0:
                steps3, chain3, rows3, froms3 = _by_step(index, middle, number, heads3, chain3, rows3, froms3, touched3)
            for third in range(-1, steps3):
                step3 = -1 if third < 0 else touched3[third]
                body = ((step2 + 1) * (steps + 1) + step3 + 1) * width
                tick += 1
                stamp[x] = tick
                pairs = 0
                link = -1 if third < 0 else heads3[step3]
                if third >= 0:
                    heads3[step3] = -1
                at, end, origin = 0, number if third < 0 else 0, -1
                while True:
                    if at == end:
                        if link < 0:
                            break
                        at, end = index.starts[rows3[link]], index.starts[rows3[link] + 1]
                        origin, link = froms3[link], chain3[link]
                        continue
                    y = middle[at] if third < 0 else index.ends[at]
                    at += 1
                    if stamp[y] == tick or (third >= 0 and y == before[origin]):
                        continue
                    stamp[y] = tick
                    pairs += 1
                    fact = slot[y] - 1 if length > 1 else find(index.fact_tails, facts, last, y)
                    while 0 <= fact < last and index.fact_tails[fact] == y:
                        relation = index.fact_relations[fact]
                        if second >= 0 or relation != first:
                            used += _add(keys, counts, body + relation, 1)
                            if 2 * used > len(keys):
                                keys, counts = _grown(keys, counts)
                        fact += 1
                if pairs:
                    if entries == len(body_of):
                        body_of, source_of, pairs_of = longer(body_of), longer(source_of), longer(pairs_of)
                    body_of[entries], source_of[entries], pairs_of[entries] = body, x, pairs
                    entries += 1
        if length > 1:
            slot[index.fact_tails[facts:last]] = 0
    kept = np.flatnonzero((keys >= 0) & (counts >= support))
    kept = kept[np.argsort(keys[kept])]
    found = np.zeros((len(kept), 6), np.int64)
    # bodies of the rules that are kept: their first rule, by an open-addressing table
    size = 1
    while size < 4 * len(kept):
        size *= 2
    bodies, first_rule = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    for number in range(len(kept)):
        key = keys[kept[number]]
        found[number, 0], found[number, 1] = key // width // (steps + 1) - 1, key // width % (steps + 1) - 1
        found[number, 2], found[number, 3] = key % width, counts[kept[number]]
        if number == 0 or key // width != keys[kept[number - 1]] // width:
            _add(bodies, first_rule, key // width, number)
    for entry in range(entries):
        body = body_of[entry] // width
        number = _find(bodies, first_rule, body)
        while 0 <= number < len(kept) and keys[kept[number]] // width == body:
            found[number, 4] += pairs_of[entry]
            if row_of(index, source_of[entry], found[number, 2]) >= 0:
                found[number, 5] += pairs_of[entry]
            number += 1
    return found
