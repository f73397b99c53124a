"""Queries and scores in double precision, which decide, and what their rounding errors are relative to."""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.by_class import by_class
from transa.kernels.codes import L1
from transa.kernels.rank_types import Factors, Full, Norm, Quadratic, Weighted
from transa.kernels.scores import FAST


@njit(fastmath=FAST, forceinline=True)
def fill_queries(vectors, questions, tile, space):
    """Write the tile's queries, in double precision and rounded."""
    entities, shifts, fixed, relations = vectors.entities, vectors.shifts, questions.fixed, questions.relations
    query, rounded = space.query, space.rounded
    for q in range(tile.start, tile.stop):
        for i in range(entities.shape[1]):
            value = np.float64(entities[fixed[q], i]) + questions.sign * np.float64(shifts[relations[q], i])
            query[q - tile.start, i] = value
            rounded[q - tile.start, i] = value


@by_class("metric")
def exact_score(metric, vectors, tile, space, row, entity):
    """Return the score of an entity for one query of the tile, in double precision: 3 k to 2 k^2 operations.

    No sum is reordered, so that equal entities have equal scores wherever they stand.
    """


@exact_score.of(Norm)
def _norm_score(metric, vectors, tile, space, row, entity):
    entities, query = vectors.entities, space.query
    total = 0.0
    for i in range(entities.shape[1]):
        e = query[row, i] - np.float64(entities[entity, i])
        total += abs(e) if metric.kind == L1 else e * e
    return total


@njit(forceinline=True)
def weights_row(metric, relation):
    """Return the row of the weights of a relation."""
    return min(relation, len(metric.table) - 1)


@exact_score.of(Weighted)
def _weighted_score(metric, vectors, tile, space, row, entity):
    table, factors, entities, query = metric.table, metric.factors, vectors.entities, space.query
    own = weights_row(metric, tile.relation)
    total = 0.0
    for i in range(entities.shape[1]):
        e = query[row, i] - np.float64(entities[entity, i])
        total += np.float64(table[own, i]) * e * e
    for m in range(factors.shape[1]):
        part = 0.0
        for i in range(entities.shape[1]):
            part += np.float64(factors[own, m, i]) * (query[row, i] - np.float64(entities[entity, i]))
        total += part * part
    return total - np.float64(metric.bias[entity])


@exact_score.of(Factors)
def _factor_score(metric, vectors, tile, space, row, entity):
    table, entities, query, residual = metric.table, vectors.entities, space.query, space.scratch
    size = entities.shape[1]
    total = 0.0
    for i in range(size):
        e = abs(query[row, i] - np.float64(entities[entity, i]))
        residual[0, i] = e
        total += np.float64(table[tile.relation, 0, i]) * e * e
    for m in range(1, table.shape[1]):
        part = 0.0
        for i in range(size):
            part += np.float64(table[tile.relation, m, i]) * residual[0, i]
        total += part * part
    return total


@exact_score.of(Full)
def _full_score(metric, vectors, tile, space, row, entity):
    return _matrix_score(metric.table, vectors, tile, space, row, entity, True)


@exact_score.of(Quadratic)
def _quadratic_score(metric, vectors, tile, space, row, entity):
    return _matrix_score(metric.table, vectors, tile, space, row, entity, False)


@njit(forceinline=True)
def _matrix_score(table, vectors, tile, space, row, entity, absolute):
    entities, query = vectors.entities, space.query
    matrix, residual, product = table[tile.relation], space.scratch[0], space.scratch[1]
    size = entities.shape[1]
    total = 0.0
    for i in range(size):
        e = query[row, i] - np.float64(entities[entity, i])
        residual[i] = abs(e) if absolute else e
        product[i] = 0.0
    for i in range(0, size - 3, 4):
        _add_four_rows(product, residual, matrix, i)
    for i in range(size - size % 4, size):
        e = residual[i]
        for j in range(size):
            product[j] += e * np.float64(matrix[i, j])
    for i in range(size):
        total += residual[i] * product[i]
    return total


@njit(forceinline=True)
def _add_four_rows(product, residual, matrix, i):
    """Add rows i to i + 3 times their entries of the residual: at once, so that the product is read and written a quarter as often."""
    e, f, g, h = residual[i], residual[i + 1], residual[i + 2], residual[i + 3]
    first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
    for j in range(len(product)):
        product[j] += (e * np.float64(first[j]) + f * np.float64(second[j])) + (
            g * np.float64(third[j]) + h * np.float64(fourth[j])
        )


@by_class("metric")
def score_pairs(metric, vectors, tile, space, start, stop):
    """Return the scores of the listed pairs `start` to `stop` in double precision.

    Those of matrices come from matrix products, whose sums may be ordered otherwise than those of `exact_score`.
    """


@score_pairs.of(Norm, Weighted, Factors)
def _score_singly(metric, vectors, tile, space, start, stop):
    rows, columns = space.pair_rows, space.pair_columns
    values = np.empty(stop - start, np.float64)
    for entry in range(start, stop):
        values[entry - start] = exact_score(metric, vectors, tile, space, rows[entry], tile.begin + columns[entry])
    return values


