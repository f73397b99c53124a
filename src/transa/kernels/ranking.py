"""Ranking a target among all entities, for models whose score is a function of query - entity.

Of a residual h + r - t, the query is h + r where tails are ranked and t - r where heads are. A few queries go through the entities
together, so that a tile of entities is read from memory once for all of them; the scores of a query are kept until its target and its
known answers are counted, and no longer.

Work for one query: 3 k operations an entity for L1, and one comparison.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.codes import L1, SQUARED_L2
from transa.kernels.scores import FAST

#: Queries that go together, and entities in a tile.
TOGETHER, TILE = 8, 32


@njit(parallel=True, fastmath=FAST, cache=True)
def rank_queries(  # type: ignore[no-untyped-def]
    kind, queries, relations, targets, entities, metric, starts, stops, known, better, equal, known_better, known_equal
):
    """Count for each query the entities that score better than its target or equal to it.

    Parameters
    ----------
    kind, queries, relations, targets, entities, metric
        The score, and what is ranked: ``targets[q]`` among all rows of `entities` by their score against ``queries[q]``.
    starts, stops, known
        The known answers of query q are ``known[starts[q]:stops[q]]``.
    better, equal
        Results: how many entities score lower than the target, and how many others the same.
    known_better, known_equal
        Results: how many of these are known answers other than the target.
    """
    count, size = len(entities), entities.shape[1]
    for block in prange((len(queries) + TOGETHER - 1) // TOGETHER):
        first = block * TOGETHER
        last = min(first + TOGETHER, len(queries))
        scores = np.empty((TOGETHER, count), entities.dtype)
        for tile in range(0, count, TILE):
            for q in range(first, last):
                relation = relations[q]
                for x in range(tile, min(tile + TILE, count)):
                    total = entities.dtype.type(0)
                    if kind == L1:
                        for i in range(size):
                            total += abs(queries[q, i] - entities[x, i])
                    elif kind <= SQUARED_L2:
                        for i in range(size):
                            e = queries[q, i] - entities[x, i]
                            total += e * e
                    else:
                        for i in range(size):
                            e = queries[q, i] - entities[x, i]
                            total += metric[relation, 0, i] * e * e
                        for m in range(1, metric.shape[1]):
                            part = entities.dtype.type(0)
                            for i in range(size):
                                part += metric[relation, m, i] * abs(queries[q, i] - entities[x, i])
                            total += part * part
                    scores[q - first, x] = total
        for q in range(first, last):
            target = scores[q - first, targets[q]]
            less, same = 0, -1  # the target is equal to itself
            for x in range(count):
                less += scores[q - first, x] < target
                same += scores[q - first, x] == target
            better[q], equal[q] = less, same
            less, same = 0, 0
            for place in range(starts[q], stops[q]):
                answer = known[place]
                if answer != targets[q]:
                    less += scores[q - first, answer] < target
                    same += scores[q - first, answer] == target
            known_better[q], known_equal[q] = less, same
