"""W_r = L D L^T: a metric as weights on transformed dimensions.

The paper writes W_r = L^T D L, so that f_r = (L |e|)^T D (L |e|) weighs transformed dimensions by the diagonal of D. Here, as in
scipy and most books, L stands on the left: W_r = L D L^T and f_r = (L^T |e|)^T D (L^T |e|).

The paper takes this form for granted, but W_r is in general indefinite, and then a decomposition without pivots can break down: for
[0 1; 1 0] it does. `scipy.linalg.ldl` computes the decomposition of Bunch and Kaufman, which exists for every symmetric matrix. Its D
may hold 2 x 2 blocks. `Decomposition` rotates each block, and the two columns of L that belong to it, to the block's eigenvectors.
Then D is diagonal and W_r = L D L^T still holds. D has as many negative weights as W_r has negative eigenvalues, whatever the pivots
are (Sylvester). The authors' program reads weights from an LU decomposition, to which none of this applies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A symmetric matrix as L D L^T with a diagonal D.

    Attributes
    ----------
    left
        L, with rows in the order of the matrix. Sorted by `pivots`, it is unit lower triangular except for the two columns of each
        former 2 x 2 block, which are rotated within their pair.
    weights
        The diagonal of D.
    pivots
        The dimension each weight belongs to: the row in which its column of L has its 1. The two weights of a former block belong to
        both of its dimensions.
    blocks
        The number of 2 x 2 blocks that were rotated.
    """

    left: Matrix
    weights: npt.NDArray[np.float64]
    pivots: npt.NDArray[np.int64]
    blocks: int

    @classmethod
    def of(cls, matrix: Matrix) -> Decomposition:
        """Decompose a symmetric matrix."""
        from scipy.linalg import ldl

        left, diagonal, order = ldl(matrix, lower=True)
        left = np.array(left, dtype=np.float64)
        weights = np.diag(diagonal).copy()
        starts = np.flatnonzero(np.diag(diagonal, -1))
        for start in starts.tolist():
            block = slice(start, start + 2)
            values, axes = np.linalg.eigh(diagonal[block, block])
            weights[block] = values
            left[:, block] = left[:, block] @ axes
        return cls(left, weights, np.asarray(order, dtype=np.int64), len(starts))

    def matrix(self) -> Matrix:
        """Return L D L^T."""
        product: Matrix = (self.left * self.weights) @ self.left.T
        return product

    def transformed(self, residuals: Matrix) -> Matrix:
        """Return L^T e for one residual e, or for each row of several."""
        product: Matrix = residuals @ self.left
        return product
