"""Optimisers and constraints in torch, on the rows that a batch touches. The kernels compute the same up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from transa.kernels.codes import (
    ADAGRAD,
    ADAGRAD_EPSILON,
    ADAGRAD_ROW,
    ADAM,
    ADAM_EPSILON,
    BALL,
    BETA1,
    BETA2,
    FREE,
    L1_BALL,
    NON_NEGATIVE,
    SGD,
    UNIT,
)

OPTIMIZERS = {"sgd": SGD, "adagrad_row": ADAGRAD_ROW, "adagrad": ADAGRAD, "adam": ADAM}
CONSTRAINTS = {"free": FREE, "ball": BALL, "unit": UNIT, "non_negative": NON_NEGATIVE, "l1_ball": L1_BALL}


def state_shapes(optimizer: int, rows: int, size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of the two state tables that an optimiser keeps for a table of parameters."""
    if optimizer == SGD:
        return (rows, 0), (rows, 0)
    if optimizer == ADAGRAD_ROW:
        return (rows, 1), (rows, 0)
    return (rows, size), (rows, size if optimizer == ADAM else 0)


def update_rows(
    optimizer: int,
    learning_rate: float,
    penalty: float,
    constraint: int,
    step: int,
    values: Tensor,
    gradients: Tensor,
    first: Tensor,
    second: Tensor,
) -> Tensor:
    """Return the new values of some rows and update their state in place (see `transa.kernels.optimizers.update_row`)."""
    if penalty:
        gradients = gradients + 2 * penalty * values
    if optimizer == SGD:
        values = values - learning_rate * gradients
    elif optimizer == ADAGRAD_ROW:
        first += gradients.square().mean(1, keepdim=True)
        values = values - learning_rate * gradients / (first.sqrt() + ADAGRAD_EPSILON)
    elif optimizer == ADAGRAD:
        first += gradients.square()
        values = values - learning_rate * gradients / (first.sqrt() + ADAGRAD_EPSILON)
    else:
        first.mul_(BETA1).add_(gradients, alpha=1 - BETA1)
        second.mul_(BETA2).add_(gradients.square(), alpha=1 - BETA2)
        deviation = (second / (1 - BETA2**step)).sqrt() + ADAM_EPSILON
        values = values - learning_rate * (first / (1 - BETA1**step)) / deviation
    return constrain(constraint, values)


def constrain(constraint: int, values: Tensor) -> Tensor:
    """Return the rows projected onto a constraint."""
    if constraint == FREE:
        return values
    if constraint == NON_NEGATIVE:
        return values.clamp(min=0)
    if constraint == L1_BALL:
        return project_l1(values)
    norms = torch.linalg.vector_norm(values, dim=1, keepdim=True)
    if constraint == BALL:
        return torch.where(norms > 1, values / norms, values)
    return torch.where(norms > 0, values / norms, values)


def project_l1(values: Tensor) -> Tensor:
    """Return the nearest rows with an L1 norm of at most one: all entries shrink towards 0 by the same amount (Duchi et al. 2008)."""
    sizes = values.abs()
    ordered = sizes.sort(dim=1, descending=True).values
    excess = (ordered.cumsum(1) - 1) / torch.arange(1, values.shape[1] + 1, device=values.device)
    kept = (ordered > excess).sum(1, keepdim=True).clamp(min=1)
    cut = excess.gather(1, kept - 1).clamp(min=0)
    return torch.where(sizes.sum(1, keepdim=True) > 1, values.sign() * (sizes - cut).clamp(min=0), values)
