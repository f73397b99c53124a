"""Figure 1: matched and unmatched tails in a plane, with lines of equal score: spherical for TransE, elliptical for TransA.

The plane goes through h + r along the two main axes (PCA) of the tails that are drawn. A line joins the points of the plane with equal
score: the score of the residual a u₁ + b u₂, where u₁ and u₂ are the axes. The paper's picture shows the same vectors under both
metrics, and so does this one unless another run is compared.

A plane does not show what lies off it. So mistakes are counted twice: in the plane, as the eye counts them, and in all dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference.names import Names
from transa.models import Model
from transa.models.decomposition import Matrix
from transa.reproduction.figures.questions import Others, Question, ask, heads_by_tails
from transa.reproduction.figures.scores import Potential, Vector, compared, residuals
from transa.reproduction.figures.separation import Separation

#: The default question has at most this many tails; more could not be told apart in a picture.
MANY_TAILS = 20


@dataclass(frozen=True, eq=False)
class Panel:
    """One model's view of the question.

    Attributes
    ----------
    label
        The name of the model.
    positions
        Where the tails lie in the plane; h + r is the origin.
    axes
        The two axes of the plane, as rows.
    explained
        The share of the tails' variance that the plane holds.
    separation
        Mistakes in all dimensions.
    plane_scores, plane_separation
        Scores and mistakes in the plane.
    potential
        The score as a function of the residual.
    """

    label: str
    positions: Matrix
    axes: Matrix
    explained: float
    separation: Separation
    plane_scores: Vector
    plane_separation: Separation
    potential: Potential

    def in_plane(self, positions: Matrix) -> Vector:
        """Return the scores of points in the plane."""
        return self.potential(positions @ self.axes)


@dataclass(frozen=True, eq=False)
class Figure1:
    """What Figure 1 shows.

    Attributes
    ----------
    question
        The question and the tails that are drawn.
    panels
        TransE's panel and TransA's.
    """

    question: Question
    panels: tuple[Panel, Panel]

    def summary(self) -> dict[str, Any]:
        """Return what the picture shows as plain values."""
        question = self.question
        return {
            "figure": 1,
            "head": question.head_name,
            "relation": question.relation_name,
            "matched": list(question.names[: len(question.matched)]),
            "unmatched": list(question.names[len(question.matched) :]),
            "panels": [
                {
                    "label": panel.label,
                    "explained_variance": panel.explained,
                    "plane": vars(panel.plane_separation),
                    "all_dimensions": vars(panel.separation),
                    "positions": panel.positions.tolist(),
                }
                for panel in self.panels
            ],
        }


def figure1(
    model: Model,
    graph: KnowledgeGraph,
    *,
    against: Model | None = None,
    head: str | None = None,
    relation: str | None = None,
    norm: int = 2,
    others: Others | None = None,
) -> Figure1:
    """Compute Figure 1.

    Parameters
    ----------
    model, graph
        A model with a metric, and its graph.
    against
        A TransE of the same graph; by default TransE on the model's own vectors.
    head, relation
        Keys or names; by default the question with the most tails up to 20.
    norm
        The norm of TransE on the model's own vectors.
    others
        Which unmatched tails to draw.
    """
    plain, plain_label = compared(model, against, norm)
    edge = None if relation is None else Names(graph.relations, "relation").id(relation)
    given, edge = _question(graph, None if head is None else Names(graph.entities, "entity").id(head), edge)
    question = ask(graph, [plain, model], given, edge, others)
    return Figure1(question, (_panel(plain_label, plain, question), _panel(model.title, model, question)))


def _question(graph: KnowledgeGraph, head: int | None, relation: int | None) -> tuple[int, int]:
    """Return the head and relation with the most tails that a picture can show, among those asked for."""
    rows = heads_by_tails(graph, relation)
    if head is not None:
        rows = rows[rows[:, 0] == head]
    if not len(rows):
        raise InputError("no fact has this head and relation")
    few = rows[rows[:, 2] <= MANY_TAILS]
    best = few[few[:, 2] == few[-1, 2]][0] if len(few) else rows[0]
    return int(best[0]), int(best[1])


def _panel(label: str, model: Model, question: Question) -> Panel:
    potential = Potential(model, question.relation)
    away = -residuals(model, question.head, question.relation, question.tails)  # t - (h + r)
    _, spread, axes = np.linalg.svd(away - away.mean(axis=0), full_matrices=False)
    axes = axes[:2] if len(axes) > 1 else np.vstack([axes, np.zeros_like(axes)])
    axes = (
        axes * np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    )  # the sign of an axis is arbitrary
    total = float(np.square(spread).sum())
    positions = away @ axes.T
    plane_scores = potential(positions @ axes)
    return Panel(
        label=label,
        positions=positions,
        axes=axes,
        explained=float(np.square(spread[:2]).sum()) / total if total > 0 else 1.0,
        separation=Separation.of(potential(away), question.labels),
        plane_scores=plane_scores,
        plane_separation=Separation.of(plane_scores, question.labels),
        potential=potential,
    )
