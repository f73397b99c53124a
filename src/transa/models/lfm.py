"""LFM, the Latent Factor Model: relations made of the same few rank-one matrices.

Jenatton, Le Roux, Bordes, Obozinski: *A Latent Factor Model for Highly Multi-relational Data*, NIPS 2012.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.algebra import glorot, weighted_dot
from transa.models.base import Model, Rows


class LFM(Model):
    """``f_r(h, t) = -(h + y)^T W_r (t + z)`` with ``W_r = lambda sum_m a_{r,m} u_m v_m^T``.

    Factors u_m, v_m for all relations, a few weights for each. Multiplied out, the score has a term of all three, one of the relation
    with either entity and one of the relation alone, as the paper's has. Neighbours: RESCAL has a matrix of its own for each relation;
    with y = z = 0 and as many factors as that has entries, LFM can be the same.

    Constraints: |a_r|_1 <= 1 by projection, which makes many weights exactly 0; lambda, the paper's bound on that norm, stands in the
    score instead. |u_m|, |v_m| <= 1; |e| <= 1 (`entity_norm`). Factors start uniform by their sizes, weights equal but for noise,
    y and z at 0.
    Original settings (grid of Bordes et al. 2013): k of 25 to 75, 50 to 500 factors, learning rate 0.01 to 1.

    Parameters
    ----------
    factors
        The number p of rank-one matrices.
    radius
        lambda.
    """

    name = "lfm"
    label = "LFM"
    formula = "-(h + y)^T W_r (t + z), W_r = lambda sum_m a_{r,m} u_m v_m^T"
    size = "n k + m p + 2 p k + 2 k"
    cost = "2 p k"
    options = ("factors", "radius")
    products = True
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
        """Return the shapes of the factors, u_m for heads and v_m for tails, and of y and z."""
        factors = (self.factors, self.dim)
        return {"head": factors, "tail": factors, "head_shift": (self.dim,), "tail_shift": (self.dim,)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Weights start equal but for noise, factors uniform by their sizes, y and z at 0."""
        if table in ("head_shift", "tail_shift"):
            return torch.zeros(shape)
        if table == "weight":
            return (0.5 + torch.rand(shape, generator=generator)) / self.factors
        return glorot(shape, generator) if table in ("head", "tail") else super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative weighted sum over the factors."""
        shared = self.shared
        left, right = (
            (head.vector + shared.head_shift) @ shared.head.T,
            (tail.vector + shared.tail_shift) @ shared.tail.T,
        )
        return -self.radius * weighted_dot(left, relation.weight, right)
