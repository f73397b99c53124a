"""TransA: each relation has a metric of its own.

Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015. Not the TransA of Jia et al. (AAAI 2016),
which adapts the margin and has no metric.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from transa.errors import InputError
from transa.models.algebra import square_root
from transa.models.base import Array, Kernel, MetricRules, Rows, check_choice
from transa.models.linearised import Linearised, RelationRows, linearise_squares, scores_of_squares
from transa.models.metric_model import MetricModel
from transa.models.transe import TransE

Metric = Literal["full", "lowrank", "diagonal", "signed"]


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
        clip it. Then f_r orders triples but is no distance: it may be negative, and has no root.
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
    options = ("metric", "rank", "root", "biases")
    metric_rules = MetricRules(absolute=True, clip="entries")

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
        super().__init__(num_entities, num_relations, dim, root, biases)
        check_choice("metric", metric, ("full", "lowrank", "diagonal", "signed"))
        self.metric = metric
        self.rank = rank if metric == "lowrank" else 0
        self.grouped = metric == "full"
        self.metric_rules = replace(self.metric_rules, closed_form=metric == "full")
        if metric == "signed":
            if root:
                raise InputError("root: f_r may be negative with a signed metric and has no root; expected root=false")
            self.metric_rules = replace(self.metric_rules, clip=None)
            self.translation = None  # what is left of f_r without a translation is no distance

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the metric: k x k, or d and the u_m as rows."""
        return super().relation_tables() | {"metric": (self.dim if self.metric == "full" else 1 + self.rank, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Full, diagonal and signed metrics start as the identity; a low-rank one as the squared L1 norm, further u_m near 0."""
        if table != "metric" or self.metric == "full":
            return super().start(table, shape, width, generator)
        if self.metric != "lowrank":
            return torch.ones(shape)
        start = torch.rand(shape, generator=generator) * 0.01
        start[:, 0] = 0
        start[:, 1:2] = 1
        return start

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return |e|_i (W_r |e|)_i for each dimension i."""
        if self.metric == "full":
            return super().parts(residual, relation)
        e, d, u = residual.abs(), relation.metric[..., 0, :], relation.metric[..., 1:, :]
        along = (u * e.unsqueeze(-2)).sum(-1, keepdim=True)
        return e * (d * e + (along * u).sum(-2))

    def length(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return |e|^T W_r |e|, or its square root; for low rank, sum_m (u_m . |e|)^2 takes less than the parts."""
        if self.metric == "full":
            return super().length(residual, relation)
        e, metric = residual.abs(), relation.metric
        value = (metric[..., 0, :] * e * e).sum(-1)
        if self.rank:
            value = value + torch.square((metric[..., 1:, :] * e.unsqueeze(-2)).sum(-1)).sum(-1)
        return square_root(value) if self.root else value

    def kernel(self) -> Kernel:
        """Return the kernel of the metric."""
        scores = {"full": "full", "lowrank": "low_rank", "diagonal": "diagonal", "signed": "diagonal"}
        return Kernel(scores[self.metric], self.root)

    @property
    def linear(self) -> bool:
        """Whether W_r is diagonal and no root is taken."""
        return self.metric in ("diagonal", "signed") and not self.root

    def linearise(self, fixed: Array, relations: RelationRows, kept: Array | None = None) -> Linearised:
        """Return the scores for a diagonal W_r."""
        weights = relations.tables["metric"].reshape(-1, self.dim)
        return linearise_squares(fixed, relations, weights, kept)

    def linear_scores(
        self, fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Return the negated scores for a diagonal W_r."""
        return scores_of_squares(fixed, relation, candidates, at_head, relation.metric[:, 0], kept)

    def matrix(self, metric: Tensor) -> Tensor:
        """Return W_r, given a relation's row of the table."""
        return metric if self.metric == "full" else torch.diag(metric[0]) + metric[1:].T @ metric[1:]

    def plain(self, norm: int | None = None) -> TransE:
        """Return a TransE that shares the tables, by default with the norm a metric like this one starts as."""
        return super().plain(norm or (1 if self.metric == "lowrank" else 2))
