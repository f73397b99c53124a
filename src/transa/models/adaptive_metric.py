"""Adaptive Metric (PSD): TransA's baseline with an ordinary Mahalanobis distance.

Named and measured in Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.base import Kernel, Model, Rows, square_root


class AdaptiveMetric(Model):
    """``f_r(h, t) = (h + r - t)^T W_r (h + r - t)``, W_r positive semi-definite.

    Neighbours: TransA takes the absolute value of the residual and asks for non-negative entries instead. With W_r = L^T L it is the
    squared L2 distance of L (h + r) and L t, so that TransR with M_r = L and no rotation of r is close to it.

    Parameters
    ----------
    root
        Score with the square root of f_r.
    """

    name = "adaptive_metric"
    formula = "(h + r - t)^T W_r (h + r - t)"
    size = "n k + m (k + k^2)"
    cost = "k^2"
    options = ("root",)
    grouped = True

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, root: bool = False) -> None:
        super().__init__(num_entities, num_relations, dim)
        self.root = root

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the k x k metric."""
        return {"vector": (self.dim,), "metric": (self.dim, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Metrics start as the identity."""
        if table == "metric":
            return torch.eye(self.dim).repeat(shape[0], 1, 1)
        return super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return e^T W_r e, or its square root."""
        e = head.vector + relation.vector - tail.vector
        value = ((e @ relation.metric) * e).sum(-1)
        return square_root(value) if self.root else value

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        return Kernel("psd", self.root)
