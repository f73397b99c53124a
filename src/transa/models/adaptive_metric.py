"""Adaptive Metric (PSD): TransA's baseline with an ordinary Mahalanobis distance.

Named and measured in Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015.
"""

from __future__ import annotations

from transa.models.base import Kernel, MetricRules
from transa.models.metric_model import MetricModel


class AdaptiveMetric(MetricModel):
    """``f_r(h, t) = (h + r - t)^T W_r (h + r - t)``, W_r positive semi-definite.

    Neighbours: TransA takes the absolute value of the residual and asks for non-negative entries instead. With W_r = L^T L it is the
    squared L2 distance of L (h + r) and L t, so that TransR with M_r = L and no rotation of r is close to it.

    Parameters
    ----------
    root
        Score with the square root of f_r.
    """

    name = "adaptive_metric"
    label = "Adaptive Metric (PSD)"
    formula = "(h + r - t)^T W_r (h + r - t)"
    size = "n k + m (k + k^2)"
    cost = "k^2"
    metric_rules = MetricRules(absolute=False, clip="eigenvalues")

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        return Kernel("psd", self.root)
