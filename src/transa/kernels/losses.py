"""Losses of one positive and its negatives, with their derivatives with respect to the scores.

The codes of losses:

====  =====================================================================================================
code  loss of a positive f and negatives f_j (a dissimilarity: lower is better), with margin gamma
====  =====================================================================================================
0     margin: sum_j [f + gamma - f_j]_+
1     logistic: softplus(f - gamma) + mean_j softplus(gamma - f_j)
2     self-adversarial: the mean weighted by softmax_j(-temperature f_j), the weights taken as constants
3     softmax: cross-entropy of -temperature (f, f_1, ..., f_K), with the positive as the right answer
====  =====================================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.codes import LOGISTIC, MARGIN, SOFTMAX


@njit(forceinline=True)
def _softplus_and_sigmoid(x):
    """Return log(1 + e^x) and its derivative, with one exponential. If that is small, three terms of the logarithm are exact enough."""
    small = np.exp(-abs(x))
    log = small * (1.0 - small * (0.5 - small / 3.0)) if small < 1e-5 else np.log1p(small)
    return max(x, 0.0) + log, (1.0 if x >= 0 else small) / (1.0 + small)


@njit(forceinline=True)
def loss_and_factors(loss, margin, temperature, negligible, scores, factors, b):
    """Write the derivatives of the loss with respect to ``scores[b]`` (the positive first) to ``factors[b]``.

    Derivatives for negatives below `negligible` times the largest are set to 0, except with the margin loss, where all are alike.

    Returns
    -------
    tuple of float, int and bool
        The loss; how many negatives violate, that is, score within the margin (margin loss) or no worse than the positive (other
        losses); and whether any derivative is not 0.
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
        total = np.log(whole) + temperature * (positive - smallest)  # `right` may be too small for a number
    else:
        total, factors[b, 0] = _softplus_and_sigmoid(positive - margin)
        for j in range(1, count):
            gap = margin - np.float64(scores[b, j])
            weight = factors[b, j] / whole
            part, slope = _softplus_and_sigmoid(gap)
            total += weight * part
            factors[b, j] = -weight * slope
    largest = 0.0
    for j in range(1, count):
        largest = max(largest, abs(np.float64(factors[b, j])))
    for j in range(1, count):
        if abs(np.float64(factors[b, j])) < negligible * largest:
            factors[b, j] = 0.0
    active = False
    for j in range(count):
        active = active or factors[b, j] != 0
    return total, violations, active
