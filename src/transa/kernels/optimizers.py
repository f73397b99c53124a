"""One step of an optimiser on one row of a parameter table.

`transa.kernels.codes` defines the codes of optimisers and constraints.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.codes import (
    ADAGRAD,
    ADAGRAD_EPSILON,
    ADAGRAD_ROW,
    ADAM_EPSILON,
    BETA1,
    BETA2,
    FREE,
    NON_NEGATIVE,
    SGD,
    UNIT,
)
from transa.kernels.scores import FAST


@njit(fastmath=FAST, forceinline=True)
def update_row(optimizer, learning_rate, penalty, constraint, step, values, row, gradients, place, first, second):
    """Move ``values[row]`` against ``gradients[place]`` and the gradient of penalty * |row|^2, then project it onto the constraint.

    Parameters
    ----------
    optimizer, learning_rate, penalty, constraint
        How to step; learning rate and penalty have the type of the values.
    step
        The number of this step, from 1; Adam needs it.
    values, row, gradients, place
        The parameters, changed in place, and the gradient of the loss, which is overwritten.
    first, second
        The state, with one row for each row of `values`: sums of squares (Adagrad) or first moments (Adam), and second moments (Adam).
    """
    size = values.shape[1]
    one = values.dtype.type(1)
    if penalty > 0:
        for i in range(size):
            gradients[place, i] += 2 * penalty * values[row, i]
    if optimizer == SGD:
        for i in range(size):
            values[row, i] -= learning_rate * gradients[place, i]
    elif optimizer == ADAGRAD_ROW:
        total = values.dtype.type(0)
        for i in range(size):
            total += gradients[place, i] * gradients[place, i]
        first[row, 0] += total / size
        scale = learning_rate / (np.sqrt(first[row, 0]) + values.dtype.type(ADAGRAD_EPSILON))
        for i in range(size):
            values[row, i] -= scale * gradients[place, i]
    elif optimizer == ADAGRAD:
        for i in range(size):
            first[row, i] += gradients[place, i] * gradients[place, i]
            values[row, i] -= (
                learning_rate * gradients[place, i] / (np.sqrt(first[row, i]) + values.dtype.type(ADAGRAD_EPSILON))
            )
    else:
        beta1, beta2 = values.dtype.type(BETA1), values.dtype.type(BETA2)
        correct1 = values.dtype.type(1.0 - BETA1**step)
        correct2 = values.dtype.type(1.0 - BETA2**step)
        for i in range(size):
            g = gradients[place, i]
            first[row, i] = beta1 * first[row, i] + (one - beta1) * g
            second[row, i] = beta2 * second[row, i] + (one - beta2) * g * g
            deviation = np.sqrt(second[row, i] / correct2) + values.dtype.type(ADAM_EPSILON)
            values[row, i] -= learning_rate * (first[row, i] / correct1) / deviation
    if constraint == NON_NEGATIVE:
        for i in range(size):
            values[row, i] = max(values[row, i], values.dtype.type(0))
    elif constraint != FREE:
        total = values.dtype.type(0)
        for i in range(size):
            total += values[row, i] * values[row, i]
        if total > one or (constraint == UNIT and total > 0):
            scale = one / np.sqrt(total)
            for i in range(size):
                values[row, i] *= scale
