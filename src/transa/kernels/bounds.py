"""Scores of many entities against a query, and bounds of them: what ranking decides by.

A score comes with a limit of its rounding error; that of the full metric as bounds, from its outer eigenpairs. See
`transa.kernels.ranking` for how these are used and what they cost.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.cache import kernel
from transa.kernels.codes import L1
from transa.kernels.exact import heaviest_row, residuals_of
from transa.kernels.scores import FAST

#: Queries that go through the entities at the same time.
TOGETHER = 4
#: Residuals that are multiplied at once.
ROWS = 512
#: Eigenvectors that bound the full metric where one is not enough.
AXES = 8


@kernel(parallel=True)
def spectra(metric, wanted):  # type: ignore[no-untyped-def]
    """Return the outer eigenpairs of each W_r that is `wanted`: axes, their eigenvalues, and the range of the others.

    Axes are taken one by one from that end of the spectrum where the range of what is left shrinks most. The ranges are those after the
    first axis and after all of them: (smallest, largest, smallest, largest); a fifth number is 0 where no entry of W_r is negative, and
    otherwise what `heaviest_row` returns.
    """
    size = metric.shape[1]
    number = min(AXES, size)
    axes = np.zeros((len(metric), number, size), metric.dtype)
    values = np.zeros((len(metric), number), np.float64)
    ranges = np.zeros((len(metric), 5), np.float64)
    for turn in prange(len(wanted)):
        relation = wanted[turn]
        whole = metric[relation].astype(np.float64)
        found, vectors = np.linalg.eigh((whole + whole.T) / 2)
        low, high = 0, size - 1
        for axis in range(number):
            upwards = low == high or found[high] - found[high - 1] >= found[low + 1] - found[low]
            taken = high if upwards else low
            low, high = (low, high - 1) if upwards else (low + 1, high)
            values[relation, axis] = found[taken]
            for i in range(size):
                axes[relation, axis, i] = vectors[i, taken]
            if axis == 0 or axis == number - 1:
                place = 0 if axis == 0 else 2
                ranges[relation, place] = found[low] if low <= high else 0.0
                ranges[relation, place + 1] = found[high] if low <= high else 0.0
        if number == 1:
            ranges[relation, 2:4] = ranges[relation, :2]
        if whole.min() < 0:
            ranges[relation, 4] = heaviest_row(metric, relation)
    return axes, values, ranges


@njit(forceinline=True)
def slack_of(query, b, reach, spectrum, relation, errors, extent):  # type: ignore[no-untyped-def]
    """Bound the error of the scores, or bounds, of a query; of the full metric only what is not relative to the bounds themselves."""
    if spectrum is None:
        return errors[1] * extent
    squares = 0.0
    for i in range(query.shape[1]):
        squares += (abs(query[b, i]) + reach[i]) ** 2
    return errors[0] * (extent + _weight(spectrum, relation) * squares)


@njit(forceinline=True)
def _weight(spectrum, relation):  # type: ignore[no-untyped-def]
    """Return the factor of |a|^2 that the terms of the bounds of a^T W a do not exceed."""
    _, values, ranges = spectrum
    weight = 0.0
    for place in range(4):
        weight = max(weight, abs(ranges[relation, place]))
    for axis in range(values.shape[1]):
        weight += abs(values[relation, axis])
    return 2 * weight


@njit(fastmath=FAST, forceinline=True)
def bound(kind, rounded, count, entities, begin, width, metric, spectrum, relation, errors, lower, upper):  # type: ignore[no-untyped-def]
    """Write the scores of a block of `count` queries to `lower`, or for the full metric bounds of them to `lower` and `upper`."""
    for q in range(0, count, TOGETHER):
        if spectrum is not None and count - q < TOGETHER:  # many relations have a query or two
            for alone in range(q, count):
                _bound_one(rounded, alone, entities, begin, width, spectrum, relation, errors, lower, upper)
        else:
            _bound_four(
                kind, rounded, q, count, entities, begin, width, metric, spectrum, relation, errors, lower, upper
            )


@njit(fastmath=FAST, forceinline=True)
def _factors(spectrum, relation, errors, like):  # type: ignore[no-untyped-def]
    """Return what (u.a)^2 and |a|^2 are multiplied with in the lower bound of a^T W a, and in the upper one."""
    _, values, ranges = spectrum
    error = errors[1] * _weight(spectrum, relation)
    below, above = values[relation, 0] - ranges[relation, 0], values[relation, 0] - ranges[relation, 1]
    least, most = ranges[relation, 0] - error, ranges[relation, 1] + error
    return like(below), like(least), like(above), like(most)


@njit(fastmath=FAST, forceinline=True)
def _bound_one(rounded, q, entities, begin, width, spectrum, relation, errors, lower, upper):  # type: ignore[no-untyped-def]
    """Write bounds of the full metric's scores of query q."""
    like = entities.dtype.type
    axes = spectrum[0]
    below, least, above, most = _factors(spectrum, relation, errors, like)
    for x in range(width):
        along, square = like(0), like(0)
        for i in range(entities.shape[1]):
            e = abs(rounded[q, i] - entities[begin + x, i])
            along += axes[relation, 0, i] * e
            square += e * e
        along *= along
        lower[q, x], upper[q, x] = below * along + least * square, above * along + most * square


