"""Scores of many entities against a few queries, and bounds of them: what ranking decides most pairs by.

A score comes with a limit of its rounding error; that of the full metric as bounds, from its outer eigenpairs. See
`transa.kernels.ranking` for how these are used and what they cost.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.by_class import by_class
from transa.kernels.codes import L1
from transa.kernels.exact import residuals_of, row_products, squared_extent, weights_row
from transa.kernels.rank_types import Factors, Full, Norm, Quadratic, Weighted
from transa.kernels.scores import FAST

#: Queries that go through the entities at the same time.
TOGETHER = 4
#: Residuals that are multiplied at once.
ROWS = 512


@by_class("metric")
def slack_of(metric, vectors, query, row, relation, extent):
    """Bound the error of the scores, or bounds, of a query; of the full metric only what is not relative to the bounds themselves."""


@slack_of.of(Norm, Weighted, Factors, Quadratic)
def _score_slack(metric, vectors, query, row, relation, extent):
    return vectors.sum_error * extent


@slack_of.of(Full)
def _full_slack(metric, vectors, query, row, relation, extent):
    return vectors.residual_error * (extent + _weight(metric, relation) * squared_extent(vectors, query, row))


@njit(forceinline=True)
def _weight(metric, relation):
    """Return the factor of |a|^2 that the terms of the bounds of a^T W a do not exceed."""
    ranges, values = metric.ranges, metric.values
    weight = 0.0
    for place in range(4):
        weight = max(weight, abs(ranges[relation, place]))
    for axis in range(values.shape[1]):
        weight += abs(values[relation, axis])
    return 2 * weight


@by_class("metric")
def room_for_upper(metric, lower):
    """Return where upper bounds are written: `lower` itself where scores are computed, not bounded."""


@room_for_upper.of(Norm, Weighted, Factors, Quadratic)
def _same_room(metric, lower):
    return lower


@room_for_upper.of(Full)
def _own_room(metric, lower):
    return np.empty_like(lower)


@by_class("metric")
def products_of(metric, vectors, relation, begin, width):
    """Return what all queries of a relation share of some entities x.

    Of weighted squares, this is w.x^2 + sum_m (u_m.x)^2 less the bias, (3 + 2 rank) k operations each; of a quadratic form W x and
    x^T W x, 2 k^2 operations each.
    """


@products_of.of(Norm, Factors, Full)
def _no_products(metric, vectors, relation, begin, width):
    return None


@products_of.of(Weighted, fastmath=FAST)
def _weighted_products(metric, vectors, relation, begin, width):
    table, factors, entities, bias = metric.table, metric.factors, vectors.entities, metric.bias
    own = weights_row(metric, relation)
    found = np.empty(width, entities.dtype)
    for x in range(width):
        total = entities.dtype.type(0)
        for i in range(entities.shape[1]):
            total += table[own, i] * entities[begin + x, i] * entities[begin + x, i]
        for m in range(factors.shape[1]):
            part = entities.dtype.type(0)
            for i in range(entities.shape[1]):
                part += factors[own, m, i] * entities[begin + x, i]
            total += part * part
        found[x] = total - bias[begin + x]
    return found


@products_of.of(Quadratic, fastmath=FAST)
def _quadratic_products(metric, vectors, relation, begin, width):
    some = vectors.entities[begin : begin + width]
    bent = np.dot(some, metric.table[relation])
    return bent, row_products(bent, some)


@by_class("metric")
def bound(metric, vectors, products, tile, space):
    """Write the tile's scores to `lower`, or for the full metric bounds of them to `lower` and `upper`."""


