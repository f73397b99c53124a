"""Models that weigh the residual h + r - t with a metric of the relation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.models.base import MetricRules, Rows
from transa.models.residual_model import ResidualModel
from transa.models.transe import TransE


class MetricModel(ResidualModel):
    """A model with the score ``e^T W_r e``, where e is the residual or its absolute value and W_r is k x k.

    Parameters
    ----------
    root
        Score with the square root.
    biases
        Whether entities have biases.
    """

    options: ClassVar[tuple[str, ...]] = ("root",)
    grouped = True
    metric_rules: MetricRules

    def __init__(
        self, num_entities: int, num_relations: int, dim: int = 50, root: bool = False, biases: bool = False
    ) -> None:
        super().__init__(num_entities, num_relations, dim, root=root, biases=biases)

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the metric to the vector."""
        return {"vector": (self.dim,), "metric": (self.dim, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Metrics start as the identity."""
        if table == "metric":
            return torch.eye(self.dim).repeat(shape[0], 1, 1)
        return super().start(table, shape, width, generator)

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return e_i (W_r e)_i for each dimension i."""
        e = residual.abs() if self.metric_rules.absolute else residual
        return (e @ relation.metric) * e

    def metric_matrix(self, relation: int) -> npt.NDArray[np.float64]:
        """Return W_r of one relation."""
        matrix = self.matrix(self.relation.metric[relation].detach().double().cpu()).numpy()
        symmetric: npt.NDArray[np.float64] = (matrix + matrix.T) / 2
        return symmetric

    def matrix(self, metric: Tensor) -> Tensor:
        """Return W_r, given a relation's row of the table."""
        return metric

    def plain(self, norm: int | None = None) -> TransE:
        """Return a TransE that shares the tables, by default with the L2 norm: it is the root of the score for W_r = I."""
        plain = TransE(self.num_entities, self.num_relations, self.dim, norm=norm or 2, biases=self.biases)
        plain.entity, plain.relation, plain.directional = self.entity, self.relation, self.directional
        plain.loop_free = self.loop_free
        return plain
