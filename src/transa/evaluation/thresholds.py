"""Thresholds below which the scores of triples are called true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.choices import DecidedBy
from transa.data.graph import Labels, Triples
from transa.data.relations import by_relation
from transa.evaluation.context import ContextRegression, context_columns
from transa.evaluation.scores import finite_scores
from transa.models import Model
from transa.models.loop_prior import barred_triples


@dataclass(frozen=True, eq=False)
class Decision:
    """How triples are decided: scores, and the thresholds below which they are true.

    Attributes
    ----------
    thresholds, fallback
        Of the relations with labelled triples, and of the others.
    fitted_scores
        The scores of the triples it was fitted to.
    regression
        What turns scores into negative log-odds; None where they are decided as they are.
    """

    thresholds: dict[int, float]
    fallback: float
    fitted_scores: npt.NDArray[np.float64]
    regression: ContextRegression | None

    @classmethod
    def fit(cls, model: Model, triples: Triples, labels: Labels, by: DecidedBy) -> Decision:
        """Choose what is right for the most of some labelled triples."""
        scores = finite_scores(model, triples)
        if by == "score":
            thresholds, fallback = best_thresholds(triples, scores, labels)
            return cls(thresholds, fallback, scores, None)
        columns = context_columns(model, triples, scores)
        regression = ContextRegression.fit(columns, triples, labels)
        thresholds = {relation: 0.0 for relation, _ in by_relation(triples)}
        return cls(thresholds, 0.0, -regression.log_odds(columns, triples), regression)

    def scores(self, model: Model, triples: Triples) -> npt.NDArray[np.float64]:
        """Return what is compared with the thresholds."""
        scores = finite_scores(model, triples)
        if self.regression is None:
            return scores
        return -self.regression.log_odds(context_columns(model, triples, scores), triples)

    def of_rows(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return the threshold of each triple."""
        return row_values(triples, self.thresholds, self.fallback)


def row_values(triples: Triples, own: dict[int, float], fallback: float) -> npt.NDArray[np.float64]:
    """Return the value of each triple's relation, or a fallback where it has none."""
    relations, place = np.unique(triples[:, 1], return_inverse=True)
    return np.array([own.get(relation, fallback) for relation in relations.tolist()], dtype=np.float64)[place]


def best_threshold(scores: npt.NDArray[np.float64], labels: Labels) -> tuple[float, int]:
    """Return the threshold that classifies the most triples correctly, and how many these are.

    Candidates lie half-way between neighbouring scores, below all scores and above all; the lowest of equally good ones wins.
    """
    order = np.argsort(scores, kind="stable")
    ordered, signs = scores[order], labels[order].astype(np.int64)
    right = np.concatenate([[0], np.cumsum(signs)]) + int((labels == -1).sum())
    borders = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # no border between equal scores
    best = int(np.argmax(np.where(borders, right, -1)))
    if best == 0:
        return float(np.nextafter(ordered[0], -np.inf)) if len(ordered) else 0.0, int(right[0])
    if best == len(ordered):
        return float(np.nextafter(ordered[-1], np.inf)), int(right[-1])
    below, above = float(ordered[best - 1]), float(ordered[best])
    middle = below / 2 + above / 2
    return middle if middle > below else above, int(right[best])  # neighbouring floats have nothing between them


def best_thresholds(
    triples: Triples, scores: npt.NDArray[np.float64], labels: Labels
) -> tuple[dict[int, float], float]:
    """Return the best threshold of each relation among the triples, and the best over all of them."""
    own = {relation: best_threshold(scores[rows], labels[rows])[0] for relation, rows in by_relation(triples)}
    return own, best_threshold(scores, labels)[0]


def accuracy(model: Model, triples: Triples, labels: Labels, by: DecidedBy = "score") -> float:
    """Return the accuracy on labelled triples, decided by what is best on the same triples; for validation only."""
    barred = barred_triples(model, triples)
    fitted, truth = triples[~barred], labels[~barred]
    rule = Decision.fit(model, fitted, truth, by)
    said = rule.fitted_scores < rule.of_rows(fitted)
    right = int((labels[barred] == -1).sum()) + int((said == (truth == 1)).sum())
    return right / max(len(triples), 1)