@bound.of(Norm, fastmath=FAST)
def _bound_norm(metric, vectors, products, tile, space):
    entities, rounded, lower = vectors.entities, space.rounded, space.lower
    size = entities.shape[1]
    zero = entities.dtype.type(0)
    for q in range(0, tile.stop - tile.start, TOGETHER):  # rows beyond the last query are of no use, and no harm
        for x in range(tile.width):
            entity = tile.begin + x
            a, b, c, d = zero, zero, zero, zero
            if metric.kind == L1:
                for i in range(size):
                    v = entities[entity, i]
                    a += abs(rounded[q, i] - v)
                    b += abs(rounded[q + 1, i] - v)
                    c += abs(rounded[q + 2, i] - v)
                    d += abs(rounded[q + 3, i] - v)
            else:
                for i in range(size):
                    v = entities[entity, i]
                    a += (rounded[q, i] - v) * (rounded[q, i] - v)
                    b += (rounded[q + 1, i] - v) * (rounded[q + 1, i] - v)
                    c += (rounded[q + 2, i] - v) * (rounded[q + 2, i] - v)
                    d += (rounded[q + 3, i] - v) * (rounded[q + 3, i] - v)
            lower[q, x], lower[q + 1, x], lower[q + 2, x], lower[q + 3, x] = a, b, c, d


@bound.of(Weighted, fastmath=FAST)
def _bound_weighted(metric, vectors, products, tile, space):
    """Of queries q and entities x, ``q^T W q - 2 (W q).x + [x^T W x - bias]``; the library's products are slower for so few queries."""
    table, factors, rounded = metric.table, metric.factors, space.rounded
    own, count = weights_row(metric, tile.relation), tile.stop - tile.start
    bent, squares = np.zeros(rounded.shape, rounded.dtype), np.zeros(len(rounded), rounded.dtype)
    for q in range(count):
        for i in range(rounded.shape[1]):
            weighted = table[own, i] * rounded[q, i]
            squares[q] += weighted * rounded[q, i]
            bent[q, i] = -2 * weighted
        for m in range(factors.shape[1]):
            along = rounded.dtype.type(0)
            for i in range(rounded.shape[1]):
                along += factors[own, m, i] * rounded[q, i]
            squares[q] += along * along
            for i in range(rounded.shape[1]):
                bent[q, i] -= 2 * along * factors[own, m, i]
    for q in range(0, count, TOGETHER):
        if count - q == 1:
            _multiply_one(vectors, bent, squares, products, tile, space, q)
        else:
            _multiply_four(vectors, bent, squares, products, tile, space, q)


@njit(fastmath=FAST, forceinline=True)
def _multiply_one(vectors, bent, squares, products, tile, space, q):
    """Write the scores of one query, of four entities at a time."""
    entities, lower, begin, last = vectors.entities, space.lower, tile.begin, tile.width - 1
    zero = entities.dtype.type(0)
    for x in range(0, tile.width, 4):
        y, z, w = min(x + 1, last), min(x + 2, last), min(x + 3, last)
        a, b, c, d = zero, zero, zero, zero
        for i in range(entities.shape[1]):
            v = bent[q, i]
            a += v * entities[begin + x, i]
            b += v * entities[begin + y, i]
            c += v * entities[begin + z, i]
            d += v * entities[begin + w, i]
        square = squares[q]
        lower[q, x], lower[q, y] = square + a + products[x], square + b + products[y]
        lower[q, z], lower[q, w] = square + c + products[z], square + d + products[w]


