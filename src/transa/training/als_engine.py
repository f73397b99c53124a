"""The engine that trains RESCAL by alternating least squares, in sweeps over the sparse tensor of all triples, without negatives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.kernels.threads import one_blas_thread
from transa.models import Model
from transa.training.engine import EpochReport
from transa.training.epoch_batches import EpochBatches
from transa.training.recipe import Recipe

#: Power iterations for the start of A; least squares goes on from there.
POWER_ITERATIONS = 20


class ALSEngine:
    """Minimises ``1/2 sum_r |X_r - A W_r A^T|^2 + 1/2 lambda_A |A|^2 + 1/2 lambda_R sum_r |W_r|^2`` (Nickel et al. 2011).

    X_r is the 0-1 matrix of a relation's training pairs. A starts with the leading eigenvectors of ``sum_r (X_r + X_r^T)``, as the
    paper's program does: from short random vectors, a sparse graph falls to A = 0 under all but the smallest penalties. An epoch
    first solves for A with A^T held fixed, then exactly for every W_r. All state is in the model, so a run resumes from its tables.

    Parameters
    ----------
    model, graph, recipe
        What to train and on what. The engine reads `penalty` (lambda_A) and `table_penalty` (lambda_R) of the recipe.
    """

    name = "als"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        self.model = model
        self.recipe = recipe
        self.epoch_batches = EpochBatches(graph, recipe, grouped=True)
        self.slices = []
        offsets, triples = self.epoch_batches.by_relation.offsets, self.epoch_batches.by_relation.triples
        for start, stop in pairwise(offsets):
            pairs = np.unique(triples[start:stop, ::2], axis=0)
            shape = (model.num_entities, model.num_entities)
            self.slices.append(csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape))

    def train_epoch(self, number: int) -> EpochReport:
        """Solve once for A and for all W_r."""
        with one_blas_thread():
            entities = self.model.entity.vector.numpy()
            matrices = self.model.relation.matrix.numpy()
            if number == 1:
                vectors = self._leading_eigenvectors(entities.astype(np.float64))
                self._solve_matrices(vectors, matrices)
            else:
                vectors = entities.astype(np.float64)
            vectors = self._solve_entities(vectors, matrices.astype(np.float64))
            loss = self._solve_matrices(vectors, matrices)
            entities[:] = vectors
        return EpochReport(loss / 2 / len(self.epoch_batches), 0.0)

    def _leading_eigenvectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of about the eigenvectors with the largest absolute eigenvalues, by block power iteration."""
        total = sum(self.slices[1:], self.slices[0])
        both = total + total.T
        for _ in range(POWER_ITERATIONS):
            basis = np.linalg.qr(both @ vectors)[0]
            vectors[:, : basis.shape[1]] = basis
        return vectors

    def _solve_matrices(self, vectors: np.ndarray, matrices: np.ndarray) -> float:
        """Write every W_r, and return twice the objective."""
        left, values, right = np.linalg.svd(vectors, full_matrices=False)
        squares = np.outer(values, values)
        inverse = squares / (squares**2 + self.recipe.table_penalty + 1e-12)
        loss = self.recipe.penalty * float(np.square(vectors).sum())
        for relation, pairs in enumerate(self.slices):
            inner = left.T @ (pairs @ left)
            core = inverse * inner  # W_r in the coordinates of the singular vectors
            matrices[relation] = right.T @ core @ right
            fitted = squares * core
            loss += pairs.nnz - 2 * (inner * fitted).sum() + np.square(fitted).sum()
            loss += self.recipe.table_penalty * np.square(core).sum()
        return loss

    def _solve_entities(self, vectors: np.ndarray, matrices: np.ndarray) -> np.ndarray:
        """Return A from the normal equations; their products A W_r and A W_r^T use the previous A."""
        size = vectors.shape[1]
        gram = vectors.T @ vectors
        wanted = np.zeros_like(vectors)
        system = np.eye(size) * (self.recipe.penalty + 1e-12)
        for pairs, matrix in zip(self.slices, matrices, strict=True):
            if pairs.nnz:
                wanted += pairs @ (vectors @ matrix.T) + pairs.T @ (vectors @ matrix)
                system += matrix @ gram @ matrix.T + matrix.T @ gram @ matrix
        return np.linalg.solve(system, wanted.T).T

    def state(self) -> dict[str, Tensor]:
        """Return no state: the model's tables are all there is."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load nothing, since there is no state."""
