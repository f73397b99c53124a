"""TransE: a relation is a translation.

Bordes, Usunier, García-Durán, Weston, Yakhnenko: *Translating Embeddings for Modeling Multi-relational Data*, NIPS 2013.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from transa.errors import InputError
from transa.models.base import Array, Kernel, Rows
from transa.models.linearised import Linearised, RelationRows, linearise_squares, scores_of_squares
from transa.models.residual_model import ResidualModel


class TransE(ResidualModel):
    """``f_r(h, t) = |h + r - t|``, the L1 or the L2 norm, or the square of the L2 norm.

    Neighbours: UM is TransE with r = 0; TransM weighs each relation's norm; TransA puts a metric in the norm's place.
    Original settings: FB15K k=50, L1, gamma=1, learning rate 0.01; WN18 k=20, L1, gamma=2, learning rate 0.01; entities of norm 1.

    Parameters
    ----------
    norm
        1 or 2.
    squared
        Score with the square of the L2 norm, as a TransA whose metrics are all the identity.
    biases
        Subtract from the score a bias of the head and one of the tail, which are learned.
    """

    name = "transe"
    label = "TransE"
    formula = "|h + r - t|"
    size = "n k + m k"
    cost = "k"
    options: ClassVar[tuple[str, ...]] = ("norm", "squared", "biases")

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        norm: int = 1,
        squared: bool = False,
        biases: bool = False,
    ) -> None:
        super().__init__(num_entities, num_relations, dim, norm, root=not squared, biases=biases)
        if squared and norm != 2:
            raise InputError(f"squared: the square is that of the L2 norm; expected norm 2, found {norm}")
        self.squared = squared

    def kernel(self) -> Kernel:
        """Return the kernel of the norm."""
        return Kernel("l1" if self.norm == 1 else "squared_l2" if self.squared else "l2")

    @property
    def linear(self) -> bool:
        """Whether it is the squared L2 norm."""
        return self.squared

    def linearise(self, fixed: Array, relations: RelationRows, kept: Array | None = None) -> Linearised:
        """Return the scores for the squared L2 norm."""
        return linearise_squares(fixed, relations, None, kept)

    def linear_scores(
        self, fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Return the negated scores for the squared L2 norm."""
        return scores_of_squares(fixed, relation, candidates, at_head, None, kept)

    @property
    def title(self) -> str:
        """The label with the norm."""
        return f"{super().title} squared" if self.squared else super().title
