"""What Figures 1 to 3 ask of a model: its residuals, its score as a function of the residual, and TransE on its vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from transa.errors import InputError
from transa.inference.residual import exact_rows
from transa.models import Model
from transa.models.decomposition import Matrix

Vector = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def same_vectors(model: Model, norm: int = 2) -> Model:
    """Return TransE on a model's own vectors, which scores as the model would without its metric."""
    plain = model.plain(norm)
    if plain is None:
        raise InputError(f"{model.name} has no metric that could be left out")
    return plain


def compared(model: Model, against: Model | None, norm: int) -> tuple[Model, str]:
    """Return what a model is compared with, and its label: another model, or TransE on the model's own vectors."""
    if against is not None:
        return against, against.title
    plain = same_vectors(model, norm)
    return plain, f"{plain.label} on the same vectors, L{norm}"


def residuals(model: Model, head: int, relation: int, tails: Ids | None = None) -> Matrix:
    """Return the residuals of (head, relation, tail) for some tails, or for all entities, one a row."""
    chosen = np.arange(model.num_entities) if tails is None else tails
    found = model.residual(
        exact_rows(model, "entity", head), exact_rows(model, "relation", relation), exact_rows(model, "entity", chosen)
    )
    if found is None:
        raise InputError(f"{model.name}: the figure needs a score that depends on a residual such as h + r - t alone")
    values: Matrix = found.numpy()
    return values


@dataclass(frozen=True, eq=False)
class Potential:
    """The score of a model for one relation, as a function of the residual.

    It is the score before a square root is taken, which changes no order.
    """

    model: Model
    relation: int

    def is_squared(self, dimensions: int) -> bool:
        """Tell whether the score grows with the square of residuals of some dimensions, as all scores do but L1 norms."""
        ones = np.ones((1, dimensions))
        return bool(np.allclose(self(2 * ones), 4 * self(ones)))

    def parts(self, residuals: Matrix) -> Matrix:
        """Return what each dimension adds to the score of residuals, one a row."""
        found = self.model.parts(torch.from_numpy(residuals), exact_rows(self.model, "relation", self.relation))
        parts: Matrix = found.numpy()
        return parts

    def __call__(self, residuals: Matrix) -> Vector:
        """Return the score of each residual, one a row."""
        scores: Vector = self.parts(residuals).sum(axis=1)
        return scores
