"""Figure 1: matched and unmatched tails in a plane, with the lines of equal score, spherical for TransE and elliptical for TransA.

The plane is that of the two main axes (PCA) of the tails drawn, laid through h + r. The lines are those of the fitted metric in this
plane: the score of the residual a u₁ + b u₂, u₁ and u₂ being the axes. The paper's picture shows the same vectors under both metrics,
and so does this one unless another run is compared.

What lies off the plane is not seen, so that mistakes are counted twice: in the plane, as the eye does, and in all dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transa.analysis.questions import (
    Others,
    Potential,
    Question,
    Separation,
    Vector,
    ask,
    heads_by_tails,
    potential_of,
    residuals,
    same_vectors,
)
from transa.analysis.weights import Matrix
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference.names import Names
from transa.models import Model

#: By default the question has at most this many tails: more cannot be told apart in a picture.
MANY_TAILS = 20


@dataclass(frozen=True, eq=False)
class Panel:
    """One model's view of the question.

    Attributes
    ----------
    label
        Which model.
    positions
        Of the tails in the plane, h + r being at the origin.
    axes
        The two axes of the plane, as rows.
    explained
        The share of the tails' variance that the plane holds.
    scores, separation
        In all dimensions.
    plane_scores, plane_separation
        In the plane.
    potential
        The score as a function of the residual.
    squared
        Whether it grows with the square of the residual.
    """

    label: str
    positions: Matrix
    axes: Matrix
    explained: float
    scores: Vector
    separation: Separation
    plane_scores: Vector
    plane_separation: Separation
    potential: Potential
    squared: bool

    def in_plane(self, positions: Matrix) -> Vector:
        """Return the score of points of the plane."""
        return self.potential(positions @ self.axes)


@dataclass(frozen=True, eq=False)
class Figure1:
    """What Figure 1 shows.

    Attributes
    ----------
    question
        The tails that are drawn.
    panels
        TransE's and TransA's.
    """

    question: Question
    panels: tuple[Panel, Panel]

    def summary(self) -> dict[str, Any]:
        """Return the figures of the picture as plain values."""
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
        A TransE of the same graph; by default TransE's score on the model's own vectors.
    head, relation
        Keys of the question; by default the one with the most tails up to 20.
    norm
        Of TransE on the model's own vectors.
    others
        Which unmatched tails are drawn.
    """
    plain = same_vectors(model, norm) if against is None else against
    edge = None if relation is None else Names(graph.relations, "relation").id(relation)
    given, edge = _question(graph, None if head is None else Names(graph.entities, "entity").id(head), edge)
    question = ask(graph, [plain, model], given, edge, others)
    label = f"{plain.label} on the same vectors, L{norm}" if against is None else plain.title
    return Figure1(question, (_panel(label, plain, question), _panel(model.title, model, question)))


def _question(graph: KnowledgeGraph, head: int | None, relation: int | None) -> tuple[int, int]:
    """Return the question with the most tails that a picture can show, among those asked for."""
    rows = heads_by_tails(graph, relation)
    if head is not None:
        rows = rows[rows[:, 0] == head]
    if not len(rows):
        raise InputError("no fact has this head and relation")
    few = rows[rows[:, 2] <= MANY_TAILS]
    best = few[few[:, 2] == few[-1, 2]][0] if len(few) else rows[0]
    return int(best[0]), int(best[1])


def _panel(label: str, model: Model, question: Question) -> Panel:
    potential = potential_of(model, question.relation)
    away = -residuals(model, question.head, question.relation, question.tails)  # t - (h + r)
    _, spread, axes = np.linalg.svd(away - away.mean(axis=0), full_matrices=False)
    axes = axes[:2] if len(axes) > 1 else np.vstack([axes, np.zeros_like(axes)])
    axes = axes * np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]  # one of two signs
    total = float(np.square(spread).sum())
    positions = away @ axes.T
    scores, plane_scores = potential(away), potential(positions @ axes)
    return Panel(
        label=label,
        positions=positions,
        axes=axes,
        explained=float(np.square(spread[:2]).sum()) / total if total > 0 else 1.0,
        scores=scores,
        separation=Separation.of(scores, question.labels),
        plane_scores=plane_scores,
        plane_separation=Separation.of(plane_scores, question.labels),
        potential=potential,
        squared=np.allclose(potential(2 * away), 4 * scores),
    )


