"""Scores of a residual e = h + r - t, and their derivatives, on single rows.

`kind` chooses the dissimilarity:

====  ===============================  ==========================================================
code  f(e)                             systems
====  ===============================  ==========================================================
0     sum |e|                          TransE (L1), TransM
1     sqrt(sum e^2)                    TransE (L2), TransM
2     sum e^2                          UM
3     sum w e^2                        TransA, diagonal metric (row 0 of the metric is w)
4     sum d e^2 + sum_m (u_m.|e|)^2    TransA, low-rank metric (row 0 is d, row 1 + m is u_m)
====  ===============================  ==========================================================

Each of the first three may be taken on a hyperplane (TransH): with d = h - t and the relation's normal w, e = d + r - (w.d) w.

Cost: 3 to 5 operations an entry for codes 0 to 3, 5 + 5 rank for code 4, and twice as much for the derivative; a hyperplane adds 5 to
the score and 15 to the derivative. Scores write nothing: of many negatives few have a derivative worth computing. The full metric is
not here: it works on groups of triples of one relation, as matrix products (`transa.kernels.metric`).

The functions take tables and row numbers, not rows: a row cut out as an array of its own would have its owner counted, by an atomic
operation that threads wait for. They are always inlined: a function compiled twice, once by itself and once with its caller, may
round differently, and results would depend on whether the compiled code came from the cache. A metric, a normal or the gradient of
either that there is not is None, so that the compiler leaves out what belongs to it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.codes import L1, L2, LOW_RANK, TILT

#: Reordering of sums lets the compiler use vector instructions. NaN and infinity keep their meaning.
FAST = {"reassoc", "nsz", "arcp", "contract"}


@njit(fastmath=FAST, forceinline=True)
def residual_score(kind, vectors, head, relation, tail, metric, normal, row):  # type: ignore[no-untyped-def]
    """Return f of head + relation - tail, on the hyperplane and under the metric of `row`."""
    size = vectors.shape[1]
    total = vectors.dtype.type(0)
    if metric is not None:
        part = vectors.dtype.type(0)
        if kind == LOW_RANK:  # d and the first u in one pass
            for i in range(size):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                total += metric[row, 0, i] * e * e
                part += metric[row, 1, i] * abs(e)
        else:
            for i in range(size):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                total += metric[row, 0, i] * e * e
        total += part * part
        for m in range(2, metric.shape[1]):
            part = projection(vectors, head, relation, tail, metric, row, m)
            total += part * part
    elif normal is not None:
        shift = along(vectors, head, tail, normal, row)
        for i in range(size):
            e = vectors[head, i] - vectors[tail, i] + vectors[relation, i] - shift * normal[row, i]
            total += abs(e) if kind == L1 else e * e
        if kind == L2:
            total = np.sqrt(total)
    elif kind == L1:
        for i in range(size):
            total += abs(vectors[head, i] + vectors[relation, i] - vectors[tail, i])
    else:
        for i in range(size):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            total += e * e
        if kind == L2:
            total = np.sqrt(total)
    return total


@njit(fastmath=FAST, forceinline=True)
def projection(vectors, head, relation, tail, metric, row, m):  # type: ignore[no-untyped-def]
    """Return u_m.|e| for the m-th row of a metric."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += metric[row, m, i] * abs(vectors[head, i] + vectors[relation, i] - vectors[tail, i])
    return total


