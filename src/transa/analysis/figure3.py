"""Figure 3: the accuracy of triple classification for each relation, TransE's beside TransA's, against the weight difference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transa.analysis.questions import same_vectors
from transa.analysis.weights import check_metric, weights_of
from transa.data import KnowledgeGraph
from transa.data.graph import Split
from transa.errors import InputError
from transa.evaluation import classify
from transa.models import Model


@dataclass(frozen=True)
class Row:
    """One relation.

    Attributes
    ----------
    relation, name
        Which.
    triples
        Labelled triples of the split.
    weight_difference
        See `transa.analysis.weights.weight_difference`.
    accuracy, plain_accuracy
        With the metric, and of what it is compared with.
    """

    relation: str
    name: str
    triples: int
    weight_difference: float | None
    accuracy: float
    plain_accuracy: float


@dataclass(frozen=True)
class Figure3:
    """What Figure 3 shows.

    Attributes
    ----------
    rows
        By weight difference, the largest first; those without one last.
    accuracy, plain_accuracy
        Over all triples.
    correlation
        Spearman's, between weight difference and what the metric gains, and the number of relations it is of; None below three.
    label, plain_label
        What is compared.
    split, sampled
        Whose triples, and whether false ones were drawn.
    """

    rows: tuple[Row, ...]
    accuracy: float
    plain_accuracy: float
    correlation: tuple[float, int] | None
    label: str
    plain_label: str
    split: Split
    sampled: bool

    def summary(self) -> dict[str, Any]:
        """Return the figures of the picture as plain values."""
        return {
            "figure": 3,
            "split": self.split,
            "sampled": self.sampled,
            "labels": [self.plain_label, self.label],
            "accuracy": self.accuracy,
            "plain_accuracy": self.plain_accuracy,
            "spearman": None if self.correlation is None else {"value": self.correlation[0], "n": self.correlation[1]},
            "relations": [vars(row) for row in self.rows],
        }


def figure3(
    model: Model,
    graph: KnowledgeGraph,
    *,
    against: Model | None = None,
    split: Split = "test",
    norm: int = 2,
    seed: int = 0,
) -> Figure3:
    """Compute Figure 3, with thresholds from the validation split.

    Parameters
    ----------
    model, graph
        A model with a metric, and its graph.
    against
        What to compare with, of the same graph; by default TransE's score on the model's own vectors.
    split
        Whose triples are classified.
    norm
        Of TransE on the model's own vectors.
    seed
        Of false triples, where the graph has none.
    """
    check_metric(model)
    plain = same_vectors(model, norm) if against is None else against
    ours = classify(model, graph, split, seed=seed, calibration=None).summary()
    theirs = classify(plain, graph, split, seed=seed, calibration=None).summary()
    rows = [
        Row(
            one.key,
            one.name,
            ours["relations"][one.key]["n"],
            one.weight_difference,
            ours["relations"][one.key]["accuracy"],
            theirs["relations"][one.key]["accuracy"],
        )
        for one in weights_of(model, graph, [key for key in graph.relations if key in ours["relations"]]).relations
    ]
    if not rows:
        raise InputError(f"no relation has {split} triples")
    rows.sort(key=lambda row: (row.weight_difference is None, -(row.weight_difference or 0), row.relation))
    plain_label = f"{plain.label} on the same vectors, L{norm}" if against is None else plain.title
    return Figure3(
        tuple(rows),
        ours["accuracy"],
        theirs["accuracy"],
        _correlation(rows),
        model.title,
        plain_label,
        split,
        ours["sampled"],
    )


def _correlation(rows: list[Row]) -> tuple[float, int] | None:
    from scipy.stats import spearmanr

    pairs = [
        (row.weight_difference, row.accuracy - row.plain_accuracy) for row in rows if row.weight_difference is not None
    ]
    if len(pairs) < 3 or any(len(set(column)) < 2 for column in zip(*pairs, strict=True)):
        return None
    return float(spearmanr(np.array(pairs)).statistic), len(pairs)


def draw_figure3(data: Figure3, target: Path, *, top: int = 25, overwrite: bool = False) -> Path:
    """Draw Figure 3 into a .png, .svg or .pdf file; of many relations, those with the most triples."""
    from matplotlib.ticker import NullFormatter

    from transa.analysis.style import BLUE, GREY, RED, drawing, save_figure, shortened

    largest = {row.relation for row in sorted(data.rows, key=lambda row: -row.triples)[:top]}
    rows = [row for row in data.rows if row.relation in largest]
    places = np.arange(len(rows))
    with drawing(7.4, 1.7 + 0.3 * len(rows)) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        accuracies = np.array([[row.plain_accuracy, row.accuracy] for row in rows]) * 100
        left.hlines(places, accuracies.min(axis=1), accuracies.max(axis=1), color=GREY, lw=1.2, zorder=2)
        left.plot(accuracies[:, 0], places, "o", mfc="white", mec=RED, mew=1.6, ms=7, zorder=3, label=data.plain_label)
        left.plot(accuracies[:, 1], places, "D", color=BLUE, ms=5.5, zorder=4, label=data.label)
        left.set_yticks(places, [f"{shortened(row.name)} ({row.triples:,})" for row in rows])
        left.set_ylim(len(rows) - 0.4, -0.6)
        left.set_xlabel("accuracy (%)")
        left.grid(axis="x", lw=0.4, alpha=0.6)
        left.set_title(f"all: {data.plain_accuracy:.1%} and {data.accuracy:.1%}", loc="left")
        known = [row.weight_difference for row in rows if row.weight_difference is not None]
        right.barh(places, [row.weight_difference or np.nan for row in rows], 0.62, color=BLUE, alpha=0.55)
        for place, row in zip(places, rows, strict=True):
            value = row.weight_difference
            text = "not defined" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
            where: Any = right.get_yaxis_transform() if value is None else "data"  # without a value, at the left border
            position = (value or 0.0, place)
            right.annotate(text, position, (3, 0), where, textcoords="offset points", va="center", fontsize=7.5)
        if (
            known and min(known) > 0 and (max(known) > 50 * min(known) or max(known) > 10_000)
        ):  # else ticks need an exponent
            right.set_xscale("log")
            right.set_xlim(left=min(known) / 15)
            right.xaxis.set_minor_formatter(NullFormatter())
        if known:
            right.set_xlim(right=max(known) * (6 if right.get_xscale() == "log" else 1.3))
        right.set_xlabel("weight difference:\n(largest - median) / median")
        if data.correlation is not None:
            value = data.correlation[0]
            right.set_title(f"with the gain: Spearman {value:+.2f}", loc="left")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return save_figure(figure, target, overwrite=overwrite)
