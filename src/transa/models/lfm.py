"""LFM, the Latent Factor Model: relations made of the same few rank-one matrices.

Jenatton, Le Roux, Bordes, Obozinski: *A Latent Factor Model for Highly Multi-relational Data*, NIPS 2012.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.base import Model, Rows, glorot, weighted_dot


class LFM(Model):
    """``f_r(h, t) = -h^T W_r t`` with ``W_r = lambda sum_m a_{r,m} u_m v_m^T``: factors for all relations, a few weights for each.

    Neighbours: RESCAL has a matrix of its own for each relation; with as many factors as that has entries, LFM can be the same. Of the
    paper's score this is the term of all three, as in later comparisons; it has others, of two of them and of one.

    Constraints: |a_r|_1 <= 1 by projection, which makes many weights exactly 0; lambda, the paper's bound on that norm, stands in the
    score instead. |u_m|, |v_m| <= 1; |e| <= 1 (`entity_norm`). Factors start uniform by their sizes, weights equal but for noise.
    Original settings (grid of Bordes et al. 2013): k of 25 to 75, 50 to 500 factors, rate 0.01 to 1.

    Parameters
    ----------
    factors
        The number p of rank-one matrices.
    radius
        lambda.
    """

    name = "lfm"
    formula = "-h^T W_r t, W_r = lambda sum_m a_{r,m} u_m v_m^T"
    size = "n k + m p + 2 p k"
    cost = "2 p k"
    options = ("factors", "radius")
    constraints = {"relation.weight": "l1_ball", "shared.head": "ball", "shared.tail": "ball"}  # noqa: RUF012

    def __init__(
        self, num_entities: int, num_relations: int, dim: int = 50, factors: int = 100, radius: float = 1.0
    ) -> None:
        super().__init__(num_entities, num_relations, dim)
        self.factors = factors
        self.radius = radius

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the weights."""
        return {"weight": (self.factors,)}

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the factors: u_m for heads, v_m for tails."""
        return {"head": (self.factors, self.dim), "tail": (self.factors, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Weights start equal but for noise, factors uniform by their sizes."""
        if table == "weight":
            return (0.5 + torch.rand(shape, generator=generator)) / self.factors
        return glorot(shape, generator) if table in ("head", "tail") else super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative weighted sum over the factors."""
        left, right = head.vector @ self.shared.head.T, tail.vector @ self.shared.tail.T
        return -self.radius * weighted_dot(left, relation.weight, right)
