"""Metrics of the residual e = h + r - t: diagonal, diagonal and low-rank, full.

The rows of a relation's metric are d and u_1, ..., u_m. A diagonal metric costs 4 operations an entry, and 5 more for each u_m; the
gradient costs twice as much. It computes the residual anew in each pass: the three rows are at hand, and a loop that reads many
rows and writes one is a loop that compilers turn into vector instructions.
"""

from __future__ import annotations

from transa.kernels.codes import DIAGONAL, FULL, LOW_RANK, PSD
from transa.kernels.scores import GroupScore, RowScore, inlined, register
from transa.kernels.scores.residuals import scatter_residual


@inlined
def _diagonal(vectors, head, relation, tail, extra, row):
    """Return sum d e^2."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        total += extra[row, 0, i] * e * e
    return total


@inlined
def _low_rank(vectors, head, relation, tail, extra, row):
    """Return sum d e^2 + sum_m (u_m.|e|)^2, d and the first u in one pass."""
    total, part = vectors.dtype.type(0), vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        total += extra[row, 0, i] * e * e
        part += extra[row, 1, i] * abs(e)
    total += part * part
    for m in range(2, extra.shape[1]):
        part = _along(vectors, head, relation, tail, extra, row, m)
        total += part * part
    return total


@inlined
def _along(vectors, head, relation, tail, extra, row, m):
    """Return u_m.|e|."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += extra[row, m, i] * abs(vectors[head, i] + vectors[relation, i] - vectors[tail, i])
    return total


@inlined
def _gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    size, place = vectors.shape[1], places[0]
    learned = extra_gradients.shape[1] > 0
    zero = vectors.dtype.type(0)
    for i in range(size):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        gradients[place, i] = 2 * factor * extra[row, 0, i] * e
    if learned:
        for i in range(size):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            extra_gradients[b, 0, i] += factor * e * e
    for m in range(1, extra.shape[1]):
        slope = 2 * factor * _along(vectors, head, relation, tail, extra, row, m)
        for i in range(size):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            bent = slope * extra[row, m, i]
            gradients[place, i] += bent if e > zero else (-bent if e < zero else zero)
        if learned:
            for i in range(size):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                extra_gradients[b, m, i] += slope * abs(e)
    scatter_residual(gradients, places)


register(RowScore("diagonal", _diagonal, _gradient, ranking=DIAGONAL))
register(RowScore("low_rank", _low_rank, _gradient, ranking=LOW_RANK))
register(GroupScore("full", absolute=True, ranking=FULL))
register(GroupScore("psd", absolute=False, ranking=PSD))
