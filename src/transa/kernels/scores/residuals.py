"""What scores of a residual e = h + r - t share: its gradient goes to the head, to the relation and, negated, to the tail."""

from __future__ import annotations

from transa.kernels.scores import inlined


@inlined
def scatter_residual(gradients, places):
    """Pass the gradient by a residual, which stands in the row of the triple's own entity, on to the rows it belongs to.

    The rows are those of `transa.kernels.scores.add_gradients`.
    """
    own, base, side = places
    size = gradients.shape[1]
    if side < 0:
        for i in range(size):
            gradients[base + 1, i] = -gradients[base, i]
            gradients[base + 2, i] = gradients[base, i]
    elif side == 1:
        for i in range(size):
            gradients[base + 1, i] -= gradients[own, i]
            gradients[base + 2, i] += gradients[own, i]
    else:
        for i in range(size):
            g = gradients[own, i]
            gradients[base, i] += g
            gradients[base + 2, i] += g
            gradients[own, i] = -g


@inlined
def write_residual(vectors, head, relation, tail, out, place):
    """Write h + r - t to ``out[place]``."""
    for i in range(vectors.shape[1]):
        out[place, i] = vectors[head, i] + vectors[relation, i] - vectors[tail, i]


@inlined
def write_signs(vectors, head, relation, tail, factor, out, place):
    """Write factor times the gradient of the L1 norm of h + r - t to ``out[place]``: `write_residual` and `sign_residual` in one."""
    zero = out.dtype.type(0)
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        out[place, i] = factor if e > zero else (-factor if e < zero else zero)


@inlined
def sign_residual(out, place, factor):
    """Turn a residual into factor times the gradient of its L1 norm."""
    zero = out.dtype.type(0)
    for i in range(out.shape[1]):
        e = out[place, i]
        out[place, i] = factor if e > zero else (-factor if e < zero else zero)


@inlined
def scale_residual(out, place, scale):
    """Multiply a residual: scale 2 factor gives the gradient of its squared L2 norm, factor / |e| that of its L2 norm."""
    for i in range(out.shape[1]):
        out[place, i] *= scale
