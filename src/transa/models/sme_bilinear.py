"""SME, Semantic Matching Energy, bilinear form with matrices: head and tail are each multiplied with the relation.

Bordes, Glorot, Weston, Bengio: *Joint Learning of Words and Meaning Representations for Open-Text Semantic Parsing*, AISTATS 2012.
"""

from __future__ import annotations

from torch import Tensor

from transa.models.algebra import dot, weighted_dot
from transa.models.base import Rows
from transa.models.sme_linear import SMELinear


class SMEBilinear(SMELinear):
    """``f_r(h, t) = -(M_1 h * M_2 r + b_1)^T (M_3 t * M_4 r + b_2)``, * being entry by entry.

    Neighbours: SMELinear adds where this one multiplies; SMETensor has a tensor in place of two matrices and their product, of which
    this is the form of low rank. Without biases it is h^T M_1^T diag(M_2 r * M_4 r) M_3 t: LFM with weights that come from a vector.

    Start, constraints and settings are those of SMELinear.

    Parameters
    ----------
    hidden
        The size s of what is compared; by default k.
    """

    name = "sme_bilinear"
    label = "SME (bilinear)"
    formula = "-(M_1 h * M_2 r + b_1)^T (M_3 t * M_4 r + b_2)"

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the negative product, multiplied out so that each part has its own shape."""
        m = self.shared
        h, t = head.vector @ m.m1.T, tail.vector @ m.m3.T
        left, right = relation.vector @ m.m2.T, relation.vector @ m.m4.T
        both = weighted_dot(h, left * right, t)
        return -(both + dot(h, left * m.b2) + dot(m.b1 * right, t) + dot(m.b1, m.b2))
