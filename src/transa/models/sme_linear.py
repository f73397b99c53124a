"""SME, Semantic Matching Energy, linear form: head and tail each join the relation, and the two are compared.

Bordes, Glorot, Weston, Bengio: *A Semantic Matching Energy Function for Learning with Multi-relational Data*, Machine Learning 2014.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.algebra import dot, glorot
from transa.models.base import Model, Rows


class SMELinear(Model):
    """``f_r(h, t) = -(M_1 h + M_2 r + b_1)^T (M_3 t + M_4 r + b_2)``, with matrices that all relations share.

    Multiplied out, it is a product of head and tail, the same for every relation, and products of either with the relation.
    Neighbours: SMEBilinear multiplies where this one adds.

    Entities keep norm 1 (`entity_norm`). Matrices start uniform by their sizes, biases at 0.
    Original settings: margin 1, learning rate 0.01 to 0.1; in the comparison of Bordes et al. 2013 k of 20 or 50.

    Parameters
    ----------
    hidden
        The size s of what is compared; by default k.
    """

    name = "sme_linear"
    label = "SME (linear)"
    formula = "-(M_1 h + M_2 r + b_1)^T (M_3 t + M_4 r + b_2)"
    size = "n k + m k + 4 s k + 2 s"
    cost = "4 s k"
    options = ("hidden",)
    products = True

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, hidden: int | None = None) -> None:
        super().__init__(num_entities, num_relations, dim)
        self.hidden = hidden or dim

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of M_1 to M_4, b_1 and b_2."""
        matrix, bias = (self.hidden, self.dim), (self.hidden,)
        return {"m1": matrix, "m2": matrix, "m3": matrix, "m4": matrix, "b1": bias, "b2": bias}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Matrices start uniform by their sizes, biases at 0."""
        if table in ("b1", "b2"):
            return torch.zeros(shape)
        return super().start(table, shape, width, generator) if table == "vector" else glorot(shape, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative product, multiplied out so that each part has its own shape."""
        m = self.shared
        h, t = head.vector @ m.m1.T, tail.vector @ m.m3.T
        left, right = relation.vector @ m.m2.T + m.b1, relation.vector @ m.m4.T + m.b2
        return -(dot(h, t) + dot(h, right) + dot(left, t) + dot(left, right))
