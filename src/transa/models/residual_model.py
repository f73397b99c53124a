"""Models whose score is the length of a residual, such as h + r - t."""

from __future__ import annotations

import torch
from torch import Tensor

from transa.models.algebra import square_root
from transa.models.base import Model, Rows, check_choice


class ResidualModel(Model):
    """A model whose score is the length of a residual, by default that of h + r - t.

    A subclass has a `residual` of its own, or `parts` of its own, or both; the score follows.

    Parameters
    ----------
    norm, root
        2: the squared L2 norm, or with `root` the L2 norm; 1: the L1 norm.
    biases
        Whether entities have biases: the score is then the length less the biases of head and tail.
    """

    translates = True
    translation: tuple[str, ...] | None = ("vector",)

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        norm: int = 2,
        root: bool = False,
        biases: bool = False,
    ) -> None:
        super().__init__(num_entities, num_relations, dim)
        check_choice("norm", norm, (1, 2))
        self.norm = norm
        self.root = root and norm == 2
        self.biases = biases

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the bias to the vector, if entities have one."""
        return super().entity_tables() | ({"bias": ()} if self.biases else {})

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Biases start at 0."""
        return torch.zeros(shape) if table == "bias" else super().start(table, shape, width, generator)

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return h + r - t."""
        return head.vector + relation.vector - tail.vector

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return the absolute values or the squares of the entries."""
        return residual.abs() if self.norm == 1 else residual.square()

    def length(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return the sum of the parts, or its square root."""
        total = self.parts(residual, relation).sum(-1)
        return square_root(total) if self.root else total

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the length of the residual, less the biases."""
        length = self.length(self.residual(head, relation, tail), relation)
        return length - head.bias - tail.bias if self.biases else length

    @property
    def title(self) -> str:
        """The label, with the norm where there is a choice."""
        return f"{self.label}, L{self.norm}" if "norm" in self.options else self.label
