"""A triple beside the other answers to its two questions, (h, r, ?) and (?, r, t), and what this says of its truth.

One threshold for a relation asks that scores of different entities compare. They need not: around a popular entity all answers are
near, and where a question has its answer in train already, another one is less likely than its score says. So the log-odds of a triple
are a linear function of five columns: its score, the logarithms of its ranks, and the mean scores of the best answers. Weights are
fitted to labelled triples, for each relation near those of all relations together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transa.data.facts import KnownFacts
from transa.data.graph import Labels, Triples
from transa.data.relations import by_relation
from transa.evaluation.link_prediction import link_prediction
from transa.evaluation.measures import Values
from transa.evaluation.queries import Queries, Side
from transa.evaluation.ranking import Ranker
from transa.models import Model

#: How many of the best answers to a question the mean score is of.
BEST = 10

#: How strongly the weights of a relation are drawn to those of all relations, and these to 0. Chosen by cross-validation on the
#: validation triples of WN11 and FB13, where 0.1 to 3 differ by less than half a point of accuracy.
OWN, COMMON = 1.0, 1e-3


def context_columns(model: Model, triples: Triples, scores: Values) -> Values:
    """Return the columns of triples: score, logarithm of the rank as tail and as head, mean of the best tails and of the best heads."""
    if not len(triples):
        return np.empty((0, 5))
    ranker = Ranker(model)
    nothing = KnownFacts(triples[:0], model.num_entities, model.graph_relations)
    ranks = link_prediction(ranker, triples, nothing).ranks()
    best = [_best_scores(ranker, triples, nothing, side) for side in ("tail", "head")]
    return np.column_stack([scores, np.log(ranks[:, 1]), np.log(ranks[:, 0]), *best])


def _best_scores(ranker: Ranker, triples: Triples, known: KnownFacts, side: Side) -> Values:
    """Return the mean score of the best answers to the question of each triple."""
    queries = Queries.of(triples, known, side)
    answers, scores = ranker.best(queries, BEST)
    there = answers >= 0
    means = np.where(there, scores, 0).sum(1) / np.maximum(there.sum(1), 1)
    found = np.empty(len(triples))
    found[queries.origins] = means[queries.query_of_target]
    return found


@dataclass(frozen=True, eq=False)
class ContextRegression:
    """Log-odds from standardised columns, with weights for each relation.

    Attributes
    ----------
    centre, deviation
        Of the columns.
    common
        The weights over all relations, the constant last; relations without labelled triples take these.
    own
        The weights of each relation, by its id.
    """

    centre: Values
    deviation: Values
    common: Values
    own: dict[int, Values]

    @classmethod
    def fit(cls, columns: Values, triples: Triples, labels: Labels) -> ContextRegression:
        """Minimise the cross-entropy of labelled triples, over all relations and then for each of them."""
        centre, deviation = columns.mean(0), columns.std(0)
        deviation[deviation < 1e-9] = 1.0
        scaled = _with_constant((columns - centre) / deviation)
        common = _logistic(scaled, labels, np.zeros(scaled.shape[1]), COMMON)
        own = {relation: _logistic(scaled[rows], labels[rows], common, OWN) for relation, rows in by_relation(triples)}
        return cls(centre, deviation, common, own)

    def log_odds(self, columns: Values, triples: Triples) -> Values:
        """Return the log-odds of each triple."""
        scaled = _with_constant((columns - self.centre) / self.deviation)
        found = scaled @ self.common
        for relation, rows in by_relation(triples):
            found[rows] = scaled[rows] @ self.own.get(relation, self.common)
        return found


def _with_constant(columns: Values) -> Values:
    return np.column_stack([columns, np.ones(len(columns))])


def _logistic(columns: Values, labels: Labels, centre: Values, strength: float) -> Values:
    """Return the weights of a logistic regression that pays strength / 2 for their squared distance from `centre`."""
    from scipy.optimize import minimize
    from scipy.special import expit

    signed = columns * np.where(labels == 1, 1.0, -1.0)[:, None]

    def loss(weights: Values) -> tuple[float, Values]:
        margins, moved = signed @ weights, weights - centre
        value = np.logaddexp(0, -margins).sum() + strength / 2 * moved @ moved
        return float(value), strength * moved - signed.T @ expit(-margins)

    found: Values = minimize(loss, centre, jac=True, method="L-BFGS-B").x
    return found