@score_pairs.of(Full, fastmath=FAST)
def _score_full(metric, vectors, tile, space, start, stop):
    residuals = residuals_of(space.query, vectors, tile, space, start, stop, True)
    return row_products(np.dot(residuals, space.precise), residuals)


@score_pairs.of(Quadratic, fastmath=FAST)
def _score_quadratic(metric, vectors, tile, space, start, stop):
    residuals = residuals_of(space.query, vectors, tile, space, start, stop, False)
    return row_products(np.dot(residuals, space.precise), residuals)


@njit(fastmath=FAST, forceinline=True)
def residuals_of(query, vectors, tile, space, start, stop, absolute):
    """Return the residuals of the listed pairs `start` to `stop`, or their absolute values, in the precision of `query`."""
    entities, rows, columns = vectors.entities, space.pair_rows, space.pair_columns
    residuals = np.empty((stop - start, entities.shape[1]), query.dtype)
    for entry in range(start, stop):
        row, entity = rows[entry], tile.begin + columns[entry]
        for i in range(entities.shape[1]):
            e = query[row, i] - query.dtype.type(entities[entity, i])
            residuals[entry - start, i] = abs(e) if absolute else e
    return residuals


@njit(fastmath=FAST, forceinline=True)
def row_products(left, right):
    """Return the product of each row of `left` with that of `right`."""
    found = np.empty(len(left), left.dtype)
    for row in range(len(left)):
        total = left.dtype.type(0)
        for i in range(left.shape[1]):
            total += left[row, i] * right[row, i]
        found[row] = total
    return found


@by_class("metric")
def room_for_matrix(metric):
    """Return where `weigh` writes a matrix."""


@room_for_matrix.of(Norm, Weighted, Factors)
def _no_room(metric):
    return np.empty((0, 0), np.float64)


@room_for_matrix.of(Full, Quadratic)
def _room(metric):
    return np.empty((metric.table.shape[1], metric.table.shape[2]), np.float64)


@by_class("metric")
def weigh(metric, relation, precise):
    """Write a relation's matrix in double precision, and return what `extent_of` needs to know of it: k^2 operations."""


@weigh.of(Norm, Weighted, Factors)
def _weigh_nothing(metric, relation, precise):
    return 0.0


@weigh.of(Full, Quadratic)
def _weigh_matrix(metric, relation, precise):
    table = metric.table
    for i in range(len(precise)):
        for j in range(len(precise)):
            precise[i, j] = table[relation, i, j]
    return heaviest_row(table, relation)


@njit(fastmath=FAST)
def heaviest_row(table, relation):
    """Return h with ``x^T |W_r| x <= h x^T x``, W_r symmetric or not: the largest mean of a row sum and the column sum beside it."""
    size = table.shape[1]
    sums = np.zeros(size, np.float64)
    for i in range(size):
        row, total = table[relation, i], 0.0
        for j in range(size):
            total += abs(row[j])
            sums[j] += abs(row[j])
        sums[i] += total
    return sums.max() / 2


@by_class("metric")
def extent_of(metric, vectors, query, row, relation, heaviest):
    """Return what no entity's score exceeds, all its terms taken absolute: what rounding errors are relative to.

    A sum of k products has an error of at most k roundoffs of the sum of its absolute terms (Higham 2002); squares of sums have twice
    that, and the rounding of the residual and of the limits compared with comes on top.
    """


@extent_of.of(Norm)
def _norm_extent(metric, vectors, query, row, relation, heaviest):
    total = 0.0
    for i in range(query.shape[1]):
        e = abs(query[row, i]) + vectors.reach[i]
        total += e if metric.kind == L1 else e * e
    return total


@extent_of.of(Weighted)
def _weighted_extent(metric, vectors, query, row, relation, heaviest):
    table, factors, reach = metric.table, metric.factors, vectors.reach
    own = weights_row(metric, relation)
    total = metric.bias_reach
    for i in range(query.shape[1]):
        e = abs(query[row, i]) + reach[i]
        total += abs(table[own, i]) * e * e
    for m in range(factors.shape[1]):
        part = 0.0
        for i in range(query.shape[1]):
            part += abs(factors[own, m, i]) * (abs(query[row, i]) + reach[i])
        total += part * part
    return total


@extent_of.of(Factors)
def _factor_extent(metric, vectors, query, row, relation, heaviest):
    table, reach = metric.table, vectors.reach
    size = query.shape[1]
    total = 0.0
    for i in range(size):
        e = abs(query[row, i]) + reach[i]
        total += abs(table[relation, 0, i]) * e * e
    for m in range(1, table.shape[1]):
        part = 0.0
        for i in range(size):
            part += abs(table[relation, m, i]) * (abs(query[row, i]) + reach[i])
        total += part * part
    return total


@extent_of.of(Full)
def _full_extent(metric, vectors, query, row, relation, heaviest):
    return heaviest * squared_extent(vectors, query, row)


@extent_of.of(Quadratic)
def _quadratic_extent(metric, vectors, query, row, relation, heaviest):
    return 4 * heaviest * squared_extent(vectors, query, row)


@njit(forceinline=True)
def squared_extent(vectors, query, row):
    """Return what no residual's sum of squares exceeds."""
    total = 0.0
    for i in range(query.shape[1]):
        total += (abs(query[row, i]) + vectors.reach[i]) ** 2
    return total
