"""TransR: each relation has a space of its own.

Lin, Liu, Sun, Liu, Zhu: *Learning Entity and Relation Embeddings for Knowledge Graph Completion*, AAAI 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from transa.models.algebra import length_and_slopes
from transa.models.base import Array, Differentiated, Gradients, Rows
from transa.models.residual_model import ResidualModel


class TransR(ResidualModel):
    """``f_r(h, t) = |h M_r + r - t M_r|^2`` with M_r of k x d: it maps entities into the relation's space, where r translates.

    Neighbours: M_r = I gives TransE; TransH's projection is a matrix of rank k - 1; SE has two matrices and no translation; the
    Adaptive Metric with W_r = M_r M_r^T translates first and then applies M_r.

    M_r starts as the identity and the vectors as those of a TransE that is trained first (`warm_epochs`); from random vectors
    training collapses.
    Constraints: |e|, |r| <= 1 (`entity_norm`, `relation_norm`); |e M_r| <= 1 softly: [|h M_r|^2 - 1]_+ + [|t M_r|^2 - 1]_+ for each
    positive of a batch, times `soft_penalty`.
    Original settings: L1; WN18 k=d=50, learning rate 0.001, margin 4; FB15K k=d=50, learning rate 0.001, margin 1; 500 epochs.

    Parameters
    ----------
    relation_dim
        The dimension d of the relation's space; by default k.
    norm, root
        2: the squared L2 norm, as printed, or with `root` the L2 norm; 1: the L1 norm.
    clamp_projections
        Whether the score shortens e M_r to a norm of at most 1, as PyKEEN's TransR does; autograd then trains it.
    """

    name = "transr"
    label = "TransR"
    formula = "|h M_r + r - t M_r|^2"
    size = "n k + m (d + k d)"
    cost = "2 k d"
    options: ClassVar[tuple[str, ...]] = ("relation_dim", "norm", "root", "clamp_projections")
    grouped = True
    analytic_gradients: bool = True
    clamp_projections: bool = False
    from_transe = True
    translates = False

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        relation_dim: int | None = None,
        norm: int = 2,
        root: bool = False,
        clamp_projections: bool = False,
    ) -> None:
        super().__init__(num_entities, num_relations, dim, norm, root)
        self.relation_dim = relation_dim or dim
        if clamp_projections:
            self.clamp_projections, self.analytic_gradients = True, False

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the translation in the relation's space and of the matrix that maps entities there."""
        return {"vector": (self.relation_dim,), "matrix": (self.dim, self.relation_dim)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Matrices start as the identity, cut where d < k."""
        if table == "matrix":
            return torch.eye(*shape[1:]).repeat(shape[0], 1, 1)
        return super().start(table, shape, width, generator)

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the residual in the relation's space."""
        return self.between(head, relation, tail) + relation.vector

    def between(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return h M_r - t M_r: one product if heads and tails are pairs, otherwise one for the heads and one for the tails."""
        h, t = head.vector, tail.vector
        if self.clamp_projections:
            return self.clamped(h @ relation.matrix) - self.clamped(t @ relation.matrix)
        return (h - t) @ relation.matrix if h.shape == t.shape else h @ relation.matrix - t @ relation.matrix

    def clamped(self, projected: Tensor) -> Tensor:
        """Return projected entities, shortened to norm 1 where they are longer."""
        lengths: Tensor = torch.linalg.vector_norm(projected, self.norm, -1, keepdim=True)
        return projected / lengths.clamp(min=1)

    def excess(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return by how much the squared norms of projected entities exceed 1."""
        ends = torch.stack([head.vector, tail.vector]) @ relation.matrix
        return (ends.square().sum(-1) - 1).clamp(min=0).sum(0)

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return scores and their backward pass, which takes two more products."""
        matrix, between = relation["matrix"], head - tail
        scores, slopes = length_and_slopes(between @ matrix + relation["vector"], self.norm, self.root)

        def back(factors: Array) -> Gradients:
            g = factors[:, None] * slopes
            by_head = g @ matrix.T
            return by_head, -by_head, {"vector": g.sum(0), "matrix": between.T @ g}

        return scores, back

    def differentiate_excess(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return the excess of heads and tails together, and its backward pass."""
        matrix, ends = relation["matrix"], np.concatenate([head, tail])
        projected = ends @ matrix
        beyond = np.maximum(np.einsum("ij,ij->i", projected, projected) - 1, 0)

        def back(factors: Array) -> Gradients:
            g = (2 * np.tile(factors, 2) * (beyond > 0))[:, None] * projected
            by_head, by_tail = np.split(g @ matrix.T, 2)
            return by_head, by_tail, {"matrix": ends.T @ g}

        return beyond.reshape(2, -1).sum(0), back
