"""Adaptive Metric (PSD): TransA's baseline with an ordinary Mahalanobis distance.

Named and measured in Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from transa.models.base import Array, Kernel, MetricRules
from transa.models.linearised import Linearised, RelationRows, linearise_squares
from transa.models.metric_model import Metric, MetricModel

KERNELS = {"full": "psd", "lowrank": "psd_low_rank", "signed_lowrank": "signed_low_rank"}


class AdaptiveMetric(MetricModel):
    """``f_r(h, t) = (h + r - t)^T W_r (h + r - t)``, W_r positive semi-definite.

    Neighbours: TransA takes the absolute value of the residual and asks for non-negative entries instead. With W_r = L^T L it is the
    squared L2 distance of L (h + r) and L t, so that TransR with M_r = L and no rotation of r is close to it.

    Parameters
    ----------
    metric
        How W_r is held. ``"full"``: k x k, from its closed form. ``"lowrank"``: diag(d)^2 + sum_m u_m u_m^T, which is positive
        semi-definite by construction and costs k (1 + rank) instead of k^2. ``"signed_lowrank"``: diag(d) + sum_m u_m u_m^T where d
        may be negative; then f_r orders triples but is no distance, and has no root.
    rank
        The number of u_m.
    root
        Score with the square root of f_r.
    biases
        Subtract from the score a bias of the head and one of the tail, which are learned.
    """

    name = "adaptive_metric"
    label = "Adaptive Metric (PSD)"
    formula = "(h + r - t)^T W_r (h + r - t)"
    size = "n k + m (k + k^2); lowrank n k + m k (2 + rank)"
    cost = "k^2; lowrank k (1 + rank)"
    metrics = ("full", "lowrank", "signed_lowrank")
    metric_rules = MetricRules(absolute=False, clip="eigenvalues")

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        metric: Metric = "full",
        rank: int = 1,
        root: bool = False,
        biases: bool = False,
    ) -> None:
        super().__init__(num_entities, num_relations, dim, metric, rank, root, biases)
        if metric == "lowrank":
            self.metric_rules = replace(self.metric_rules, clip=None)

    def rows(self, metric: Tensor) -> Tensor:
        """Return d^2 and the u_m, or d itself where it is signed."""
        if self.metric != "lowrank":
            return metric
        return torch.cat([metric[..., :1, :].square(), metric[..., 1:, :]], -2)

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        return Kernel(KERNELS[self.metric], self.root)

    def linearise(self, fixed: Array, relations: RelationRows, kept: Array | None = None) -> Linearised:
        """Return the scores as linear functions of the candidates and of squares."""
        if self.metric != "lowrank":
            return super().linearise(fixed, relations, kept)
        d = relations.tables["metric"][:, 0]
        rows = relations.tables["metric"].copy()
        rows[:, 0] *= d
        found = linearise_squares(fixed, relations, rows, kept)

        def backward(by_linear: Array, by_squared: Array) -> tuple[Array, dict[str, Array]]:
            by_fixed, by_tables = found.backward(by_linear, by_squared)
            by_tables["metric"][:, 0] *= 2 * d
            return by_fixed, by_tables

        return replace(found, backward=backward)
