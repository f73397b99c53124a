"""TransM: TransE with a fixed weight for each relation.

Fan, Zhou, Chang, Zheng: *Transition-based Knowledge Graph Embedding with Relational Mapping Properties*, PACLIC 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from transa.models.algebra import square_root
from transa.models.base import Rows
from transa.models.transe import TransE

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph


class TransM(TransE):
    """``f_r(h, t) = w_r |h + r - t|`` with ``w_r = 1 / log(hpt_r + tph_r)``, computed from the training triples.

    A relation with many answers has a small weight and with it a looser margin. Neighbours: TransE has w_r = 1. A relation
    without training triples has weight 1 / log 2, as a 1-1 relation has.

    Parameters
    ----------
    norm
        1 or 2.
    squared
        Weigh the square of the L2 norm.
    """

    name = "transm"
    label = "TransM"
    formula = "w_r |h + r - t|, w_r = 1 / log(hpt_r + tph_r)"
    size = "n k + m (k + 1)"
    cost = "k"
    options = ("norm", "squared")
    fixed = ("relation.weight",)

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the weight to TransE's vector; it is not trained."""
        return {**super().relation_tables(), "weight": ()}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Weights start at that of a 1-1 relation; `weigh` sets them from a graph."""
        if table == "weight":
            return torch.full(shape, 1 / float(torch.log(torch.tensor(2.0))))
        return super().start(table, shape, width, generator)

    def adapt(self, graph: KnowledgeGraph, seed: int) -> None:
        """Weigh the relations by the training triples."""
        counts = graph.statistics().per_relation
        self.weigh(torch.from_numpy(counts.tails_per_head), torch.from_numpy(counts.heads_per_tail))

    def weigh(self, tails_per_head: Tensor, heads_per_tail: Tensor) -> None:
        """Set the weights from tph and hpt of each relation; both are at least 1 where there are triples."""
        both = (tails_per_head + heads_per_tail).clamp(min=2)
        self.relation.weight.copy_(1 / torch.log(both))

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return TransE's parts times w_r, or its square where the score is a root."""
        weight = relation.weight.unsqueeze(-1)
        return super().parts(residual, relation) * (weight.square() if self.root else weight)

    def length(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return the weighted norm: one product with w_r for each triple, where the parts take one each."""
        total = super().parts(residual, relation).sum(-1)
        return relation.weight * (square_root(total) if self.root else total)
