"""TransA: each relation has a metric of its own.

Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015. Not the TransA of Jia et al. (AAAI 2016),
which adapts the margin and has no metric.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from transa.models.base import Kernel, Model, Rows, check_choice, square_root

Metric = Literal["full", "lowrank", "diagonal"]


class TransA(Model):
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
        ``"diagonal"``: diag(d).
    rank
        The number of u_m.
    root
        Score with N_r in place of f_r.
    """

    name = "transa"
    formula = "|h + r - t|^T W_r |h + r - t|"
    size = "n k + m (k + k^2); lowrank n k + m k (2 + rank), diagonal n k + 2 m k"
    cost = "k^2; lowrank k (1 + rank), diagonal k"
    options = ("metric", "rank", "root")

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        metric: Metric = "full",
        rank: int = 1,
        root: bool = False,
    ) -> None:
        super().__init__(num_entities, num_relations, dim)
        check_choice("metric", metric, ("full", "lowrank", "diagonal"))
        self.metric = metric
        self.rank = rank if metric == "lowrank" else 0
        self.root = root
        self.grouped = metric == "full"  # type: ignore[misc]

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the metric: k x k, or d and the u_m as rows."""
        return {"vector": (self.dim,), "metric": (self.dim if self.metric == "full" else 1 + self.rank, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Full and diagonal metrics start as the identity; a low-rank one as the squared L1 norm, further u_m near 0."""
        if table != "metric":
            return super().start(table, shape, width, generator)
        if self.metric == "full":
            return torch.eye(self.dim).repeat(shape[0], 1, 1)
        if self.metric == "diagonal":
            return torch.ones(shape)
        start = torch.rand(shape, generator=generator) * 0.01
        start[:, 0] = 0
        start[:, 1:2] = 1
        return start

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return |e|^T W_r |e|, or its square root."""
        e = (head.vector + relation.vector - tail.vector).abs()
        metric = relation.metric
        if self.metric == "full":
            value = ((e @ metric) * e).sum(-1)
        else:
            value = (metric[..., 0, :] * e * e).sum(-1)
            if self.rank:
                value = value + torch.square((metric[..., 1:, :] * e.unsqueeze(-2)).sum(-1)).sum(-1)
        return square_root(value) if self.root else value

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        return Kernel({"full": "full", "lowrank": "low_rank", "diagonal": "diagonal"}[self.metric], self.root)

    def matrices(self) -> Tensor:
        """Return W_r of every relation as k x k matrices."""
        metric = self.relation.metric
        if self.metric == "full":
            return metric
        vectors = metric[:, 1:]
        return torch.diag_embed(metric[:, 0]) + vectors.transpose(1, 2) @ vectors