def draw_figure1(data: Figure1, target: Path, *, overwrite: bool = False) -> Path:
    """Draw Figure 1 into a .png, .svg or .pdf file."""
    from transa.analysis.style import GREEN, GREY, MATCHED, UNMATCHED, drawing, place_labels, save_figure, shortened

    question = data.question
    matched = question.labels == 1
    names = [shortened(name, 22) for name in question.names]
    with drawing(7.4, 4.9) as figure:
        figure.suptitle(f"({shortened(question.head_name)}, {shortened(question.relation_name)}, ?)", fontsize=10.5)
        both = figure.subplots(1, 2)
        for axes, panel, letter in zip(both, data.panels, "ab", strict=True):
            points = np.vstack([panel.positions, [[0.0, 0.0]]])
            low, high = points.min(axis=0), points.max(axis=0)
            reach = 0.6 * float((high - low).max()) or 1.0
            middle = (low + high) / 2
            sides = [np.linspace(centre - reach, centre + reach, 241) for centre in middle]
            grid = np.stack(np.meshgrid(*sides), axis=-1)
            height = panel.in_plane(grid.reshape(-1, 2)).reshape(grid.shape[:2])
            border = panel.plane_separation.threshold
            steps = np.array([0.5, 0.75, 1.0, 1.25, 1.5, 2.0]) ** (2 if panel.squared else 1)
            if border > 0:
                axes.contour(
                    *sides, height, levels=border * np.delete(steps, 2), colors=GREY, linewidths=0.6, alpha=0.7
                )
                axes.contour(*sides, height, levels=[border], colors=GREEN, linewidths=1.8)
            axes.scatter(*panel.positions[~matched].T, **UNMATCHED)
            axes.scatter(*panel.positions[matched].T, **MATCHED)
            axes.plot(0, 0, "*", color="black", markersize=9, zorder=5)
            axes.set_xlim(sides[0][0], sides[0][-1])
            axes.set_ylim(sides[1][0], sides[1][-1])
            axes.set_aspect("equal")
            axes.locator_params(nbins=5)
            axes.set_xlabel(f"two main axes, {panel.explained:.0%} of the variance")
            flat, full = panel.plane_separation.mistakes, panel.separation.mistakes
            dimensions = panel.axes.shape[1]
            axes.set_title(
                f"({letter}) {panel.label}\n{_number(flat, 'mistake')} in the plane, {full} in all {dimensions} dimensions",
                loc="left",
            )
        import matplotlib.lines as lines

        marks = [
            lines.Line2D([], [], ls="", marker="x", color=MATCHED["color"], label=f"matched ({matched.sum()})"),
            lines.Line2D(
                [],
                [],
                ls="",
                marker="o",
                mfc="none",
                mec=UNMATCHED["edgecolors"],
                label=f"unmatched ({(~matched).sum()})",
            ),
            lines.Line2D([], [], ls="", marker="*", color="black", markersize=9, label="head + relation"),
            lines.Line2D([], [], color=GREEN, lw=1.8, label="fewest mistakes"),
            lines.Line2D([], [], color=GREY, lw=0.6, label="equal scores"),
        ]
        figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False)
        for axes, panel in zip(both, data.panels, strict=True):
            order = np.argsort(panel.plane_scores, kind="stable")
            order = np.concatenate([order[matched[order]], order[~matched[order]]])
            points = np.vstack([panel.positions[order], [[0.0, 0.0]]])  # names keep off the star too
            place_labels(figure, axes, points, [names[one] for one in order], limit=9)
        return save_figure(figure, target, overwrite=overwrite)


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
