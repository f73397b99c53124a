"""The Unstructured Model: TransE without relations.

Bordes, Glorot, Weston, Bengio: *Joint Learning of Words and Meaning Representations for Open-Text Semantic Parsing*, AISTATS 2012.
"""

from __future__ import annotations

from torch import Tensor

from transa.models.base import Kernel, Rows
from transa.models.residual_model import ResidualModel


class UM(ResidualModel):
    """``f(h, t) = |h - t|_2^2``, the same for every relation.

    It finds what closeness in the graph alone explains; every other model should find more. Neighbours: TransE with r = 0.
    """

    name = "um"
    label = "UM"
    formula = "|h - t|^2"
    size = "n k"
    cost = "k"

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return nothing: relations have no parameters."""
        return {}

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return h - t."""
        return head.vector - tail.vector

    def kernel(self) -> Kernel:
        """Return the kernel of the squared norm."""
        return Kernel("squared_l2")
