"""What the metric of a relation weighs: the LDL view of W_r, and how far it is from Euclidean.

The paper writes W_r = L^T D L, so that f_r = (L |e|)^T D (L |e|) weighs transformed dimensions by the diagonal of D. Here, as in
scipy and most books, L stands on the left: W_r = L D L^T and f_r = (L^T |e|)^T D (L^T |e|).

The paper takes this form for granted, but W_r is in general indefinite: without pivoting the decomposition can break down, as it does
for [0 1; 1 0]. What is computed is Bunch and Kaufman's (`scipy.linalg.ldl`), which exists for every symmetric matrix. Its D may hold
2 x 2 blocks; these are turned to their own axes, L with them, so that D is a diagonal in truth and W_r = L D L^T still holds. An
indefinite W_r has negative weights: as many as negative eigenvalues, whatever the pivots are (Sylvester). The authors' program reads
weights from an LU decomposition, which has none of this.
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
from transa.errors import InputError
from transa.evaluation.classification import check_sizes
from transa.evaluation.tables import write_table
from transa.inference.names import Names
from transa.models import MODELS, Model

Matrix = npt.NDArray[np.float64]

#: Relative to the largest, a weight or eigenvalue below this is 0: W_r comes from sums in single precision.
TINY = 1e-6


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A symmetric matrix as L D L^T with a diagonal D.

    Attributes
    ----------
    left
        L. A permuted unit lower triangular matrix but for the columns of former 2 x 2 blocks, which are turned within their pair.
    weights
        The diagonal of D.
    pivots
        The dimension each weight belongs to: where its column of L has its 1. The two of a block share their dimensions.
    blocks
        How many 2 x 2 blocks there were.
    """

    left: Matrix
    weights: npt.NDArray[np.float64]
    pivots: npt.NDArray[np.int64]
    blocks: int

    @classmethod
    def of(cls, matrix: Matrix) -> Decomposition:
        """Decompose a symmetric matrix."""
        from scipy.linalg import ldl

        left, diagonal, order = ldl(matrix, lower=True)
        weights = np.diag(diagonal).copy()
        left = np.array(left, dtype=np.float64)
        beside = np.flatnonzero(np.diag(diagonal, -1))
        for first in beside.tolist():
            pair = slice(first, first + 2)
            values, axes = np.linalg.eigh(diagonal[pair, pair])
            weights[pair] = values
            left[:, pair] = left[:, pair] @ axes
        return cls(left, weights, np.asarray(order, dtype=np.int64), len(beside))

    def matrix(self) -> Matrix:
        """Return L D L^T."""
        product: Matrix = (self.left * self.weights) @ self.left.T
        return product

    def transformed(self, residuals: Matrix) -> Matrix:
        """Return L^T |e| for each row |e|: what the weights weigh."""
        product: Matrix = residuals @ self.left
        return product


@dataclass(frozen=True, eq=False)
class RelationWeights:
    """What the metric of one relation is like.

    Attributes
    ----------
    relation, key, name
        Which relation.
    triples
        Its training triples.
    decomposition
        W_r as L D L^T.
    shares
        For each dimension, its share of the score of a residual of ones: the row sums of W_r over their total.
    weight_difference
        (largest - median) / median of the weights, None where the median is not above 0.
    condition
        Largest over smallest magnitude of the eigenvalues, None where W_r is singular.
    distance
        Relative Frobenius distance of W_r, scaled to a mean diagonal entry of 1, from the identity; None where the trace is not
        above 0.
    smallest_eigenvalue
        Relative to the largest magnitude.
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
        """Look at one symmetric matrix."""
        parts = Decomposition.of(matrix)
        eigenvalues = np.linalg.eigvalsh(matrix)
        largest = float(np.abs(eigenvalues).max())
        floor = TINY * largest
        smallest = float(np.abs(eigenvalues).min())
        mean = float(np.trace(matrix)) / len(matrix)
        rows = matrix.sum(axis=1)
        total = float(rows.sum())
        apart = np.linalg.norm(matrix / mean - np.eye(len(matrix))) if mean > 0 else None
        return cls(
            relation=relation,
            key=key,
            name=name,
            triples=triples,
            decomposition=parts,
            shares=rows / total if total > 0 else np.full(len(rows), 1 / len(rows)),
            weight_difference=weight_difference(parts.weights),
            condition=largest / smallest if smallest > floor else None,
            distance=None if apart is None else float(apart) / len(matrix) ** 0.5,
            smallest_eigenvalue=float(eigenvalues[0]) / largest if largest > 0 else 0.0,
            positive_definite=bool(eigenvalues[0] > floor),
            non_negative=bool((matrix >= 0).all()),
        )

    def telling(self, number: int) -> list[int]:
        """Return the dimensions with the largest shares, the most telling first."""
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
            "dimensions": [{"dimension": one, "share": float(self.shares[one])} for one in self.telling(dimensions)],
            "weights": weights.tolist(),
            "pivots": self.decomposition.pivots.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Weights:
    """The metrics of a model's relations.

    Attributes
    ----------
    relations
        One for each relation that was asked for, in the order of their ids.
    model
        The name of the model, and of how it holds its metric.
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
        """Return a row for each weight of each relation, as an Arrow table.

        Columns: relation, triples, weight_difference, condition, distance_from_euclidean, positive_definite, place (of the weight, from
        0), weight, pivot (its dimension), and for the dimension of the same number as the place: share.
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
        By key or by name; by default all relations.
    """
    check_metric(model)
    check_sizes(model, graph)
    names = Names(graph.relations, "relation")
    ids = range(len(graph.relations)) if relations is None else [names.id(name) for name in relations]
    triples = RelationStatistics.of(graph.training_facts).triples
    found = [
        RelationWeights.of(
            metric_of(model, one), one, graph.relations[one], graph.relations.name(one), int(triples[one])
        )
        for one in ids
    ]
    held = f", {kind} metric" if (kind := getattr(model, "metric", None)) else ""
    return Weights(found, f"{model.name}{held}", model.dim)


