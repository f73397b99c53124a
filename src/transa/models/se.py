"""SE, Structured Embeddings: a relation is a pair of matrices.

Bordes, Weston, Collobert, Bengio: *Learning Structured Embeddings of Knowledge Bases*, AAAI 2011.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from transa.models.algebra import glorot, length_and_slopes
from transa.models.base import Array, Differentiated, Gradients, Rows
from transa.models.residual_model import ResidualModel


class SE(ResidualModel):
    """``f_r(h, t) = |M_{h,r} h - M_{t,r} t|_1``: a matrix for each end maps heads and tails to where those of a fact meet.

    Neighbours: with both matrices the identity it is the L1 form of UM; TransR has one matrix for both ends and a translation, which SE
    can only express with an entry of entities that is the same for all.

    Entities keep norm 1 (`entity_norm`). The paper does not say how matrices start: here as the identity plus half a random one.
    Original settings: k=50, margin 1; in the comparison of Bordes et al. 2013 k of 20 or 50.

    Parameters
    ----------
    norm
        1 as in the paper, or 2.
    """

    name = "se"
    label = "SE"
    formula = "|M_{h,r} h - M_{t,r} t|"
    size = "n k + 2 m k^2"
    cost = "2 k^2"
    options = ("norm",)
    grouped = True
    analytic_gradients = True
    translates = False
    translation = None  # two different matrices: an entity is not at distance 0 from itself

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, norm: int = 1) -> None:
        super().__init__(num_entities, num_relations, dim, norm, root=True)

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the two matrices; there is no vector."""
        return {"head": (self.dim, self.dim), "tail": (self.dim, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Matrices start near the identity."""
        if table in ("head", "tail"):
            return torch.eye(self.dim) + 0.5 * glorot(shape, generator)
        return super().start(table, shape, width, generator)

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the difference of the two ends."""
        return head.vector @ relation.head.T - tail.vector @ relation.tail.T

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return scores and their backward pass, which takes two products for each end."""
        left, right = relation["head"], relation["tail"]
        scores, slopes = length_and_slopes(head @ left.T - tail @ right.T, self.norm, root=True)

        def back(factors: Array) -> Gradients:
            g = factors[:, None] * slopes
            return g @ left, -(g @ right), {"head": g.T @ head, "tail": -(g.T @ tail)}

        return scores, back