@njit(fastmath=FAST, forceinline=True)
def along(vectors, head, tail, normal, row):  # type: ignore[no-untyped-def]
    """Return w.(h - t)."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += normal[row, i] * (vectors[head, i] - vectors[tail, i])
    return total


@njit(fastmath=FAST, forceinline=True)
def differentiate(  # type: ignore[no-untyped-def]
    kind, vectors, head, relation, tail, out, place, metric, normal, row, value, factor, metric_out, b
):
    """Write factor * df/de to ``out[place]``, where `value` is f, and add factor * df/dmetric to ``metric_out[b]`` where it is learned.

    The residual is computed anew in each pass: its three rows are at hand, and a loop that reads many and writes one row is one that
    compilers turn into vector instructions.
    """
    size = vectors.shape[1]
    zero = vectors.dtype.type(0)
    if metric is not None:
        for i in range(size):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            out[place, i] = 2 * factor * metric[row, 0, i] * e
        if metric_out is not None:
            for i in range(size):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                metric_out[b, 0, i] += factor * e * e
        for m in range(1, metric.shape[1]):
            slope = 2 * factor * projection(vectors, head, relation, tail, metric, row, m)
            for i in range(size):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                bent = slope * metric[row, m, i]
                out[place, i] += bent if e > zero else (-bent if e < zero else zero)
            if metric_out is not None:
                for i in range(size):
                    e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                    metric_out[b, m, i] += slope * abs(e)
        return
    if normal is not None:
        shift = along(vectors, head, tail, normal, row)
        for i in range(size):
            out[place, i] = vectors[head, i] - vectors[tail, i] + vectors[relation, i] - shift * normal[row, i]
    else:
        for i in range(size):
            out[place, i] = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
    if kind == L1:
        for i in range(size):
            e = out[place, i]
            out[place, i] = factor if e > zero else (-factor if e < zero else zero)
    else:
        scale = factor / max(value, vectors.dtype.type(1e-12)) if kind == L2 else 2 * factor
        for i in range(size):
            out[place, i] *= scale


@njit(fastmath=FAST, forceinline=True)
def clear_metric_gradient(out, b):  # type: ignore[no-untyped-def]
    """Set ``out[b]`` to 0, where a metric or normal is learned."""
    if out is not None:
        for m in range(out.shape[1]):
            for i in range(out.shape[2]):
                out[b, m, i] = 0


@njit(fastmath=FAST, forceinline=True)
def add_normal_gradient(vectors, head, tail, g, place, normal, row, out, b):  # type: ignore[no-untyped-def]
    """Add df/dw = -(w.d) g - (w.g) d to ``out[b]``, g being the derivative by the residual, where there is a hyperplane."""
    if normal is not None:
        size = vectors.shape[1]
        shift = along(vectors, head, tail, normal, row)
        slope = vectors.dtype.type(0)
        for i in range(size):
            slope += normal[row, i] * g[place, i]
        for i in range(size):
            out[b, 0, i] -= shift * g[place, i] + slope * (vectors[head, i] - vectors[tail, i])


@njit(fastmath=FAST, forceinline=True)
def project(g, place, normal, row):  # type: ignore[no-untyped-def]
    """Take from ``g[place]`` what is along the normal: the way from the derivative by a residual to that by an entity."""
    if normal is not None:
        slope = g.dtype.type(0)
        for i in range(g.shape[1]):
            slope += normal[row, i] * g[place, i]
        for i in range(g.shape[1]):
            g[place, i] -= slope * normal[row, i]


@njit(fastmath=FAST, forceinline=True)
def tilt(vectors, relation, normal, row):  # type: ignore[no-untyped-def]
    """Return by how much (w.r)^2 / |r|^2 exceeds epsilon^2, w.r and |r|^2; nothing without a hyperplane."""
    slope = square = vectors.dtype.type(0)
    if normal is not None:
        for i in range(vectors.shape[1]):
            slope += normal[row, i] * vectors[relation, i]
            square += vectors[relation, i] * vectors[relation, i]
    least = max(square, vectors.dtype.type(1e-12))
    return max(slope * slope / least - TILT * TILT, 0.0), slope, square


@njit(fastmath=FAST, forceinline=True)
def add_tilt_gradient(vectors, relation, normal, row, slope, square, factor, g, place, out, b):  # type: ignore[no-untyped-def]
    """Add factor times the derivatives of `tilt`, by r to ``g[place]`` and by w to ``out[b]``."""
    if normal is not None:
        least = vectors.dtype.type(1e-12)
        turn = 2 * factor * slope / max(square, least)
        shrink = turn * slope / square if square > least else vectors.dtype.type(0)
        for i in range(vectors.shape[1]):
            g[place, i] += turn * normal[row, i] - shrink * vectors[relation, i]
            out[b, 0, i] += turn * vectors[relation, i]


@njit(fastmath=FAST, forceinline=True)
def scatter_residual(gradients, base, j, replaced):  # type: ignore[no-untyped-def]
    """Pass the gradient by a residual on to the rows it is made of.

    Row `base` holds the gradient of the head, the next two those of tail and relation, and row base + 3 + j that of the entity of
    negative j. The residual's own gradient stands in the first of these for the positive (j = -1) and in the last for a negative, of
    which `replaced` tells whether its entity is the head.
    """
    size = gradients.shape[1]
    if j < 0:
        for i in range(size):
            gradients[base + 1, i] = -gradients[base, i]
            gradients[base + 2, i] = gradients[base, i]
    elif replaced:
        for i in range(size):
            gradients[base + 1, i] -= gradients[base + 3 + j, i]
            gradients[base + 2, i] += gradients[base + 3 + j, i]
    else:
        for i in range(size):
            g = gradients[base + 3 + j, i]
            gradients[base, i] += g
            gradients[base + 2, i] += g
            gradients[base + 3 + j, i] = -g