@njit(fastmath=FAST, forceinline=True)
def _bound_four(kind, rounded, q, count, entities, begin, width, metric, spectrum, relation, errors, lower, upper):  # type: ignore[no-untyped-def]
    """Write the scores, or bounds, of queries q to q + 3, of which those from `count` on are of no use."""
    size = entities.shape[1]
    zero = entities.dtype.type(0)
    for x in range(width):
        row = begin + x
        a, b, c, d = zero, zero, zero, zero
        if metric is None:
            if kind == L1:
                for i in range(size):
                    v = entities[row, i]
                    a += abs(rounded[q, i] - v)
                    b += abs(rounded[q + 1, i] - v)
                    c += abs(rounded[q + 2, i] - v)
                    d += abs(rounded[q + 3, i] - v)
            else:
                for i in range(size):
                    v = entities[row, i]
                    a += (rounded[q, i] - v) * (rounded[q, i] - v)
                    b += (rounded[q + 1, i] - v) * (rounded[q + 1, i] - v)
                    c += (rounded[q + 2, i] - v) * (rounded[q + 2, i] - v)
                    d += (rounded[q + 3, i] - v) * (rounded[q + 3, i] - v)
            lower[q, x], lower[q + 1, x], lower[q + 2, x], lower[q + 3, x] = a, b, c, d
        elif spectrum is not None:
            axes = spectrum[0]
            a2, b2, c2, d2 = zero, zero, zero, zero
            for i in range(size):
                v, u = entities[row, i], axes[relation, 0, i]
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
            below, least, above, most = _factors(spectrum, relation, errors, entities.dtype.type)
            a, b, c, d = a * a, b * b, c * c, d * d
            lower[q, x], upper[q, x] = below * a + least * a2, above * a + most * a2
            lower[q + 1, x], upper[q + 1, x] = below * b + least * b2, above * b + most * b2
            lower[q + 2, x], upper[q + 2, x] = below * c + least * c2, above * c + most * c2
            lower[q + 3, x], upper[q + 3, x] = below * d + least * d2, above * d + most * d2
        else:
            for other in range(q, min(q + TOGETHER, count)):
                total = zero
                for i in range(size):
                    e = rounded[other, i] - entities[row, i]
                    total += metric[relation, 0, i] * e * e
                for m in range(1, metric.shape[1]):
                    part = zero
                    for i in range(size):
                        part += metric[relation, m, i] * abs(rounded[other, i] - entities[row, i])
                    total += part * part
                lower[other, x] = total