def weight_difference(weights: npt.NDArray[np.float64]) -> float | None:
    """Return (largest - median) / median of the weights, as the paper prints it, or None where the median is not above 0.

    The weights are taken with their signs. An indefinite W_r has negative ones, of any magnitude; as long as they are few, the median
    is above 0 and the formula means what it does for a positive definite W_r.
    """
    largest, median = float(weights.max()), float(np.median(weights))
    return (largest - median) / median if median > TINY * float(np.abs(weights).max()) else None


def check_metric(model: Model) -> None:
    """Raise an `InputError` where a model has no metric."""
    if model.metric_rules is None:
        having = " and ".join(name for name, other in MODELS.items() if other.metric_rules is not None)
        raise InputError(f"{model.name} has no metric W_r whose weights could be shown; {having} have")


def metric_of(model: Model, relation: int) -> Matrix:
    """Return W_r of one relation as a symmetric k x k matrix, whichever way the model holds it."""
    check_metric(model)
    matrix = model.metric_matrix(relation)
    assert matrix is not None  # noqa: S101
    return matrix


def plot_weights(found: Weights, target: Path, *, top: int = 20, overwrite: bool = False) -> Path:
    """Draw the spectrum of weights of each relation, those with the most triples first, on a scale from their median.

    Parameters
    ----------
    found
        What to draw.
    target
        A .png, .svg or .pdf file.
    top
        How many relations.
    overwrite
        Whether it may replace a file.
    """
    from transa.analysis.style import BLUE, GREEN, RED, SUFFIXES, drawing, save_figure, shortened
    from transa.evaluation.tables import check_target

    check_target(target, SUFFIXES, overwrite=overwrite)
    shown = sorted(found.relations, key=lambda one: (-one.triples, one.relation))[:top]
    scaled = []
    for one in shown:
        sizes = np.abs(one.decomposition.weights)
        middle = float(np.median(sizes))
        scaled.append(one.decomposition.weights / (middle if middle > TINY * sizes.max() else sizes.max() or 1.0))
    with drawing(7.2, 1.3 + 0.26 * len(shown)) as figure:
        axes = figure.subplots()
        for row, values in enumerate(scaled):
            floor = TINY * np.abs(values).max()
            up, down = values > floor, values < -floor
            axes.plot(values[up], np.full(up.sum(), row), "|", color=BLUE, markersize=9, label="weight above 0")
            axes.plot(-values[down], np.full(down.sum(), row), "x", color=RED, markersize=4, label="below 0: magnitude")
            if up.any():
                axes.plot([values.max()], [row], "o", mfc="none", mec=GREEN, mew=1.6, markersize=9, label="largest")
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), [shortened(one.name) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(
            "weight over the median magnitude of the relation's weights\n(over the largest where that is 0; weights of 0 are left out)"
        )
        number = f"{len(shown)} largest of {len(found.relations):,} relations"
        several = f"{len(shown)} relations" if len(shown) == len(found.relations) else number
        axes.set_title(f"Weights of D in $W_r = L D L^T$: {found.model}, k = {found.dim}, {several}", loc="left")
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        figure.legend(once.values(), once.keys(), loc="outside lower center", ncols=3, frameon=False)
        return save_figure(figure, target, overwrite=overwrite)
