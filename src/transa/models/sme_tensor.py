"""SME, Semantic Matching Energy, bilinear form with tensors: the relation makes a matrix for the head and one for the tail.

Bordes, Glorot, Weston, Bengio: *A Semantic Matching Energy Function for Learning with Multi-relational Data*, Machine Learning 2014.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.algebra import dot, glorot
from transa.models.base import Model, Rows


class SMETensor(Model):
    """``f_r(h, t) = -((T_1 r) h + b_1)^T ((T_2 r) t + b_2)`` with T_1, T_2 of s x k x k, contracted with r along the last side.

    Neighbours: SMEBilinear has two matrices in place of each tensor; with a matrix of its own for every relation, SE takes the
    distance of the two ends and RESCAL only their product.

    Entities keep norm 1 (`entity_norm`). Tensors start uniform by the sizes of their slices, biases at 0.
    Original settings: as SMELinear's.

    Parameters
    ----------
    hidden
        The size s of what is compared; by default k.
    """

    name = "sme_tensor"
    label = "SME (bilinear, tensor)"
    formula = "-((T_1 r) h + b_1)^T ((T_2 r) t + b_2)"
    size = "n k + m k + 2 s k^2 + 2 s"
    cost = "2 s k, and 2 s k^2 for a relation"
    options = ("hidden",)
    grouped = True
    products = True

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, hidden: int | None = None) -> None:
        super().__init__(num_entities, num_relations, dim)
        self.hidden = hidden or dim

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of T_1, T_2, b_1 and b_2."""
        tensor, bias = (self.hidden, self.dim, self.dim), (self.hidden,)
        return {"t1": tensor, "t2": tensor, "b1": bias, "b2": bias}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Tensors start uniform by the sizes of their slices, biases at 0."""
        if table in ("b1", "b2"):
            return torch.zeros(shape)
        return super().start(table, shape, width, generator) if table == "vector" else glorot(shape, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative product of the two ends."""
        m = self.shared
        left = head.vector @ (m.t1 @ relation.vector).T + m.b1
        right = tail.vector @ (m.t2 @ relation.vector).T + m.b2
        return -dot(left, right)