@njit(fastmath=FAST, forceinline=True)
def bound_signed(rounded, count, bent, own, metric, lower, width):  # type: ignore[no-untyped-def]
    """Write (q - x)^T W (q - x) of a block of queries to `lower`: bent is W x, own is x^T W x."""
    crossed = np.dot(rounded, bent.T)
    turned = np.dot(rounded, metric)
    for q in range(count):
        square = rounded.dtype.type(0)
        for i in range(rounded.shape[1]):
            square += turned[q, i] * rounded[q, i]
        for x in range(width):
            lower[q, x] = square - 2 * crossed[q, x] + own[x]


@njit(fastmath=FAST, forceinline=True)
def row_products(left, right, begin):  # type: ignore[no-untyped-def]
    """Return the product of each row of `left` with that of `right`, which start at `begin`."""
    found = np.empty(len(left), left.dtype)
    for row in range(len(left)):
        total = left.dtype.type(0)
        for i in range(left.shape[1]):
            total += left[row, i] * right[begin + row, i]
        found[row] = total
    return found


@njit(fastmath=FAST, forceinline=True)
def list_open(  # type: ignore[no-untyped-def]
    block, end, first, width, target_offsets, levels, slacks, lower, upper, listed, queries, rows, like
):
    """List the pairs of query and entity whose bounds leave open on which side of any target of the query they are; return how many."""
    found = 0
    for q in range(block, end):
        b = q - block
        for t in range(target_offsets[q], target_offsets[q + 1]):
            level = levels[t - target_offsets[first]]
            low, high = like(level - slacks[q - first]), like(level + slacks[q - first])
            for x in range(width):
                if lower[b, x] <= high and low <= upper[b, x] < np.inf and not listed[b, x]:
                    listed[b, x] = True
                    queries[found], rows[found] = b, x
                    found += 1
    for entry in range(found):
        listed[queries[entry], rows[entry]] = False
    return found


@njit(fastmath=FAST, forceinline=True)
def keep_open(block, first, target_offsets, levels, slacks, lower, upper, queries, rows, found, like):  # type: ignore[no-untyped-def]
    """Keep in the list what is still open, and return how many that are."""
    left = 0
    for entry in range(found):
        b, x = queries[entry], rows[entry]
        q = block + b
        open_ = False
        for t in range(target_offsets[q], target_offsets[q + 1]):
            level = levels[t - target_offsets[first]]
            open_ = open_ or (
                lower[b, x] <= like(level + slacks[q - first]) and upper[b, x] >= like(level - slacks[q - first])
            )
        if open_:
            queries[left], rows[left] = b, x
            left += 1
    return left


@njit(fastmath=FAST, forceinline=True)
def tighten(fully, rounded, entities, begin, metric, spectrum, relation, lower, upper, queries, rows, found, errors):  # type: ignore[no-untyped-def]
    """Bound the listed pairs again: with all axes, or `fully`, with the metric itself."""
    size = entities.shape[1]
    like = entities.dtype.type
    axes, values, ranges = spectrum
    number = values.shape[1]
    weight = _weight(spectrum, relation)
    for start in range(0, found, ROWS):
        stop = min(start + ROWS, found)
        residuals = residuals_of(rounded, entities, begin, queries, rows, start, stop, None)
        products = np.dot(residuals, metric[relation]) if fully else np.dot(residuals, axes[relation].T)
        for entry in range(start, stop):
            row = entry - start
            square = value = like(0)
            for i in range(size):
                square += residuals[row, i] * residuals[row, i]
            if fully:
                for i in range(size):
                    value += products[row, i] * residuals[row, i]
                mixed = like(ranges[relation, 4])
                error = like(errors[1]) * (value if mixed == 0 else mixed * square)
                lower[queries[entry], rows[entry]] = value - error
                upper[queries[entry], rows[entry]] = value + error
            else:
                error = like(errors[1] * weight) * square
                for axis in range(number):
                    part = products[row, axis] * products[row, axis]
                    value += like(values[relation, axis]) * part
                    square -= part
                lower[queries[entry], rows[entry]] = value + like(ranges[relation, 2]) * square - error
                upper[queries[entry], rows[entry]] = value + like(ranges[relation, 3]) * square + error
