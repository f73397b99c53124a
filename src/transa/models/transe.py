"""TransE: a relation is a translation.

Bordes, Usunier, García-Durán, Weston, Yakhnenko: *Translating Embeddings for Modeling Multi-relational Data*, NIPS 2013.
"""

from __future__ import annotations

from transa.models.base import Kernel
from transa.models.residual_model import ResidualModel


class TransE(ResidualModel):
    """``f_r(h, t) = |h + r - t|``, the L1 or the L2 norm.

    Neighbours: UM is TransE with r = 0; TransM weighs each relation's norm; TransA puts a metric in the norm's place.
    Original settings: FB15K k=50, L1, gamma=1, learning rate 0.01; WN18 k=20, L1, gamma=2, learning rate 0.01; entities of norm 1.

    Parameters
    ----------
    norm
        1 or 2.
    """

    name = "transe"
    label = "TransE"
    formula = "|h + r - t|"
    size = "n k + m k"
    cost = "k"
    options = ("norm",)

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50, norm: int = 1) -> None:
        super().__init__(num_entities, num_relations, dim, norm, root=True)

    def kernel(self) -> Kernel:
        """Return the kernel of the norm."""
        return Kernel("l1" if self.norm == 1 else "l2")
