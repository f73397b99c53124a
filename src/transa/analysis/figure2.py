"""Figure 2: what weighting the dimensions does to the tails of a specific and of a general head, by default for has-part.

The paper draws two dimensions of the loss, one weighed up and one weighed down. Here all dimensions are in the picture: the heavier
half of them on one axis, the lighter half on the other. A score is a sum over dimensions,

    f_r = sum_i |e|_i (W_r |e|)_i      (without weights: sum_i e_i^2),

and an axis shows the root of its half of the sum, so that the distance from the origin is the root of the score, and a quarter circle
parts those below a threshold from those above it. A dimension is heavy by its row of W_r: its share of the score of a residual of ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transa.analysis.questions import (
    Others,
    Question,
    Separation,
    Vector,
    ask,
    heads_by_tails,
    residuals,
    same_vectors,
)
from transa.analysis.weights import Matrix, RelationWeights, check_metric, metric_of
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference.names import Names
from transa.inference.residual import exact_rows
from transa.models import Model

#: A general head has at most this many tails, so that they can be seen, and a specific one at least as many as stand behind it.
MOST, LEAST = 40, 3


@dataclass(frozen=True, eq=False)
class View:
    """The tails of one head under one score.

    Attributes
    ----------
    label
        With or without weights.
    parts
        For each tail the two parts of its score: the lighter and the heavier half of the dimensions.
    scores
        Their sums.
    separation
        How well they tell matched from unmatched tails.
    """

    label: str
    parts: Matrix
    scores: Vector
    separation: Separation

    @property
    def positions(self) -> Matrix:
        """The roots of the parts; 0 where a metric with negative entries made a part negative."""
        roots: Matrix = np.sqrt(np.maximum(self.parts, 0))
        return roots


@dataclass(frozen=True, eq=False)
class Figure2:
    """What Figure 2 shows.

    Attributes
    ----------
    questions
        The specific and the general head's.
    views
        For each question its view without and with the weights.
    heavy
        Whether each dimension belongs to the heavier half.
    shares
        Of each dimension, see `transa.analysis.weights.RelationWeights`.
    """

    questions: tuple[Question, ...]
    views: tuple[tuple[View, View], ...]
    heavy: npt.NDArray[np.bool_]
    shares: Vector

    def summary(self) -> dict[str, Any]:
        """Return the figures of the picture as plain values."""
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
        A key; by default WordNet's has-part where the graph has it, otherwise the relation with the most training triples.
    heads
        Keys; by default the head with the fewest tails from three on, and that with the most up to forty.
    others
        Which unmatched tails are drawn.
    """
    check_metric(model)
    edge = _relation(graph, relation)
    chosen = _heads(graph, edge) if not heads else [Names(graph.entities, "entity").id(head) for head in heads]
    plain = same_vectors(model, 2)
    shares = RelationWeights.of(metric_of(model, edge)).shares
    heavy = np.zeros(len(shares), dtype=bool)
    heavy[np.argsort(-shares, kind="stable")[: (len(shares) + 1) // 2]] = True
    questions = tuple(ask(graph, [plain, model], head, edge, others) for head in chosen)
    return Figure2(questions, tuple(_views(model, heavy, question) for question in questions), heavy, shares)


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


def _views(model: Model, heavy: npt.NDArray[np.bool_], question: Question) -> tuple[View, View]:
    e = residuals(model, question.head, question.relation, question.tails)
    weighted = model.parts(torch.from_numpy(e), exact_rows(model, "relation", question.relation)).numpy()
    mean = float(weighted.sum(axis=1).mean())
    euclidean = np.square(e)
    if mean > 0:  # on one scale: the same mean score in both views
        weighted *= float(euclidean.sum(axis=1).mean()) / mean
    views = []
    for label, each in (("without weights", euclidean), ("with the weights", weighted)):
        parts = np.stack([each[:, ~heavy].sum(axis=1), each[:, heavy].sum(axis=1)], axis=1)
        scores = parts.sum(axis=1)
        views.append(View(label, parts, scores, Separation.of(scores, question.labels)))
    return views[0], views[1]


def draw_figure2(data: Figure2, target: Path, *, overwrite: bool = False) -> Path:
    """Draw Figure 2 into a .png, .svg or .pdf file."""
    import matplotlib.lines as lines

    from transa.analysis.style import GREEN, MATCHED, UNMATCHED, drawing, place_labels, save_figure, shortened

    with drawing(7.4, 0.9 + 3.5 * len(data.questions)) as figure:
        share = float(data.shares[data.heavy].sum())
        figure.suptitle(
            f"{shortened(data.questions[0].relation_name)}: the heavier half of the dimensions has {share:.0%} of the weight",
            fontsize=10.5,
        )
        grid = figure.subplots(len(data.questions), 2, squeeze=False)
        for row, question, views in zip(grid, data.questions, data.views, strict=True):
            matched = question.labels == 1
            for axes, view in zip(row, views, strict=True):
                axes.scatter(*view.positions[~matched].T, **UNMATCHED)
                axes.scatter(*view.positions[matched].T, **MATCHED)
                corner = view.positions.max(axis=0) * 1.12
                start = np.maximum(view.positions.min(axis=0) * 0.85, 0)
                angles = np.linspace(0, np.pi / 2, 200)
                radius = max(view.separation.threshold, 0.0) ** 0.5
                axes.plot(radius * np.cos(angles), radius * np.sin(angles), color=GREEN, lw=1.8, zorder=2)
                axes.set_xlim(start[0], corner[0])
                axes.set_ylim(start[1], corner[1])
                found = view.separation
                number = "1 mistake" if found.mistakes == 1 else f"{found.mistakes} mistakes"
                axes.set_title(
                    f"{shortened(question.head_name)} ({len(question.matched)} tails), {view.label}\n{number}, AUC {found.auc:.2f}",
                    loc="left",
                )
                axes.set_xlabel("loss in the lighter half of the dimensions")
                axes.set_ylabel("loss in the heavier half")
        marks = [
            lines.Line2D([], [], ls="", marker="x", color=MATCHED["color"], label="matched tail"),
            lines.Line2D([], [], ls="", marker="o", mfc="none", mec=UNMATCHED["edgecolors"], label="unmatched tail"),
            lines.Line2D([], [], color=GREEN, lw=1.8, label="equal scores, with the fewest mistakes"),
        ]
        figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
        for row, question, views in zip(grid, data.questions, data.views, strict=True):
            matched = question.labels == 1
            names = [shortened(name, 22) for name in question.names]
            for axes, view in zip(row, views, strict=True):
                order = np.argsort(view.scores, kind="stable")
                order = np.concatenate([order[matched[order]], order[~matched[order]]])
                place_labels(figure, axes, view.positions[order], [names[one] for one in order], limit=8)
        return save_figure(figure, target, overwrite=overwrite)
