"""What the metric of a relation weighs, and how far it is from Euclidean.

The weights are the diagonal of D in W_r = L D L^T; see `transa.models.decomposition`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data import KnowledgeGraph
from transa.data.relations import RelationStatistics
from transa.data.result_files import write_table
from transa.errors import InputError
from transa.evaluation.scores import check_sizes
from transa.inference.names import Names, relation_rows
from transa.models import MODELS, Model
from transa.models.decomposition import Decomposition, Matrix

#: Relative to the largest, a weight or eigenvalue below this is 0: W_r comes from sums in single precision.
TINY = 1e-6


@dataclass(frozen=True, eq=False)
class RelationWeights:
    """What the metric of one relation is like.

    Attributes
    ----------
    relation, key, name
        The id, key and name of the relation.
    triples
        The number of its training triples.
    decomposition
        W_r as L D L^T.
    shares
        The share of each dimension in the score of a residual of ones: the row sums of W_r, divided by their total. Where W_r has a
        negative diagonal entry, as a signed metric may, magnitudes take their place.
    weight_difference
        (largest - median) / median of the weights, None where the median is not above 0.
    condition
        The largest magnitude of an eigenvalue over the smallest, None where W_r is singular.
    distance
        The relative Frobenius distance from the identity, after W_r is scaled to a mean diagonal entry of 1. None where the trace is
        not above 0.
    smallest_eigenvalue
        The smallest eigenvalue over the largest magnitude of one.
    positive_definite, non_negative
        Whether all eigenvalues are above 0, and whether all entries are at least 0. N_r is a norm where both hold.
    """

    relation: int
    key: str
    name: str
    triples: int
    decomposition: Decomposition
    shares: npt.NDArray[np.float64]
    weight_difference: float | None
    condition: float | None
    distance: float | None
    smallest_eigenvalue: float
    positive_definite: bool
    non_negative: bool

    @classmethod
    def of(cls, matrix: Matrix, relation: int = 0, key: str = "", name: str = "", triples: int = 0) -> RelationWeights:
        """Analyse one symmetric matrix."""
        decomposition = Decomposition.of(matrix)
        eigenvalues = np.linalg.eigvalsh(matrix)
        largest = float(np.abs(eigenvalues).max())
        floor = TINY * largest
        smallest = float(np.abs(eigenvalues).min())
        mean = float(np.trace(matrix)) / len(matrix)
        rows = matrix.sum(axis=1)
        rows = np.abs(rows) if (np.diag(matrix) < 0).any() else rows
        total = float(rows.sum())
        apart = np.linalg.norm(matrix / mean - np.eye(len(matrix))) if mean > 0 else None
        return cls(
            relation=relation,
            key=key,
            name=name,
            triples=triples,
            decomposition=decomposition,
            shares=rows / total if total > 0 else np.full(len(rows), 1 / len(rows)),
            weight_difference=weight_difference(decomposition.weights),
            condition=largest / smallest if smallest > floor else None,
            distance=None if apart is None else float(apart) / len(matrix) ** 0.5,
            smallest_eigenvalue=float(eigenvalues[0]) / largest if largest > 0 else 0.0,
            positive_definite=bool(eigenvalues[0] > floor),
            non_negative=bool((matrix >= 0).all()),
        )

    def top_dimensions(self, number: int) -> list[int]:
        """Return the dimensions with the largest shares, the largest first."""
        return [int(one) for one in np.argsort(-self.shares, kind="stable")[:number]]

    def to_dict(self, dimensions: int = 5) -> dict[str, Any]:
        """Return everything but L as plain values."""
        weights = self.decomposition.weights
        return {
            "relation": self.key,
            "name": self.name,
            "triples": self.triples,
            "weight_difference": self.weight_difference,
            "largest_weight": float(weights.max()),
            "median_weight": float(np.median(weights)),
            "smallest_weight": float(weights.min()),
            "negative_weights": int((weights < -TINY * np.abs(weights).max()).sum()),
            "blocks": self.decomposition.blocks,
            "condition": self.condition,
            "distance_from_euclidean": self.distance,
            "smallest_eigenvalue": self.smallest_eigenvalue,
            "positive_definite": self.positive_definite,
            "non_negative": self.non_negative,
            "dimensions": [
                {"dimension": one, "share": float(self.shares[one])} for one in self.top_dimensions(dimensions)
            ],
            "weights": weights.tolist(),
            "pivots": self.decomposition.pivots.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Weights:
    """The metrics of a model's relations.

    Attributes
    ----------
    relations
        One entry for each relation that was asked for.
    model
        The name of the model, and the form in which it holds its metric.
    dim
        The number of dimensions.
    """

    relations: list[RelationWeights]
    model: str
    dim: int

    def summary(self, dimensions: int = 5) -> dict[str, Any]:
        """Return everything as plain values."""
        differences = [one.weight_difference for one in self.relations if one.weight_difference is not None]
        return {
            "model": self.model,
            "dim": self.dim,
            "n": len(self.relations),
            "positive_definite": sum(one.positive_definite for one in self.relations),
            "non_negative": sum(one.non_negative for one in self.relations),
            "median_weight_difference": float(np.median(differences)) if differences else None,
            "relations": [one.to_dict(dimensions) for one in self.relations],
        }

    def frame(self) -> pa.Table:
        """Return an Arrow table with a row for each weight of each relation.

        Columns that describe the relation: relation, triples, weight_difference, condition, distance_from_euclidean,
        positive_definite. Columns that describe the weight: place (its number, from 0), weight, pivot (its dimension). The column
        share belongs to the dimension whose number is the place.
        """
        count = [len(one.decomposition.weights) for one in self.relations]

        def repeated(values: list[Any], kind: pa.DataType) -> pa.Array:
            return pa.array([value for value, n in zip(values, count, strict=True) for _ in range(n)], kind)

        def joined(parts: list[npt.NDArray[Any]]) -> pa.Array:
            return pa.array(np.concatenate(parts) if parts else np.empty(0))

        return pa.table(
            {
                "relation": repeated([one.key for one in self.relations], pa.string()),
                "triples": repeated([one.triples for one in self.relations], pa.int64()),
                "weight_difference": repeated([one.weight_difference for one in self.relations], pa.float64()),
                "condition": repeated([one.condition for one in self.relations], pa.float64()),
                "distance_from_euclidean": repeated([one.distance for one in self.relations], pa.float64()),
                "positive_definite": repeated([one.positive_definite for one in self.relations], pa.bool_()),
                "place": joined([np.arange(n) for n in count]),
                "weight": joined([one.decomposition.weights for one in self.relations]),
                "pivot": joined([one.decomposition.pivots for one in self.relations]),
                "share": joined([one.shares for one in self.relations]),
            }
        )

    def write(self, path: Path, *, overwrite: bool = False) -> Path:
        """Write a row for each weight to a .csv, .tsv or .parquet file."""
        return write_table(self.frame(), path, overwrite=overwrite)


def weights_of(model: Model, graph: KnowledgeGraph, relations: list[str] | None = None) -> Weights:
    """Return what the metrics of a model weigh.

    Parameters
    ----------
    model, graph
        A trained model with a metric, and its graph.
    relations
        Keys or names of relations; by default all of them. Of a directional model, these metrics are for questions about tails; the
        inverse ``r⁻¹`` has the metric for questions about heads.
    """
    check_metric(model)
    check_sizes(model, graph)
    rows = relation_rows(model, graph)
    names = Names(rows, "relation")
    ids = range(len(rows)) if relations is None else [names.id(name) for name in relations]
    triples = np.resize(RelationStatistics.of(graph.training_facts).triples, len(rows))  # an inverse has as many
    found = [
        RelationWeights.of(metric_of(model, one), one, rows[one], rows.name(one), int(triples[one])) for one in ids
    ]
    held = f", {kind} metric" if (kind := getattr(model, "metric", None)) else ""
    return Weights(found, f"{model.name}{held}", model.dim)


def weight_difference(weights: npt.NDArray[np.float64]) -> float | None:
    """Return (largest - median) / median of the weights, as the paper prints it, or None where the median is not above 0.

    The weights keep their signs. An indefinite W_r has negative weights, and some may be large. As long as they are few, the median is
    above 0, and the formula means what it means for a positive definite W_r.
    """
    largest, median = float(weights.max()), float(np.median(weights))
    return (largest - median) / median if median > TINY * float(np.abs(weights).max()) else None


def check_metric(model: Model) -> None:
    """Raise an `InputError` where a model has no metric."""
    if model.metric_rules is None:
        having = " and ".join(name for name, other in MODELS.items() if other.metric_rules is not None)
        raise InputError(f"{model.name} has no metric W_r whose weights could be shown; {having} have")


def metric_of(model: Model, relation: int) -> Matrix:
    """Return W_r of one relation as a symmetric k x k matrix, in whichever form the model holds it."""
    check_metric(model)
    matrix = model.metric_matrix(relation)
    assert matrix is not None  # noqa: S101
    return matrix
