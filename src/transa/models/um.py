"""The Unstructured Model: TransE without relations.

Bordes, Glorot, Weston, Bengio: *Joint Learning of Words and Meaning Representations for Open-Text Semantic Parsing*, AISTATS 2012.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.base import Kernel, Model, Rows


class UM(Model):
    """``f(h, t) = |h - t|_2^2``, the same for every relation.

    What it finds is what plain closeness in the graph explains: the floor for every other model. Neighbours: TransE with r = 0.
    """

    name = "um"
    formula = "|h - t|^2"
    size = "n k"
    cost = "k"

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Relations have no parameters."""
        return {}

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the squared distance of h and t."""
        return torch.square(head.vector - tail.vector).sum(-1)

    def kernel(self) -> Kernel:
        """Return the kernel of the squared norm."""
        return Kernel("squared_l2")
