"""The products, norms and first values that several models share."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from transa.models.base import Array


def square_root(value: Tensor) -> Tensor:
    """Return the square root, 0 (with a finite derivative) where rounding or an indefinite metric left something negative."""
    return torch.sqrt(value.clamp(min=1e-24))


def length_and_slopes(e: Array, norm: int, root: bool) -> tuple[Array, Array]:
    """Return the L1 norm of each row, its squared L2 norm or with `root` its L2 norm, and the derivatives by the entries."""
    if norm == 1:
        return np.abs(e).sum(1), np.sign(e)
    squared = np.einsum("ij,ij->i", e, e)
    if not root:
        return squared, 2 * e
    values = np.sqrt(np.maximum(squared, 1e-24))
    return values, e / values[:, None]


def glorot(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return matrices (the last two dimensions) that keep the scale of what they map: uniform in +-sqrt(6 / (rows + columns))."""
    width = math.sqrt(6 / (shape[-1] + shape[-2]))
    return (torch.rand(shape, generator=generator) * 2 - 1) * width


def dot(left: Tensor, right: Tensor) -> Tensor:
    """Return inner products over the last dimension; of (Q, 1, k) with (1, N, k) as one matrix product, to (Q, N)."""
    if left.dim() == right.dim() == 3:
        if left.shape[1] == right.shape[0] == 1:
            return left.squeeze(1) @ right.squeeze(0).T
        if right.shape[1] == left.shape[0] == 1:
            return right.squeeze(1) @ left.squeeze(0).T
    return (left * right).sum(-1)


def weighted_dot(left: Tensor, weight: Tensor, right: Tensor) -> Tensor:
    """Return the sum over the last dimension of all three; the weight joins the side on which that gives fewer entries."""
    with_left, with_right = (math.prod(np.broadcast_shapes(side.shape, weight.shape)) for side in (left, right))
    return dot(left * weight, right) if with_left <= with_right else dot(left, weight * right)


def bilinear(left: Tensor, matrix: Tensor, right: Tensor) -> Tensor:
    """Return left^T matrix right; the matrix is applied to the side that has fewer entries."""
    return dot(left @ matrix, right) if left.numel() <= right.numel() else dot(left, right @ matrix.T)
