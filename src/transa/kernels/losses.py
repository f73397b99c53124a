"""Losses of one positive and its negatives, as factors on the derivatives of their scores.

`loss` chooses:

====  =====================================================================================================
code  loss of a positive f and negatives f_j (a dissimilarity: lower is better), with margin gamma
====  =====================================================================================================
0     margin: sum_j [f + gamma - f_j]_+
1     logistic: softplus(f - gamma) + mean_j softplus(gamma - f_j)
2     self-adversarial: the mean weighted by softmax_j(-temperature f_j), the weights taken as constants
3     softmax: cross-entropy of -temperature (f, f_1, ..., f_K), the positive being the right answer
====  =====================================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.codes import LOGISTIC, MARGIN, SOFTMAX


@njit(forceinline=True)
def _softplus(x):  # type: ignore[no-untyped-def]
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@njit(forceinline=True)
def _sigmoid(x):  # type: ignore[no-untyped-def]
    if x >= 0:
        return 1.0 / (1.0 + np.exp(-x))
    small = np.exp(x)
    return small / (1.0 + small)


@njit(forceinline=True)
def loss_and_factors(loss, margin, temperature, scores, factors, b):  # type: ignore[no-untyped-def]
    """Write the derivatives of the loss by ``scores[b]`` (the positive first) to ``factors[b]``.

    Returns
    -------
    tuple of float, int and bool
        The loss; how many negatives violate, that is, score within the margin (margin loss) or no worse than the positive (others);
        and whether any derivative is not 0.
    """
    count = scores.shape[1]
    positive = np.float64(scores[b, 0])
    total, violations = 0.0, 0
    if loss == MARGIN:
        for j in range(1, count):
            gap = positive + margin - np.float64(scores[b, j])
            factors[b, j] = -1.0 if gap > 0.0 else 0.0
            if gap > 0.0:
                total += gap
                violations += 1
        factors[b, 0] = violations
        return total, violations, violations > 0
    smallest = np.float64(scores[b, 1])
    for j in range(1, count):
        smallest = min(smallest, np.float64(scores[b, j]))
        violations += scores[b, j] <= scores[b, 0]
    if loss == SOFTMAX:
        smallest = min(smallest, positive)
    whole = 0.0
    for j in range(1, count):
        part = 1.0 if loss == LOGISTIC else np.exp(-temperature * (np.float64(scores[b, j]) - smallest))
        factors[b, j] = part
        whole += part
    if loss == SOFTMAX:
        right = np.exp(-temperature * (positive - smallest))
        whole += right
        for j in range(1, count):
            factors[b, j] *= -temperature / whole
        factors[b, 0] = temperature * (1.0 - right / whole)
        total = np.log(whole / right)
    else:
        total = _softplus(positive - margin)
        for j in range(1, count):
            gap = margin - np.float64(scores[b, j])
            weight = factors[b, j] / whole
            total += weight * _softplus(gap)
            factors[b, j] = -weight * _sigmoid(gap)
        factors[b, 0] = _sigmoid(positive - margin)
    active = False
    for j in range(count):
        active = active or factors[b, j] != 0
    return total, violations, active