@njit(fastmath=FAST, forceinline=True)
def _multiply_four(vectors, bent, squares, products, tile, space, q):
    """Write the scores of queries q to q + 3, of two entities at a time: eight sums share six numbers that are read."""
    entities, lower, begin, last = vectors.entities, space.lower, tile.begin, tile.width - 1
    zero = entities.dtype.type(0)
    for x in range(0, tile.width, 2):
        y = min(x + 1, last)
        a, b, c, d = zero, zero, zero, zero
        e, f, g, h = zero, zero, zero, zero
        for i in range(entities.shape[1]):
            v, w = entities[begin + x, i], entities[begin + y, i]
            first, second, third, fourth = bent[q, i], bent[q + 1, i], bent[q + 2, i], bent[q + 3, i]
            a += first * v
            b += second * v
            c += third * v
            d += fourth * v
            e += first * w
            f += second * w
            g += third * w
            h += fourth * w
        s, t = products[x], products[y]
        lower[q, x], lower[q, y] = squares[q] + a + s, squares[q] + e + t
        lower[q + 1, x], lower[q + 1, y] = squares[q + 1] + b + s, squares[q + 1] + f + t
        lower[q + 2, x], lower[q + 2, y] = squares[q + 2] + c + s, squares[q + 2] + g + t
        lower[q + 3, x], lower[q + 3, y] = squares[q + 3] + d + s, squares[q + 3] + h + t


@bound.of(Factors, fastmath=FAST)
def _bound_factors(metric, vectors, products, tile, space):
    table, entities, rounded, lower = metric.table, vectors.entities, space.rounded, space.lower
    size, relation = entities.shape[1], tile.relation
    zero = entities.dtype.type(0)
    count = tile.stop - tile.start
    for first in range(0, count, TOGETHER):
        for x in range(tile.width):
            entity = tile.begin + x
            for q in range(first, min(first + TOGETHER, count)):
                total = zero
                for i in range(size):
                    e = rounded[q, i] - entities[entity, i]
                    total += table[relation, 0, i] * e * e
                for m in range(1, table.shape[1]):
                    part = zero
                    for i in range(size):
                        part += table[relation, m, i] * abs(rounded[q, i] - entities[entity, i])
                    total += part * part
                lower[q, x] = total


@bound.of(Quadratic, fastmath=FAST)
def _bound_quadratic(metric, vectors, products, tile, space):
    """Of queries q and entities x, ``q^T W q - 2 q.(W x) + x^T W x``."""
    rounded, lower = space.rounded, space.lower
    bent, own = products
    crossed = np.dot(rounded, bent.T)
    squares = row_products(np.dot(rounded, metric.table[tile.relation]), rounded)
    for q in range(tile.stop - tile.start):
        for x in range(tile.width):
            lower[q, x] = squares[q] - 2 * crossed[q, x] + own[x]


@bound.of(Full, fastmath=FAST)
def _bound_full(metric, vectors, products, tile, space):
    """From the leading eigenpair (l, u) and the range of the others, ``a^T W a`` lies around ``l (u.a)^2``, a being |e|."""
    count = tile.stop - tile.start
    for q in range(0, count, TOGETHER):
        if count - q < TOGETHER:  # many relations have a query or two
            for alone in range(q, count):
                _bound_one(metric, vectors, tile, space, alone)
        else:
            _bound_four(metric, vectors, tile, space, q)


@njit(fastmath=FAST, forceinline=True)
def _factors(metric, vectors, relation):
    """Return what (u.a)^2 and |a|^2 are multiplied with in the lower bound of a^T W a, and in the upper one."""
    values, ranges, like = metric.values, metric.ranges, vectors.entities.dtype.type
    error = vectors.sum_error * _weight(metric, relation)
    below, above = values[relation, 0] - ranges[relation, 0], values[relation, 0] - ranges[relation, 1]
    least, most = ranges[relation, 0] - error, ranges[relation, 1] + error
    return like(below), like(least), like(above), like(most)


@njit(fastmath=FAST, forceinline=True)
def _bound_one(metric, vectors, tile, space, q):
    """Write the bounds of one query."""
    entities, axes, relation = vectors.entities, metric.axes, tile.relation
    rounded, lower, upper = space.rounded, space.lower, space.upper
    zero = entities.dtype.type(0)
    below, least, above, most = _factors(metric, vectors, relation)
    for x in range(tile.width):
        along, square = zero, zero
        for i in range(entities.shape[1]):
            e = abs(rounded[q, i] - entities[tile.begin + x, i])
            along += axes[relation, 0, i] * e
            square += e * e
        along *= along
        lower[q, x], upper[q, x] = below * along + least * square, above * along + most * square


