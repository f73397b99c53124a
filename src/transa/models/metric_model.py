"""Models that weigh the residual h + r - t with a metric of the relation."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.errors import InputError
from transa.models.algebra import square_root
from transa.models.base import Array, MetricRules, Rows, check_choice
from transa.models.linearised import Linearised, RelationRows, linearise_squares, scores_of_squares
from transa.models.residual_model import ResidualModel
from transa.models.transe import TransE

Metric = Literal["full", "lowrank", "diagonal", "signed", "signed_lowrank"]


class MetricModel(ResidualModel):
    """A model with the score ``e^T W_r e``, where e is the residual or its absolute value.

    Parameters
    ----------
    metric
        How W_r is held: k x k (``"full"``), or as rows d and u_1, ..., u_m.
    rank
        The number of u_m of a low-rank metric.
    root
        Score with the square root.
    biases
        Whether entities have biases.
    """

    options: ClassVar[tuple[str, ...]] = ("metric", "rank", "root", "biases")
    #: The choices of `metric`.
    metrics: ClassVar[tuple[Metric, ...]]
    metric_rules: MetricRules

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
        super().__init__(num_entities, num_relations, dim, root=root, biases=biases)
        check_choice("metric", metric, self.metrics)
        self.metric = metric
        self.rank = rank if metric in ("lowrank", "signed_lowrank") else 0
        self.grouped = metric == "full"
        self.metric_rules = replace(self.metric_rules, closed_form=self.grouped)
        if metric in ("signed", "signed_lowrank"):
            if root:
                raise InputError("root: f_r may be negative with a signed metric and has no root; expected root=false")
            self.metric_rules = replace(self.metric_rules, clip=None)
            self.translation = None  # what is left of f_r without a translation is no distance

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the metric to the vector: k x k, or d and the u_m as rows."""
        return {"vector": (self.dim,), "metric": (self.dim if self.metric == "full" else 1 + self.rank, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Metrics start as the identity, or near it if they have u_m."""
        if table != "metric":
            return super().start(table, shape, width, generator)
        if self.metric == "full":
            return torch.eye(self.dim).repeat(shape[0], 1, 1)
        start = torch.ones(shape)
        start[:, 1:] = 0.01 * torch.randn(start[:, 1:].shape, generator=generator)
        return start

    def rows(self, metric: Tensor) -> Tensor:
        """Return the diagonal of W_r less the u_m, and the u_m, given a relation's rows of the table."""
        return metric

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return e_i (W_r e)_i for each dimension i."""
        e = self._weighed(residual)
        if self.metric == "full":
            return (e @ relation.metric) * e
        rows = self.rows(relation.metric)
        d, u = rows[..., 0, :], rows[..., 1:, :]
        along = (u * e.unsqueeze(-2)).sum(-1, keepdim=True)
        return e * (d * e + (along * u).sum(-2))

    def length(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return e^T W_r e, or its square root; for low rank, sum_m (u_m.e)^2 takes less than the parts."""
        if self.metric == "full":
            return super().length(residual, relation)
        e, rows = self._weighed(residual), self.rows(relation.metric)
        value = (rows[..., 0, :] * e * e).sum(-1)
        if self.rank:
            value = value + torch.square((rows[..., 1:, :] * e.unsqueeze(-2)).sum(-1)).sum(-1)
        return square_root(value) if self.root else value

    def _weighed(self, residual: Tensor) -> Tensor:
        """Return what W_r weighs."""
        return residual.abs() if self.metric_rules.absolute else residual

    @property
    def linear(self) -> bool:
        """Whether no root is taken, and W_r is diagonal or of low rank without absolute values."""
        return not (self.root or self.grouped or (self.rank and self.metric_rules.absolute))

    def linearise(self, fixed: Array, relations: RelationRows, kept: Array | None = None) -> Linearised:
        """Return the scores as linear functions of the candidates and of squares."""
        return linearise_squares(fixed, relations, relations.tables["metric"], kept)

    def linear_scores(
        self, fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Return the negated scores of all candidates."""
        return scores_of_squares(fixed, relation, candidates, at_head, self.rows(relation.metric), kept)

    def metric_matrix(self, relation: int) -> npt.NDArray[np.float64]:
        """Return W_r of one relation."""
        matrix = self.matrix(self.relation.metric[relation].detach().double().cpu()).numpy()
        symmetric: npt.NDArray[np.float64] = (matrix + matrix.T) / 2
        return symmetric

    def matrix(self, metric: Tensor) -> Tensor:
        """Return W_r, given a relation's row of the table."""
        if self.metric == "full":
            return metric
        rows = self.rows(metric)
        return torch.diag(rows[0]) + rows[1:].T @ rows[1:]

    def plain(self, norm: int | None = None) -> TransE:
        """Return a TransE that shares the tables, by default with the L2 norm: it is the root of the score for W_r = I."""
        plain = TransE(self.num_entities, self.num_relations, self.dim, norm=norm or 2, biases=self.biases)
        plain.entity, plain.relation, plain.directional = self.entity, self.relation, self.directional
        plain.loop_free = self.loop_free
        return plain
