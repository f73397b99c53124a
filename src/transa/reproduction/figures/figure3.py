"""Figure 3: for each relation, the accuracy of TransE and of TransA in triple classification, and the weight difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from transa.analysis.weights import check_metric, weights_of
from transa.data import KnowledgeGraph
from transa.data.graph import Split
from transa.errors import InputError
from transa.evaluation import classify
from transa.models import Model
from transa.reproduction.figures.scores import compared


@dataclass(frozen=True)
class Row:
    """One relation.

    Attributes
    ----------
    relation, name
        Its key and its name.
    triples
        The number of its labelled triples in the split.
    weight_difference
        See `transa.analysis.weights.weight_difference`.
    accuracy, plain_accuracy
        The accuracy of the model, and of the one it is compared with.
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
        The relations by weight difference, the largest first; those without one last.
    accuracy, plain_accuracy
        The accuracies over all triples.
    correlation
        Spearman's correlation between weight difference and gain in accuracy, and the number of relations that have both; None below
        three relations.
    label, plain_label
        The names of the two models.
    split, sampled
        The split that was classified, and whether its false triples were drawn at random.
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
        """Return what the picture shows as plain values."""
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
        The model to compare with, of the same graph; by default TransE on the model's own vectors.
    split
        The split to classify.
    norm
        The norm of TransE on the model's own vectors.
    seed
        The seed of false triples, for a graph without any.
    """
    check_metric(model)
    plain, plain_label = compared(model, against, norm)
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
