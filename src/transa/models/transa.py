"""TransA: each relation has a metric of its own.

Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015. Not the TransA of Jia et al. (AAAI 2016),
which adapts the margin and has no metric.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.base import Kernel, MetricRules
from transa.models.metric_model import Metric, MetricModel
from transa.models.transe import TransE

__all__ = ["Metric", "TransA"]


class TransA(MetricModel):
    """``f_r(h, t) = |h + r - t|^T W_r |h + r - t|``, the absolute value taken entry by entry, every entry of W_r >= 0.

    N_r = sqrt(f_r) is non-negative and homogeneous for every such W_r. It is a norm where W_r is also positive definite, and not in
    general: for W_r = [0 1; 1 0] it is 0 at (1, 0) and (0, 1) but not at their sum.

    Neighbours: W_r = I gives the square of TransE's L2 norm, an all-ones W_r the square of its L1 norm. AdaptiveMetric has no
    absolute value and a positive semi-definite W_r.

    Parameters
    ----------
    metric
        How W_r is held. ``"full"``: k x k, as in the paper, from its closed form. ``"lowrank"``: diag(d) + sum_m u_m u_m^T with
        d, u_m >= 0, which is non-negative and positive semi-definite by construction and costs k (1 + rank) instead of k^2.
        ``"diagonal"``: diag(d). ``"signed"``: diag(d) where d may be negative, as W_r may be in the authors' program, which does not
        clip it. Then f_r orders triples but is no distance: it may be negative, and has no root. ``"signed_lowrank"``: low rank with d
        and u_m of any sign.
    rank
        The number of u_m.
    root
        Score with N_r in place of f_r.
    biases
        Subtract from the score a bias of the head and one of the tail, which are learned.
    """

    name = "transa"
    label = "TransA"
    formula = "|h + r - t|^T W_r |h + r - t|"
    size = "n k + m (k + k^2); lowrank n k + m k (2 + rank), diagonal or signed n k + 2 m k"
    cost = "k^2; lowrank k (1 + rank), diagonal or signed k"
    metrics = ("full", "lowrank", "diagonal", "signed", "signed_lowrank")
    metric_rules = MetricRules(absolute=True, clip="entries")

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Metrics start as the identity or near it; a low-rank one >= 0 as the squared L1 norm, further u_m near 0."""
        if table != "metric" or self.metric != "lowrank":
            return super().start(table, shape, width, generator)
        start = torch.rand(shape, generator=generator) * 0.01
        start[:, 0] = 0
        start[:, 1:2] = 1
        return start

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        return Kernel("full" if self.metric == "full" else "low_rank" if self.rank else "diagonal", self.root)

    def plain(self, norm: int | None = None) -> TransE:
        """Return a TransE that shares the tables, by default with the norm a metric like this one starts as."""
        return super().plain(norm or (1 if self.metric == "lowrank" else 2))
