"""Losses in torch; `transa.kernels.losses` computes their derivatives."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from transa.kernels.codes import LOGISTIC, MARGIN, SELF_ADVERSARIAL, SOFTMAX

LOSSES = {"margin": MARGIN, "logistic": LOGISTIC, "self_adversarial": SELF_ADVERSARIAL, "softmax": SOFTMAX}


def without_negligible(gradient: Tensor, share: float) -> Tensor:
    """Set derivatives by the scores of negatives to 0 that are below this share of the largest of their positive."""
    sizes = gradient[:, 1:].abs()
    small = sizes < share * sizes.amax(1, keepdim=True)
    return torch.cat([gradient[:, :1], gradient[:, 1:].masked_fill(small, 0)], dim=1)


def loss_of(kind: int, margin: float, temperature: float, positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss of each positive (n) against its negatives (n, K), and which negatives violate.

    A negative violates if it scores within the margin (margin loss) or no worse than the positive (other losses).

    Scores are dissimilarities: ``margin`` sum_j [f + gamma - f_j]_+; ``logistic`` softplus(f - gamma) + mean_j softplus(gamma - f_j);
    ``self_adversarial`` the same with the mean weighted by softmax_j(-temperature f_j); ``softmax`` the cross-entropy of
    -temperature (f, f_1, ..., f_K).
    """
    if kind == MARGIN:
        gaps = positive.unsqueeze(1) + margin - negative
        return gaps.clamp(min=0).sum(1), gaps > 0
    violations = negative <= positive.unsqueeze(1)
    if kind == SOFTMAX:
        logits = -temperature * torch.cat([positive.unsqueeze(1), negative], dim=1)
        return logits.logsumexp(1) - logits[:, 0], violations
    weights = torch.full_like(negative, 1 / negative.shape[1])
    if kind == SELF_ADVERSARIAL:
        weights = torch.softmax(-temperature * negative.detach(), dim=1)
    return softplus(positive - margin) + (weights * softplus(margin - negative)).sum(1), violations
