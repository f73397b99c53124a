"""TransA and the Adaptive Metric as interactions of PyKEEN: their scores are those of our models, negated."""

from __future__ import annotations

from typing import get_args

import torch
from pykeen.nn.modules import Interaction
from torch import Tensor

from transa.errors import InputError
from transa.models.algebra import square_root
from transa.models.base import check_choice
from transa.models.transa import Metric

#: The vector of a relation, and its metric.
Relation = tuple[Tensor, Tensor]


class TransAInteraction(Interaction):  # type: ignore[misc]
    """``-|h + r - t|^T W_r |h + r - t|``, the absolute value taken entry by entry.

    Parameters
    ----------
    metric
        How W_r is held: ``"full"``, a matrix; otherwise d as the first row and the u_m as the others, for
        W_r = diag(d) + sum_m u_m u_m^T.
    root
        Score with the negative square root instead.
    """

    def __init__(self, metric: Metric = "lowrank", root: bool = False) -> None:
        super().__init__()
        check_choice("metric", metric, get_args(Metric))
        if root and metric.startswith("signed"):
            raise InputError("root: a signed metric has none")
        self.metric: Metric = metric
        self.root = root
        self.relation_shape = ("d", "dd" if metric == "full" else "md")

    def forward(self, h: Tensor, r: Relation, t: Tensor) -> Tensor:
        """Return the scores of triples whose representations broadcast against each other."""
        vector, metric = r
        e = (h + vector - t).abs()
        if self.metric == "full":
            value = torch.einsum("...i,...ij,...j->...", e, metric, e)
        else:
            value = (metric[..., 0, :] * e * e).sum(-1)
            if metric.shape[-2] > 1:
                value = value + torch.einsum("...mi,...i->...m", metric[..., 1:, :], e).square().sum(-1)
        return -(square_root(value) if self.root else value)


class AdaptiveMetricInteraction(Interaction):  # type: ignore[misc]
    """``-(h + r - t)^T W_r (h + r - t)`` with W_r = L_r L_r^T, which is positive semi-definite whatever L_r is.

    Parameters
    ----------
    root
        Score with the negative square root instead.
    """

    relation_shape = ("d", "dd")

    def __init__(self, root: bool = False) -> None:
        super().__init__()
        self.root = root

    def forward(self, h: Tensor, r: Relation, t: Tensor) -> Tensor:
        """Return the scores of triples whose representations broadcast against each other."""
        vector, factor = r
        value = torch.einsum("...i,...ij->...j", h + vector - t, factor).square().sum(-1)
        return -(square_root(value) if self.root else value)
