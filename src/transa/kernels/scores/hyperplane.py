"""Norms of the residual on a hyperplane (TransH): e = d + r - (w.d) w with d = h - t and the relation's unit normal w.

The plane adds 5 operations an entry to a norm and 15 to its gradient. The gradient by an entity is that by the residual, projected
on the plane: once for each row, when all triples of a positive are done (`_finish`).
"""

from __future__ import annotations

import numpy as np

from transa.kernels.codes import L1, L2, SQUARED_L2, TILT
from transa.kernels.scores import RowScore, in_order, inlined, register
from transa.kernels.scores.residuals import scale_residual, scatter_residual, sign_residual


@inlined
def _along(vectors, head, tail, extra, row):
    """Return w.(h - t)."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += extra[row, 0, i] * (vectors[head, i] - vectors[tail, i])
    return total


@inlined
def _entry(vectors, head, relation, tail, extra, row, shift, i):
    """Return entry i of the residual, with shift = w.d."""
    return vectors[head, i] - vectors[tail, i] + vectors[relation, i] - shift * extra[row, 0, i]


@inlined
def _l1(vectors, head, relation, tail, extra, row):
    """Return sum |e|."""
    total = vectors.dtype.type(0)
    shift = _along(vectors, head, tail, extra, row)
    for i in range(vectors.shape[1]):
        total += abs(_entry(vectors, head, relation, tail, extra, row, shift, i))
    return total


@inlined
def _squared_l2(vectors, head, relation, tail, extra, row):
    """Return sum e^2."""
    total = vectors.dtype.type(0)
    shift = _along(vectors, head, tail, extra, row)
    for i in range(vectors.shape[1]):
        e = _entry(vectors, head, relation, tail, extra, row, shift, i)
        total += e * e
    return total


@inlined
def _l2(vectors, head, relation, tail, extra, row):
    """Return sqrt(sum e^2)."""
    return np.sqrt(_squared_l2(vectors, head, relation, tail, extra, row))


@inlined
def _write(vectors, head, relation, tail, extra, row, out, place):
    """Write the residual to ``out[place]`` and return w.d."""
    shift = _along(vectors, head, tail, extra, row)
    for i in range(vectors.shape[1]):
        out[place, i] = _entry(vectors, head, relation, tail, extra, row, shift, i)
    return shift


@in_order
def _combine(a, x, b, y):
    """Return a x + b y."""
    return a * x + b * y


@inlined
def _pass_on(vectors, head, tail, extra, row, shift, gradients, places, extra_gradients, b):
    """Add the gradient by w, -(w.d) g - (w.g) d with the gradient g by the residual, and pass g on."""
    size, place = vectors.shape[1], places[0]
    slope = vectors.dtype.type(0)
    for i in range(size):
        slope += extra[row, 0, i] * gradients[place, i]
    for i in range(size):
        extra_gradients[b, 0, i] -= _combine(shift, gradients[place, i], slope, vectors[head, i] - vectors[tail, i])
    scatter_residual(gradients, places)


@inlined
def _l1_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    shift = _write(vectors, head, relation, tail, extra, row, gradients, places[0])
    sign_residual(gradients, places[0], factor)
    _pass_on(vectors, head, tail, extra, row, shift, gradients, places, extra_gradients, b)


@inlined
def _squared_l2_gradient(
    vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b
):
    shift = _write(vectors, head, relation, tail, extra, row, gradients, places[0])
    scale_residual(gradients, places[0], 2 * factor)
    _pass_on(vectors, head, tail, extra, row, shift, gradients, places, extra_gradients, b)


@inlined
def _l2_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    shift = _write(vectors, head, relation, tail, extra, row, gradients, places[0])
    scale_residual(gradients, places[0], factor / max(value, vectors.dtype.type(1e-12)))
    _pass_on(vectors, head, tail, extra, row, shift, gradients, places, extra_gradients, b)


@inlined
def _tilt(vectors, relation, extra, row):
    """Return by how much (w.r)^2 / |r|^2 exceeds epsilon^2, then w.r and |r|^2."""
    slope = square = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        slope += extra[row, 0, i] * vectors[relation, i]
        square += vectors[relation, i] * vectors[relation, i]
    least = max(square, vectors.dtype.type(1e-12))
    return max(slope * slope / least - TILT * TILT, 0.0), slope, square


@inlined
def _excess(vectors, relation, extra, row):
    """Return by how much r leaves the hyperplane."""
    return _tilt(vectors, relation, extra, row)[0]


@inlined
def _finish(vectors, relation, extra, row, soft_penalty, factors, gradients, b, extra_gradients):
    """Take from the gradients by entities what is along the normal, and add the gradient of the soft constraint."""
    size, width = vectors.shape[1], 2 + factors.shape[1]
    base = b * width
    for c in range(width):
        if c != 2 and (c < 2 or factors[b, c - 2] != 0):
            slope = vectors.dtype.type(0)
            for i in range(size):
                slope += extra[row, 0, i] * gradients[base + c, i]
            for i in range(size):
                gradients[base + c, i] -= slope * extra[row, 0, i]
    excess, slope, square = _tilt(vectors, relation, extra, row)
    if excess > 0:
        least = vectors.dtype.type(1e-12)
        turn = 2 * vectors.dtype.type(soft_penalty) * slope / max(square, least)
        shrink = turn * slope / square if square > least else vectors.dtype.type(0)
        for i in range(size):
            gradients[base + 2, i] += turn * extra[row, 0, i] - shrink * vectors[relation, i]
            extra_gradients[b, 0, i] += turn * vectors[relation, i]


register(RowScore("hyperplane_l1", _l1, _l1_gradient, _excess, _finish, ranking=L1))
register(RowScore("hyperplane_l2", _l2, _l2_gradient, _excess, _finish, ranking=L2))
register(RowScore("hyperplane_squared_l2", _squared_l2, _squared_l2_gradient, _excess, _finish, ranking=SQUARED_L2))
