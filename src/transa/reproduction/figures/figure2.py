"""Figure 2: what the weights do to the tails of a specific and of a general head, by default for has-part.

The paper draws two dimensions of the loss, one with a large weight and one with a small one. Here the picture holds all dimensions:
one axis stands for the heavier half of them, the other for the lighter half. A score is a sum over dimensions,

    f_r = sum_i |e|_i (W_r |e|)_i      (without weights: sum_i e_i^2),

and an axis shows the root of its half of the sum. So the distance from the origin is the root of the score, and a quarter circle
separates scores below a threshold from those above it. The weight of a dimension is the sum of its row of W_r: its share in the score
of a residual of ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.analysis.weights import RelationWeights, check_metric, metric_of
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference.names import Names
from transa.models import Model
from transa.models.decomposition import Matrix
from transa.reproduction.figures.questions import Others, Question, ask, heads_by_tails
from transa.reproduction.figures.scores import Potential, Vector, residuals, same_vectors
from transa.reproduction.figures.separation import Separation

#: A general head has at most this many tails, so that they can be told apart.
MOST = 40
#: A specific head has at least this many.
LEAST = 3


@dataclass(frozen=True, eq=False)
class View:
    """The tails of one head under one score.

    Attributes
    ----------
    label
        "with the weights" or "without weights".
    parts
        For each tail, the sums over the lighter and over the heavier half of the dimensions.
    scores
        The sum of both.
    separation
        How well the scores tell matched from unmatched tails.
    """

    label: str
    parts: Matrix
    scores: Vector
    separation: Separation

    @property
    def positions(self) -> Matrix:
        """The roots of the parts; 0 for a part that negative entries of a metric made negative."""
        roots: Matrix = np.sqrt(np.maximum(self.parts, 0))
        return roots


@dataclass(frozen=True, eq=False)
class Figure2:
    """What Figure 2 shows.

    Attributes
    ----------
    questions
        The questions of the specific and of the general head.
    views
        For each question, its view without and with the weights.
    heavy
        Whether each dimension belongs to the heavier half.
    shares
        The share of each dimension; see `transa.analysis.weights.RelationWeights`.
    """

    questions: tuple[Question, ...]
    views: tuple[tuple[View, View], ...]
    heavy: npt.NDArray[np.bool_]
    shares: Vector

    def summary(self) -> dict[str, Any]:
        """Return what the picture shows as plain values."""
        return {
            "figure": 2,
            "relation": self.questions[0].relation_name,
            "heavier_half_share": float(self.shares[self.heavy].sum()),
            "heads": [
                {
                    "head": question.head_name,
                    "matched": list(question.names[: len(question.matched)]),
                    "unmatched": list(question.names[len(question.matched) :]),
                    "views": [{"label": view.label, **vars(view.separation)} for view in views],
                }
                for question, views in zip(self.questions, self.views, strict=True)
            ],
        }


def figure2(
    model: Model,
    graph: KnowledgeGraph,
    *,
    relation: str | None = None,
    heads: list[str] | None = None,
    others: Others | None = None,
) -> Figure2:
    """Compute Figure 2.

    Parameters
    ----------
    model, graph
        A model with a metric, and its graph.
    relation
        A key or name; by default WordNet's has-part where the graph has it, otherwise the relation with the most training triples.
    heads
        Keys or names. By default two heads: of those with at least three tails the one with the fewest, and of those with at most
        forty the one with the most.
    others
        Which unmatched tails to draw.
    """
    check_metric(model)
    edge = _relation(graph, relation)
    chosen = _heads(graph, edge) if not heads else [Names(graph.entities, "entity").id(head) for head in heads]
    plain = same_vectors(model, 2)
    shares = RelationWeights.of(metric_of(model, edge)).shares
    heavy = np.zeros(len(shares), dtype=bool)
    heavy[np.argsort(-shares, kind="stable")[: (len(shares) + 1) // 2]] = True
    questions = tuple(ask(graph, [plain, model], head, edge, others) for head in chosen)
    return Figure2(questions, tuple(_views(model, plain, heavy, question) for question in questions), heavy, shares)


def _relation(graph: KnowledgeGraph, key: str | None) -> int:
    if key is not None:
        return Names(graph.relations, "relation").id(key)
    for usual in ("_has_part", "has_part"):
        if usual in graph.relations:
            return graph.relations.id(usual)
    return int(np.bincount(graph.train[:, 1]).argmax())


def _heads(graph: KnowledgeGraph, relation: int) -> list[int]:
    rows = heads_by_tails(graph, relation)
    few, many = rows[rows[:, 2] >= LEAST], rows[rows[:, 2] <= MOST]
    if not len(rows):
        raise InputError("the relation has no facts")
    specific = few[0] if len(few) else rows[-1]
    general = many[-1] if len(many) else rows[-1]
    return list(dict.fromkeys([int(specific[0]), int(general[0])]))


def _views(model: Model, plain: Model, heavy: npt.NDArray[np.bool_], question: Question) -> tuple[View, View]:
    """Return the view of TransE on the same vectors and that of the model, scaled to the same mean score."""
    e = residuals(model, question.head, question.relation, question.tails)
    euclidean, weighted = (Potential(one, question.relation).parts(e) for one in (plain, model))
    mean = float(weighted.sum(axis=1).mean())
    if mean > 0:
        weighted *= float(euclidean.sum(axis=1).mean()) / mean
    views = []
    for label, each in (("without weights", euclidean), ("with the weights", weighted)):
        parts = np.stack([each[:, ~heavy].sum(axis=1), each[:, heavy].sum(axis=1)], axis=1)
        scores = parts.sum(axis=1)
        views.append(View(label, parts, scores, Separation.of(scores, question.labels)))
    return views[0], views[1]
