"""Low-rank metrics of the residual e = h + r - t itself, without its absolute values.

The rows of a relation's metric are d and u_1, ..., u_m. The positive semi-definite one is ``sum (d e)^2 + sum_m (u_m.e)^2``, the
signed one ``sum d e^2 + sum_m (u_m.e)^2``. Each costs 4 operations an entry, and 4 more for each u_m; the gradient costs twice as much.
"""

from __future__ import annotations

from transa.kernels.codes import PSD_LOW_RANK, SIGNED_LOW_RANK
from transa.kernels.scores import RowScore, inlined, register
from transa.kernels.scores.residuals import scatter_residual


@inlined
def _along(vectors, head, relation, tail, extra, row, m):
    """Return u_m.e."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += extra[row, m, i] * (vectors[head, i] + vectors[relation, i] - vectors[tail, i])
    return total


@inlined
def _projected(vectors, head, relation, tail, extra, row):
    """Return sum_m (u_m.e)^2."""
    total = vectors.dtype.type(0)
    for m in range(1, extra.shape[1]):
        part = _along(vectors, head, relation, tail, extra, row, m)
        total += part * part
    return total


@inlined
def _add_projected(vectors, head, relation, tail, extra, row, factor, gradients, place, extra_gradients, b):
    """Add the gradient of the projected part by the residual, and by the u_m where they are learned."""
    for m in range(1, extra.shape[1]):
        slope = 2 * factor * _along(vectors, head, relation, tail, extra, row, m)
        for i in range(vectors.shape[1]):
            gradients[place, i] += slope * extra[row, m, i]
        if extra_gradients.shape[1] > 0:
            for i in range(vectors.shape[1]):
                e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
                extra_gradients[b, m, i] += slope * e


@inlined
def _psd(vectors, head, relation, tail, extra, row):
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = extra[row, 0, i] * (vectors[head, i] + vectors[relation, i] - vectors[tail, i])
        total += e * e
    return total + _projected(vectors, head, relation, tail, extra, row)


@inlined
def _psd_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    place = places[0]
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        gradients[place, i] = 2 * factor * extra[row, 0, i] * extra[row, 0, i] * e
    if extra_gradients.shape[1] > 0:
        for i in range(vectors.shape[1]):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            extra_gradients[b, 0, i] += 2 * factor * extra[row, 0, i] * e * e
    _add_projected(vectors, head, relation, tail, extra, row, factor, gradients, place, extra_gradients, b)
    scatter_residual(gradients, places)


@inlined
def _signed(vectors, head, relation, tail, extra, row):
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        total += extra[row, 0, i] * e * e
    return total + _projected(vectors, head, relation, tail, extra, row)


@inlined
def _signed_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    place = places[0]
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        gradients[place, i] = 2 * factor * extra[row, 0, i] * e
    if extra_gradients.shape[1] > 0:
        for i in range(vectors.shape[1]):
            e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
            extra_gradients[b, 0, i] += factor * e * e
    _add_projected(vectors, head, relation, tail, extra, row, factor, gradients, place, extra_gradients, b)
    scatter_residual(gradients, places)


register(RowScore("psd_low_rank", _psd, _psd_gradient, ranking=PSD_LOW_RANK))
register(RowScore("signed_low_rank", _signed, _signed_gradient, ranking=SIGNED_LOW_RANK))
