"""Scores that are linear in a candidate's vector and in squares: matrix products score many queries against many candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.models.base import Array, Rows


@dataclass(frozen=True, eq=False)
class RelationRows:
    """The relations of some queries, each once.

    Attributes
    ----------
    tables
        The rows of each table, one for each relation.
    owner
        The row of each query; rows come in order, and every row has a query.
    sign
        For each query 1 where tails are asked for and -1 where heads are.
    """

    tables: dict[str, Array]
    owner: npt.NDArray[np.int64]
    sign: Array

    def add_up(self, gradients: Array) -> Array:
        """Return for each relation the sum over its queries."""
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        return np.add.reduceat(gradients, starts, axis=0)


@dataclass(frozen=True, eq=False)
class Linearised:
    """The score of a candidate c for a query as ``a.c - w.c^2 - sum_m (u_m.c)^2``: higher is better, without what all candidates share.

    Attributes
    ----------
    linear
        a of each query.
    squared, owner
        The different w and their u_m, of shape (rows, 1 + rank, k), possibly none, and the row of each query in it.
    backward
        Takes the gradients by a, and by w and u; returns those by the queries' vectors, and by the relations' tables.
    """

    linear: Array
    squared: Array
    owner: npt.NDArray[np.int64]
    backward: Callable[[Array, Array], tuple[Array, dict[str, Array]]]


def linearise_squares(fixed: Array, relations: RelationRows, metric: Array | None, kept: Array | None) -> Linearised:
    """Linearise ``-sum_i w_i e_i^2 - sum_m (u_m.e)^2``, e = x - c, with x = h + r, or t - r where heads are asked for.

    Parameters
    ----------
    fixed, relations
        The vectors of the queries' entities, and the relations.
    metric
        w and the u_m of each relation, of shape (relations, 1 + rank, k); None: w = 1. The gradient by it is that of ``metric``.
    kept
        What x is multiplied with: dropout.
    """
    moved = fixed + relations.sign[:, None] * relations.tables["vector"][relations.owner]
    if kept is not None:
        moved *= kept
    owner = relations.owner if metric is not None else np.zeros_like(relations.owner)
    squared = metric if metric is not None else np.ones((1, 1, fixed.shape[1]), fixed.dtype)
    twice, factors = 2 * squared[owner, 0], squared[owner, 1:]

    def weighed(vectors: Array) -> tuple[Array, Array]:
        """Return 2 W x of some vectors x, one for each query, and the u_m.x."""
        along = np.einsum("qmi,qi->qm", factors, vectors)
        return twice * vectors + 2 * np.einsum("qmi,qm->qi", factors, along), along

    linear, along = weighed(moved)

    def backward(by_linear: Array, by_squared: Array) -> tuple[Array, dict[str, Array]]:
        by_moved, along_by = weighed(by_linear)
        if kept is not None:
            by_moved *= kept
        by_tables = {"vector": relations.add_up(relations.sign[:, None] * by_moved)}
        if metric is not None:
            by_metric = np.empty_like(factors, shape=(len(owner), *metric.shape[1:]))
            by_metric[:, 0] = 2 * moved * by_linear
            by_metric[:, 1:] = 2 * (along_by[..., None] * moved[:, None] + along[..., None] * by_linear[:, None])
            by_tables["metric"] = by_squared + relations.add_up(by_metric)
        return by_moved, by_tables

    return Linearised(linear, squared, owner, backward)


def scores_of_squares(
    fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, metric: Tensor | None, kept: Tensor | None
) -> Tensor:
    """Return ``-sum_i w_i e_i^2 - sum_m (u_m.e)^2`` for queries and all candidates, with torch, plus the candidates' biases, if any.

    The arguments are those of `transa.models.Model.linear_scores` and `linearise_squares`; w and the u_m have a row for each query.
    """
    sign = torch.where(at_head, -1, 1).to(fixed.vector.dtype).unsqueeze(1)
    moved = fixed.vector + sign * relation.vector
    if kept is not None:
        moved = moved * kept
    vectors = candidates.vector
    if metric is None:
        weighed, own = moved, vectors.square().sum(1)
    else:
        weights, factors = metric[:, 0], metric[:, 1:]
        weighed = weights * moved + ((factors @ moved.unsqueeze(2)) * factors).sum(1)
        own = weights @ vectors.square().T + (factors @ vectors.T).square().sum(1)
    scores = 2 * weighed @ vectors.T - own - (weighed * moved).sum(1, keepdim=True)
    return scores + candidates.bias if "bias" in candidates else scores
