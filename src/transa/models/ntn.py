"""NTN, the Neural Tensor Network: a hidden layer in which head and tail are multiplied.

Socher, Chen, Manning, Ng: *Reasoning With Neural Tensor Networks for Knowledge Base Completion*, NIPS 2013.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from transa.models.algebra import bilinear, glorot
from transa.models.base import Array, Differentiated, Gradients, Rows
from transa.models.slm import SLM


class NTN(SLM):
    """``f_r(h, t) = -u_r^T tanh(h^T W_r[1..s] t + M_{r,1} h + M_{r,2} t + b_r)``.

    Neighbours: a tensor and a bias of 0 give SLM; one slice without tanh and layer is RESCAL.
    No other model has as many parameters for a relation. The paper penalises all of them (`penalty`, `table_penalty`). It starts
    entities as means of word vectors, which this package does not have; here biases start at 0 and weights uniform by their sizes.
    Original settings: k=100, s=4, penalty 0.0001, margin 1, 10 corruptions of tails, L-BFGS on batches of 20,000 triples.

    Parameters
    ----------
    hidden
        The number s of slices, and with it the size of the hidden layer.
    """

    name = "ntn"
    label = "NTN"
    formula = "-u_r^T tanh(h^T W_r[1..s] t + M_{r,1} h + M_{r,2} t + b_r)"
    size = "n k + m (s k^2 + 2 s k + 2 s)"
    cost = "s k^2 + 2 s k"

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, hidden: int | None = None) -> None:
        super().__init__(num_entities, num_relations, dim, hidden or 4)

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the tensor and the bias."""
        return {**super().relation_tables(), "tensor": (self.hidden, self.dim, self.dim), "bias": (self.hidden,)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Biases start at 0, the tensor uniform by its size."""
        if table == "bias":
            return torch.zeros(shape)
        return glorot(shape, generator) if table == "tensor" else super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative output of the network."""
        h, t = head.vector, tail.vector
        products = torch.stack([bilinear(h, matrix, t) for matrix in relation.tensor], dim=-1)
        layer = products + h @ relation.head.T + t @ relation.tail.T + relation.bias
        return -(torch.tanh(layer) @ relation.output)

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return scores and their backward pass: SLM's, and two products for each slice."""
        tensor = relation["tensor"]
        left = head @ tensor  # (slices, triples, k)
        scores, through = self.through_layer(
            head, relation, tail, np.einsum("sij,ij->is", left, tail) + relation["bias"]
        )

        def back(factors: Array) -> Gradients:
            g, (by_head, by_tail, tables) = through(factors)
            inside = g.T[:, :, None]
            weighted = inside * tail
            by_head += (weighted @ tensor.transpose(0, 2, 1)).sum(0)
            by_tail += (inside * left).sum(0)
            return by_head, by_tail, {**tables, "tensor": head.T @ weighted, "bias": g.sum(0)}

        return scores, back
