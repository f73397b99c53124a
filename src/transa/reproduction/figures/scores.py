"""What Figures 1 to 3 ask of a model: its name, its residuals, its score as a function of the residual, and TransE on its vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.analysis.weights import metric_of
from transa.errors import InputError
from transa.models import Model
from transa.models.adaptive_metric import AdaptiveMetric
from transa.models.decomposition import Matrix
from transa.models.transa import TransA
from transa.models.transe import TransE

Vector = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def label_of(model: Model) -> str:
    """Return the name of a model as the paper writes it."""
    if isinstance(model, TransE):
        return f"TransE, L{model.norm}"
    return {"transa": "TransA", "adaptive_metric": "Adaptive Metric (PSD)"}.get(model.name, model.name)


def same_vectors(model: Model, norm: int = 2) -> TransE:
    """Return TransE on a model's own vectors, which scores as the model would without its metric."""
    plain = TransE(model.num_entities, model.num_relations, model.dim, norm=norm)
    plain.entity, plain.relation = model.entity, model.relation
    return plain


def compared(model: Model, against: Model | None, norm: int) -> tuple[Model, str]:
    """Return what a model is compared with, and its label: another model, or TransE on the model's own vectors."""
    if against is None:
        return same_vectors(model, norm), f"TransE on the same vectors, L{norm}"
    return against, label_of(against)


def residuals(model: Model, head: int, relation: int, tails: Ids | None = None) -> Matrix:
    """Return h + r - t for some tails, or for all entities, one a row."""
    vectors = model.entity["vector"].detach().double().cpu().numpy()
    translated = vectors[head] + model.relation["vector"][relation].detach().double().cpu().numpy()
    found: Matrix = translated - (vectors if tails is None else vectors[tails])
    return found


@dataclass(frozen=True, eq=False)
class Potential:
    """The score of a model for one relation, as a function of the residual h + r - t.

    For TransE with L2 this is the squared norm, and for TransA and AdaptiveMetric f_r. Some recipes score with the root of it, which
    changes no order.

    Attributes
    ----------
    matrix
        W_r, or None for TransE.
    absolute
        Whether W_r weighs |h + r - t| instead of h + r - t.
    squared
        Whether the score grows with the square of the residual: all do but TransE with L1.
    """

    matrix: Matrix | None
    absolute: bool
    squared: bool

    @classmethod
    def of(cls, model: Model, relation: int) -> Potential:
        """Return the score of a model for one relation."""
        if isinstance(model, TransE):
            return cls(None, absolute=True, squared=model.norm == 2)
        if not isinstance(model, TransA | AdaptiveMetric):
            raise InputError(
                f"{model.name}: the figure needs a score that depends on h + r - t alone: transe, transa or adaptive_metric"
            )
        return cls(metric_of(model, relation), absolute=isinstance(model, TransA), squared=True)

    def parts(self, residuals: Matrix) -> Matrix:
        """Return what each dimension adds to the score: |e|_i (W_r |e|)_i, e_i^2 or |e|_i."""
        e = np.abs(residuals) if self.absolute else residuals
        if not self.squared:
            return e
        parts: Matrix = e * (e if self.matrix is None else e @ self.matrix)
        return parts

    def __call__(self, residuals: Matrix) -> Vector:
        """Return the score of each residual, one a row."""
        scores: Vector = self.parts(residuals).sum(axis=1)
        return scores
