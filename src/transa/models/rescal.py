"""RESCAL: the tensor of all triples, factorised.

Nickel, Tresp, Kriegel: *A Three-Way Model for Collective Learning on Multi-Relational Data*, ICML 2011.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from transa.models.algebra import bilinear, glorot
from transa.models.base import Array, Differentiated, Gradients, Model, Rows


class RESCAL(Model):
    """``f_r(h, t) = -h^T W_r t``, any k x k matrix for a relation, the same vector for an entity as head and as tail.

    Neighbours: LFM with as many factors as W_r has entries is RESCAL; NTN adds a layer and a tanh.

    Two ways to train it (`solver`): ``"gradient"``, as the other models; ``"als"``, as the paper: alternating least squares on the
    sparse tensor of 0 and 1, an epoch being one sweep over the vectors and all W_r, with the penalties lambda_A (`penalty`) and
    lambda_R (`table_penalty`). It needs no corruptions and no learning rate.
    """

    name = "rescal"
    label = "RESCAL"
    formula = "-h^T W_r t"
    size = "n k + m k^2"
    cost = "k^2"
    grouped = True
    analytic_gradients = True
    products = True
    solvers = ("gradient", "als")

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the matrix; there is no vector."""
        return {"matrix": (self.dim, self.dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Matrices start uniform by their size."""
        return glorot(shape, generator) if table == "matrix" else super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative bilinear form."""
        return -bilinear(head.vector, relation.matrix, tail.vector)

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return scores and their backward pass, which takes two more products."""
        matrix = relation["matrix"]
        left = head @ matrix

        def back(factors: Array) -> Gradients:
            weighted = -factors[:, None] * tail
            return weighted @ matrix.T, -factors[:, None] * left, {"matrix": head.T @ weighted}

        return -np.einsum("ij,ij->i", left, tail), back