@njit(fastmath=FAST, forceinline=True)
def _bound_four(metric, vectors, tile, space, q):
    """Write the bounds of queries q to q + 3."""
    entities, axes, relation = vectors.entities, metric.axes, tile.relation
    rounded, lower, upper = space.rounded, space.lower, space.upper
    zero = entities.dtype.type(0)
    below, least, above, most = _factors(metric, vectors, relation)
    for x in range(tile.width):
        entity = tile.begin + x
        a, b, c, d = zero, zero, zero, zero
        a2, b2, c2, d2 = zero, zero, zero, zero
        for i in range(entities.shape[1]):
            v, u = entities[entity, i], axes[relation, 0, i]
            e = abs(rounded[q, i] - v)
            a += u * e
            a2 += e * e
            e = abs(rounded[q + 1, i] - v)
            b += u * e
            b2 += e * e
            e = abs(rounded[q + 2, i] - v)
            c += u * e
            c2 += e * e
            e = abs(rounded[q + 3, i] - v)
            d += u * e
            d2 += e * e
        a, b, c, d = a * a, b * b, c * c, d * d
        lower[q, x], upper[q, x] = below * a + least * a2, above * a + most * a2
        lower[q + 1, x], upper[q + 1, x] = below * b + least * b2, above * b + most * b2
        lower[q + 2, x], upper[q + 2, x] = below * c + least * c2, above * c + most * c2
        lower[q + 3, x], upper[q + 3, x] = below * d + least * d2, above * d + most * d2


@njit(fastmath=FAST, forceinline=True)
def bound_by_axes(metric, vectors, tile, space, found):
    """Bound the listed pairs again, with all axes of the full metric: 16 k operations each."""
    axes, values, ranges, relation = metric.axes, metric.values, metric.ranges, tile.relation
    rows, columns, lower, upper = space.pair_rows, space.pair_columns, space.lower, space.upper
    like = vectors.entities.dtype.type
    relative = like(vectors.sum_error * _weight(metric, relation))
    for start in range(0, found, ROWS):
        stop = min(start + ROWS, found)
        residuals = residuals_of(space.rounded, vectors, tile, space, start, stop, True)
        squares = row_products(residuals, residuals)
        products = np.dot(residuals, axes[relation].T)
        for entry in range(start, stop):
            square, value = squares[entry - start], like(0)
            error = relative * square
            for axis in range(values.shape[1]):
                part = products[entry - start, axis] * products[entry - start, axis]
                value += like(values[relation, axis]) * part
                square -= part
            lower[rows[entry], columns[entry]] = value + like(ranges[relation, 2]) * square - error
            upper[rows[entry], columns[entry]] = value + like(ranges[relation, 3]) * square + error


@njit(fastmath=FAST, forceinline=True)
def bound_by_metric(metric, vectors, tile, space, found):
    """Bound the listed pairs again, by their scores under the full metric in the precision of the entities: 2 k^2 operations each."""
    table, relation = metric.table, tile.relation
    rows, columns, lower, upper = space.pair_rows, space.pair_columns, space.lower, space.upper
    like = vectors.entities.dtype.type
    relative, mixed = like(vectors.sum_error), like(metric.ranges[relation, 4])
    for start in range(0, found, ROWS):
        stop = min(start + ROWS, found)
        residuals = residuals_of(space.rounded, vectors, tile, space, start, stop, True)
        squares = row_products(residuals, residuals)
        values = row_products(np.dot(residuals, table[relation]), residuals)
        for entry in range(start, stop):
            value = values[entry - start]
            error = relative * (value if mixed == 0 else mixed * squares[entry - start])
            lower[rows[entry], columns[entry]] = value - error
            upper[rows[entry], columns[entry]] = value + error
