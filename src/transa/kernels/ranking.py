"""Ranking targets among all entities, exactly, for models whose score is a function of query - entity.

Of a residual h + r - t, the query is h + r where tails are ranked and t - r where heads are. Which of two entities scores better is
decided by their scores in double precision. Hardly any of these are ever computed: single precision gives each score, or bounds of it,
together with a limit of its rounding error (`slack`), and only entities that stay open against a target are looked at again.

Per entity and query this costs, with k dimensions,

- 3 k operations for L1, 3 k for (squared) L2, 4 k for a diagonal metric;
- 6 k for the full metric, from its leading eigenpair: with a = |e|, eigenvalues l_i and eigenvectors u_i,
  ``a^T W a = l_1 (u_1.a)^2 + rest``, and the rest lies between the smallest and the largest of the other eigenvalues times
  ``|a|^2 - (u_1.a)^2``. What stays open (a few percent) is bounded again with `AXES` eigenvectors, and then (a few in a thousand)
  computed, each time as matrix products;
- 2 k for the signed metric (Adaptive Metric), since ``e^T W e = q^T W q - 2 q.(W x) + x^T W x`` is a matrix product too, and
  2 k^2 for the W x of each relation and entity.

Entities pass in chunks that stay in the cache, against a block of queries at a time; no array of queries times entities is ever made.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from transa.kernels.codes import L1
from transa.kernels.facts import find
from transa.kernels.scores import FAST

#: Queries whose scores are held together, and those that go through the entities at the same time.
BLOCK, TOGETHER = 16, 4
#: Entities that stay in the cache for the queries that go together.
TILE = 16
#: Residuals that are multiplied at once.
ROWS = 512
#: Slack of double precision, as a part of that of single precision (more than 2^-29).
DOUBLE = 1e-8
#: Eigenvectors that bound the full metric where one is not enough.
AXES = 8


@njit(parallel=True, fastmath=FAST, cache=True)
def count_better(  # type: ignore[no-untyped-def]
    kind, sign, fixed, relations, tasks, order, entities, shifts, metric, squared, spectrum, signed, reach, unit,
    target_offsets, targets, starts, stops, known, chunk, counts, rescored,
):  # fmt: skip
    """Count for each target of each query the entities that score better or the same.

    Parameters
    ----------
    kind, entities, shifts, metric
        The score: entity and relation vectors, and the metrics or None.
    squared, spectrum, signed
        Of metrics of k x k entries, True, and of the others None; of the full metric, what `spectra` returns, otherwise None; of a
        signed one, True, otherwise None.
    sign, fixed, relations
        Query q is the entity ``fixed[q]`` plus `sign` times its relation's vector.
    tasks, order
        Queries ``tasks[i]`` to ``tasks[i + 1]`` are done by one thread; with a metric, they have one relation. Threads get even parts
        of `order`.
    reach, unit
        The largest absolute value in each column of `entities`, and the relative error of a score.
    target_offsets, targets
        The targets of query q are ``targets[target_offsets[q]:target_offsets[q + 1]]``.
    starts, stops, known
        The known answers of query q are ``known[starts[q]:stops[q]]``, sorted.
    chunk
        Entities at a time.
    counts
        Results of shape (4, targets): entities better than the target, others equal to it, and of both those that are known answers.
    rescored
        Result: for each task, how many entities had to be scored in full.
    """
    size = entities.shape[1]
    like = entities.dtype.type
    for turn in prange(len(order)):
        task = order[turn]
        first, last = tasks[task], tasks[task + 1]
        relation = relations[first]
        levels = np.empty(target_offsets[last] - target_offsets[first], np.float64)
        slacks = np.empty(last - first, np.float64)
        query = np.zeros((BLOCK, size), np.float64)
        rounded = np.zeros((BLOCK, size), entities.dtype)
        lower = np.empty((BLOCK, chunk), entities.dtype)
        upper = lower if spectrum is None else np.empty((BLOCK, chunk), entities.dtype)
        scratch = np.empty((2, size), np.float64)
        listed = np.zeros((BLOCK, 0 if squared is None else chunk), np.bool_)
        queries = np.empty(listed.size, np.int32)
        rows = np.empty(listed.size, np.int32)
        if squared is not None:
            precise = metric[relation].astype(np.float64)
        for begin in range(0, len(entities), chunk):
            width = min(chunk, len(entities) - begin)
            if signed is not None:
                bent = np.dot(entities[begin : begin + width], metric[relation])
                own = np.empty(width, entities.dtype)
                for x in range(width):
                    total = like(0)
                    for i in range(size):
                        total += bent[x, i] * entities[begin + x, i]
                    own[x] = total
            for block in range(first, last, BLOCK):
                end = min(block + BLOCK, last)
                for q in range(block, end):
                    for i in range(size):
                        query[q - block, i] = np.float64(entities[fixed[q], i]) + sign * np.float64(
                            shifts[relations[q], i]
                        )
                        rounded[q - block, i] = like(query[q - block, i])
                    if begin == 0:
                        slacks[q - first] = unit * _extent(
                            kind, query, q - block, reach, metric, squared, spectrum, relations[q], signed
                        )
                        for t in range(target_offsets[q], target_offsets[q + 1]):
                            levels[t - target_offsets[first]] = _exact(
                                kind, query, q - block, entities, targets[t], metric, relations[q], squared, signed, scratch
                            )  # fmt: skip
                            for c in range(4):
                                counts[c, t] = 0
                if signed is not None:
                    _bound_signed(rounded, end - block, bent, own, metric[relation], lower, width)
                else:
                    for q in range(0, end - block, TOGETHER):
                        _bound(kind, rounded, q, entities, begin, width, metric, spectrum, relation, lower, upper)
                if spectrum is not None:
                    rescored[task] += _tighten(
                        block, end, first, rounded, entities, begin, width, metric, spectrum, relation, target_offsets,
                        levels, slacks, lower, upper, listed, queries, rows,
                    )  # fmt: skip
                found = 0
                for q in range(block, end):
                    b = q - block
                    from_known = find(known, starts[q], stops[q], begin)
                    to_known = find(known, from_known, stops[q], begin + width)
                    for t in range(target_offsets[q], target_offsets[q + 1]):
                        level = levels[t - target_offsets[first]]
                        slack = slacks[q - first]
                        low, high = like(level - slack), like(level + slack)
                        better = near = 0
                        for x in range(width):
                            better += upper[b, x] < low
                            near += lower[b, x] <= high
                        counts[0, t] += better
                        for place in range(from_known, to_known):
                            counts[2, t] += known[place] != targets[t] and upper[b, known[place] - begin] < low
                        if near - better == (begin <= targets[t] < begin + width):
                            continue
                        for x in range(width):
                            if upper[b, x] < low or lower[b, x] > high or begin + x == targets[t]:
                                continue
                            if squared is not None:
                                if not listed[b, x]:
                                    listed[b, x] = True
                                    queries[found], rows[found] = b, x
                                    found += 1
                                continue
                            value = _exact(
                                kind, query, b, entities, begin + x, metric, relations[q], squared, signed, scratch
                            )
                            _count(value, level, known, from_known, to_known, begin + x, counts, t)
                            rescored[task] += 1
                if squared is not None:
                    for start in range(0, found, ROWS):
                        stop = min(start + ROWS, found)
                        residuals = _residuals(query, entities, begin, queries, rows, start, stop, signed)
                        products = np.dot(residuals, precise)
                        for entry in range(start, stop):
                            b, x = queries[entry], rows[entry]
                            listed[b, x] = False
                            q = block + b
                            slack = slacks[q - first]
                            value = 0.0
                            for i in range(size):
                                value += products[entry - start, i] * residuals[entry - start, i]
                            for t in range(target_offsets[q], target_offsets[q + 1]):
                                level = levels[t - target_offsets[first]]
                                low, high = like(level - slack), like(level + slack)
                                if upper[b, x] < low or lower[b, x] > high or begin + x == targets[t]:
                                    continue
                                settled = value
                                if abs(value - level) <= DOUBLE * slack:
                                    settled = _exact(
                                        kind, query, b, entities, begin + x, metric, relation, squared, signed, scratch
                                    )
                                _count(settled, level, known, starts[q], stops[q], begin + x, counts, t)
                    rescored[task] += found * (spectrum is None)


@njit(forceinline=True)
def _count(value, level, known, start, stop, entity, counts, t):  # type: ignore[no-untyped-def]
    """Count an entity of a score against target `t`."""
    if value <= level:
        which = 0 if value < level else 1
        counts[which, t] += 1
        place = find(known, start, stop, entity)
        if place < stop and known[place] == entity:
            counts[2 + which, t] += 1


@njit(fastmath=FAST, forceinline=True)
def _residuals(query, entities, begin, queries, rows, start, stop, signed):  # type: ignore[no-untyped-def]
    """Return the residuals of listed pairs of query and entity, or their absolute values, in the precision of the query."""
    residuals = np.empty((stop - start, entities.shape[1]), query.dtype)
    for entry in range(start, stop):
        b, x = queries[entry], begin + rows[entry]
        for i in range(entities.shape[1]):
            e = query[b, i] - query.dtype.type(entities[x, i])
            residuals[entry - start, i] = e if signed is not None else abs(e)
    return residuals


@njit(parallel=True, cache=True)
def spectra(metric, wanted):  # type: ignore[no-untyped-def]
    """Return the outer eigenpairs of each W_r that is `wanted`: axes, their eigenvalues, and the range of the others.

    Axes are taken one by one from that end of the spectrum where the range of what is left shrinks most. The ranges are those after the
    first axis and after all of them: (smallest, largest, smallest, largest).
    """
    size = metric.shape[1]
    number = min(AXES, size)
    axes = np.zeros((len(metric), number, size), metric.dtype)
    values = np.zeros((len(metric), number), np.float64)
    ranges = np.zeros((len(metric), 4), np.float64)
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
            ranges[relation, 2:] = ranges[relation, :2]
    return axes, values, ranges


@njit(forceinline=True)
def _exact(kind, query, b, entities, x, metric, relation, squared, signed, scratch):  # type: ignore[no-untyped-def]
    """Return the score in double precision; no sum is reordered, so that equal entities have equal scores wherever they stand."""
    size = entities.shape[1]
    total = 0.0
    if metric is None:
        for i in range(size):
            e = query[b, i] - np.float64(entities[x, i])
            total += abs(e) if kind == L1 else e * e
    elif squared is not None:
        for i in range(size):
            e = query[b, i] - np.float64(entities[x, i])
            scratch[0, i] = e if signed is not None else abs(e)
            scratch[1, i] = 0.0
        for i in range(size):
            for j in range(size):
                scratch[1, j] += scratch[0, i] * np.float64(metric[relation, i, j])
        for i in range(size):
            total += scratch[0, i] * scratch[1, i]
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
def _extent(kind, query, b, reach, metric, squared, spectrum, relation, signed):  # type: ignore[no-untyped-def]
    """Bound the absolute terms that any score of a query is summed from: its error is at most this times `unit`.

    A sum of k products has an error of at most k roundoffs of the sum of its absolute terms (Higham 2002); squares of sums have twice
    that, and the rounding of the residual and of the limits compared with comes on top.
    """
    size = query.shape[1]
    total = squares = 0.0
    for i in range(size):
        e = abs(query[b, i]) + reach[i]
        squares += e * e
        if metric is None:
            total += e if kind == L1 else e * e
        elif squared is not None:
            for j in range(size):
                total += e * abs(metric[relation, i, j]) * (abs(query[b, j]) + reach[j])
        else:
            total += abs(metric[relation, 0, i]) * e * e
    if metric is not None and squared is None:
        for m in range(1, metric.shape[1]):
            part = 0.0
            for i in range(size):
                part += abs(metric[relation, m, i]) * (abs(query[b, i]) + reach[i])
            total += part * part
    if spectrum is not None:
        _, values, ranges = spectrum
        weight = 0.0
        for axis in range(values.shape[1]):
            weight += abs(values[relation, axis])
        for place in range(4):
            weight = max(weight, abs(ranges[relation, place]))
        total += 2 * weight * squares
    if signed is not None:
        total *= 4
    return total


@njit(fastmath=FAST, forceinline=True)
def _bound(kind, rounded, q, entities, begin, width, metric, spectrum, relation, lower, upper):  # type: ignore[no-untyped-def]
    """Write the scores of queries q to q + 3 to `lower`, or for the full metric bounds of them to `lower` and `upper`."""
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
            axes, values, ranges = spectrum
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
            leading = entities.dtype.type(values[relation, 0])
            least, most = entities.dtype.type(ranges[relation, 0]), entities.dtype.type(ranges[relation, 1])
            a, b, c, d = a * a, b * b, c * c, d * d
            lower[q, x] = leading * a + least * (a2 - a)
            upper[q, x] = leading * a + most * (a2 - a)
            lower[q + 1, x] = leading * b + least * (b2 - b)
            upper[q + 1, x] = leading * b + most * (b2 - b)
            lower[q + 2, x] = leading * c + least * (c2 - c)
            upper[q + 2, x] = leading * c + most * (c2 - c)
            lower[q + 3, x] = leading * d + least * (d2 - d)
            upper[q + 3, x] = leading * d + most * (d2 - d)
        else:
            for other in range(q, q + TOGETHER):
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
def _bound_signed(rounded, count, bent, own, metric, lower, width):  # type: ignore[no-untyped-def]
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
def _tighten(  # type: ignore[no-untyped-def]
    block, end, first, rounded, entities, begin, width, metric, spectrum, relation, target_offsets, levels, slacks, lower, upper,
    listed, queries, rows,
):  # fmt: skip
    """Bound again what is open against any target of its query: with all axes, then with the metric itself; return how often."""
    size = entities.shape[1]
    like = entities.dtype.type
    axes, values, ranges = spectrum
    number = values.shape[1]
    found = 0
    for q in range(block, end):
        b = q - block
        for t in range(target_offsets[q], target_offsets[q + 1]):
            level = levels[t - target_offsets[first]]
            low, high = like(level - slacks[q - first]), like(level + slacks[q - first])
            for x in range(width):
                if lower[b, x] <= high and upper[b, x] >= low and not listed[b, x]:
                    listed[b, x] = True
                    queries[found], rows[found] = b, x
                    found += 1
    for fully in range(2):
        if fully:  # what is still open
            left = 0
            for entry in range(found):
                b, x = queries[entry], rows[entry]
                listed[b, x] = False
                q = block + b
                open_ = False
                for t in range(target_offsets[q], target_offsets[q + 1]):
                    level = levels[t - target_offsets[first]]
                    open_ = open_ or (
                        lower[b, x] <= like(level + slacks[q - first])
                        and upper[b, x] >= like(level - slacks[q - first])
                    )
                if open_:
                    queries[left], rows[left] = b, x
                    left += 1
            found = left
        for start in range(0, found, ROWS):
            stop = min(start + ROWS, found)
            residuals = _residuals(rounded, entities, begin, queries, rows, start, stop, None)
            if fully:
                products = np.dot(residuals, metric[relation])
                for entry in range(start, stop):
                    total = like(0)
                    for i in range(size):
                        total += products[entry - start, i] * residuals[entry - start, i]
                    lower[queries[entry], rows[entry]] = total
                    upper[queries[entry], rows[entry]] = total
            else:
                products = np.dot(residuals, axes[relation].T)
                for entry in range(start, stop):
                    rest = base = like(0)
                    for i in range(size):
                        rest += residuals[entry - start, i] * residuals[entry - start, i]
                    for axis in range(number):
                        square = products[entry - start, axis] * products[entry - start, axis]
                        base += like(values[relation, axis]) * square
                        rest -= square
                    lower[queries[entry], rows[entry]] = base + like(ranges[relation, 2]) * rest
                    upper[queries[entry], rows[entry]] = base + like(ranges[relation, 3]) * rest
    return found
