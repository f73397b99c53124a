"""Metrics as L D L^T."""

from __future__ import annotations

import numpy as np
import pytest

from transa.models.decomposition import Decomposition


def random_symmetric(seed: int, size: int = 9) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    return matrix + matrix.T


@pytest.mark.parametrize("seed", range(20))
def test_ldl_gives_the_matrix_back_and_as_many_negative_weights_as_eigenvalues(seed: int) -> None:
    matrix = random_symmetric(seed)
    found = Decomposition.of(matrix)
    assert np.allclose(found.matrix(), matrix)
    assert (found.weights < 0).sum() == (np.linalg.eigvalsh(matrix) < 0).sum()
    assert sorted(found.pivots) == list(range(9))
    size = np.abs(np.random.default_rng(seed).normal(size=(5, 9)))
    scores = (found.weights * found.transformed(size) ** 2).sum(axis=1)
    assert np.allclose(scores, ((size @ matrix) * size).sum(axis=1))


def test_some_indefinite_matrices_need_blocks() -> None:
    assert any(Decomposition.of(random_symmetric(seed)).blocks for seed in range(20))


def test_a_single_residual_is_transformed_as_a_row_of_several() -> None:
    found, several = Decomposition.of(random_symmetric(3)), np.arange(18.0).reshape(2, 9)
    assert np.allclose(found.transformed(several)[1], found.transformed(several[1]))
