"""SLM, the Single Layer Model: a neural network of one hidden layer for each relation.

Socher, Chen, Manning, Ng: *Reasoning With Neural Tensor Networks for Knowledge Base Completion*, NIPS 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from transa.models.algebra import glorot
from transa.models.base import Array, Differentiated, Gradients, Model, Rows


class SLM(Model):
    """``f_r(h, t) = -u_r^T tanh(M_{r,1} h + M_{r,2} t)``.

    Head and tail meet in the tanh only, which is too little for many relations: the paper's stepping stone to NTN, which is SLM with a
    tensor and a bias. Linear in place of tanh, it would rank tails the same for every head.
    The paper does not say how weights start: here uniform by their sizes. Original settings: k=100, hidden layer of 100.

    Parameters
    ----------
    hidden
        The size s of the hidden layer; by default k.
    """

    name = "slm"
    label = "SLM"
    formula = "-u_r^T tanh(M_{r,1} h + M_{r,2} t)"
    size = "n k + m (2 s k + s)"
    cost = "2 s k"
    options = ("hidden",)
    grouped = True
    analytic_gradients = True

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, hidden: int | None = None) -> None:
        super().__init__(num_entities, num_relations, dim)
        self.hidden = hidden or dim

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the two matrices and of the hidden layer's weights."""
        return {"head": (self.hidden, self.dim), "tail": (self.hidden, self.dim), "output": (self.hidden,)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Weights start uniform by their sizes."""
        if table in ("head", "tail"):
            return glorot(shape, generator)
        if table == "output":
            return glorot((*shape, 1), generator).squeeze(-1)
        return super().start(table, shape, width, generator)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative output of the network."""
        layer = head.vector @ relation.head.T + tail.vector @ relation.tail.T
        return -(torch.tanh(layer) @ relation.output)

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return scores and their backward pass, which takes two products for each end."""
        scores, back = self.through_layer(head, relation, tail, 0.0)
        return scores, lambda factors: back(factors)[1]

    def through_layer(
        self, head: Array, relation: Mapping[str, Array], tail: Array, further: Array | float
    ) -> tuple[Array, Callable[[Array], tuple[Array, Gradients]]]:
        """Return scores with `further` added inside the tanh, and their backward pass: gradients inside the tanh, and of all tables."""
        left, right, output = relation["head"], relation["tail"], relation["output"]
        layer = np.tanh(head @ left.T + tail @ right.T + further)

        def back(factors: Array) -> tuple[Array, Gradients]:
            g = -factors[:, None] * output * (1 - layer * layer)
            tables = {"head": g.T @ head, "tail": g.T @ tail, "output": -(factors @ layer)}
            return g, (g @ left, g @ right, tables)

        return -(layer @ output), back
