"""Norms of the residual e = h + r - t: L1, L2 and squared L2. Three operations an entry, and as much again for the gradient."""

from __future__ import annotations

import numpy as np

from transa.kernels.codes import L1, L2, SQUARED_L2
from transa.kernels.scores import RowScore, inlined, register
from transa.kernels.scores.residuals import scale_residual, scatter_residual, write_residual, write_signs


@inlined
def _l1(vectors, head, relation, tail, extra, row):
    """Return sum |e|."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += abs(vectors[head, i] + vectors[relation, i] - vectors[tail, i])
    return total


@inlined
def _l1_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    write_signs(vectors, head, relation, tail, factor, gradients, places[0])
    scatter_residual(gradients, places)


@inlined
def _squared_l2(vectors, head, relation, tail, extra, row):
    """Return sum e^2."""
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        total += e * e
    return total


@inlined
def _squared_l2_gradient(
    vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b
):
    write_residual(vectors, head, relation, tail, gradients, places[0])
    scale_residual(gradients, places[0], 2 * factor)
    scatter_residual(gradients, places)


@inlined
def _l2(vectors, head, relation, tail, extra, row):
    """Return sqrt(sum e^2)."""
    return np.sqrt(_squared_l2(vectors, head, relation, tail, extra, row))


@inlined
def _l2_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    write_residual(vectors, head, relation, tail, gradients, places[0])
    scale_residual(gradients, places[0], factor / max(value, vectors.dtype.type(1e-12)))
    scatter_residual(gradients, places)


register(RowScore("l1", _l1, _l1_gradient, ranking=L1))
register(RowScore("l2", _l2, _l2_gradient, ranking=L2))
register(RowScore("squared_l2", _squared_l2, _squared_l2_gradient, ranking=SQUARED_L2))
