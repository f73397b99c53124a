"""Queries, residuals and scores in double precision, which decide, and what their rounding errors are relative to."""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.codes import L1
from transa.kernels.scores import FAST


@njit(fastmath=FAST, forceinline=True)
def fill_queries(block, end, sign, fixed, relations, entities, shifts, query, rounded):  # type: ignore[no-untyped-def]
    """Write a block of queries, in double precision and rounded."""
    for q in range(block, end):
        for i in range(entities.shape[1]):
            value = np.float64(entities[fixed[q], i]) + sign * np.float64(shifts[relations[q], i])
            query[q - block, i] = value
            rounded[q - block, i] = value


@njit(forceinline=True)
def exact_score(kind, query, b, entities, x, metric, relation, squared, signed, scratch):  # type: ignore[no-untyped-def]
    """Return the score in double precision. No sum is reordered, so that equal entities have equal scores wherever they stand."""
    size = entities.shape[1]
    total = 0.0
    if metric is None:
        for i in range(size):
            e = query[b, i] - np.float64(entities[x, i])
            total += abs(e) if kind == L1 else e * e
    elif squared is not None:
        residual, product = scratch[0], scratch[1]
        for i in range(size):
            e = query[b, i] - np.float64(entities[x, i])
            residual[i] = e if signed is not None else abs(e)
            product[i] = 0.0
        for i in range(0, size - 3, 4):
            _add_four_rows(product, residual, metric[relation], i)
        for i in range(size - size % 4, size):
            e, row = residual[i], metric[relation, i]
            for j in range(size):
                product[j] += e * np.float64(row[j])
        for i in range(size):
            total += residual[i] * product[i]
    else:
        for i in range(size):
            e = abs(query[b, i] - np.float64(entities[x, i]))
            scratch[0, i] = e
            total += np.float64(metric[relation, 0, i]) * e * e
        for m in range(1, metric.shape[1]):
            part = 0.0
            for i in range(size):
                part += np.float64(metric[relation, m, i]) * scratch[0, i]
            total += part * part
    return total


@njit(forceinline=True)
def _add_four_rows(product, residual, matrix, i):  # type: ignore[no-untyped-def]
    """Add rows i to i + 3 times their entries of the residual: at once, so that the product is read and written a quarter as often."""
    e, f, g, h = residual[i], residual[i + 1], residual[i + 2], residual[i + 3]
    first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
    for j in range(len(product)):
        product[j] += (e * np.float64(first[j]) + f * np.float64(second[j])) + (
            g * np.float64(third[j]) + h * np.float64(fourth[j])
        )


@njit(fastmath=FAST)
def heaviest_row(metric, relation):  # type: ignore[no-untyped-def]
    """Return h with ``x^T |W_r| x <= h x^T x``, W_r symmetric or not: the largest mean of a row sum and the column sum beside it."""
    size = metric.shape[1]
    sums = np.zeros(size, np.float64)
    for i in range(size):
        row, total = metric[relation, i], 0.0
        for j in range(size):
            total += abs(row[j])
            sums[j] += abs(row[j])
        sums[i] += total
    return sums.max() / 2


@njit(forceinline=True)
def extent_of(kind, query, b, reach, metric, squared, heaviest, relation, signed):  # type: ignore[no-untyped-def]
    """Return what no entity's score exceeds, all its terms taken absolute: what rounding errors are relative to.

    A sum of k products has an error of at most k roundoffs of the sum of its absolute terms (Higham 2002); squares of sums have twice
    that, and the rounding of the residual and of the limits compared with comes on top.
    """
    size = query.shape[1]
    total = 0.0
    for i in range(size):
        e = abs(query[b, i]) + reach[i]
        if metric is None:
            total += e if kind == L1 else e * e
        elif squared is not None:
            total += heaviest * e * e
        else:
            total += abs(metric[relation, 0, i]) * e * e
    if metric is not None and squared is None:
        for m in range(1, metric.shape[1]):
            part = 0.0
            for i in range(size):
                part += abs(metric[relation, m, i]) * (abs(query[b, i]) + reach[i])
            total += part * part
    if signed is not None:
        total *= 4
    return total


@njit(fastmath=FAST, forceinline=True)
def residuals_of(query, entities, begin, queries, rows, start, stop, signed):  # type: ignore[no-untyped-def]
    """Return the residuals of listed pairs of query and entity, or their absolute values, in the precision of the query."""
    residuals = np.empty((stop - start, entities.shape[1]), query.dtype)
    for entry in range(start, stop):
        b, x = queries[entry], begin + rows[entry]
        for i in range(entities.shape[1]):
            e = query[b, i] - query.dtype.type(entities[x, i])
            residuals[entry - start, i] = e if signed is not None else abs(e)
    return residuals
