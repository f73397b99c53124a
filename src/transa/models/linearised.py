"""Scores that are linear in a candidate's vector and its squares: matrix products score many queries against many candidates."""

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
    """The score of a candidate c for a query as ``a.c - w.c^2``: higher is better, and what all candidates share is left out.

    Attributes
    ----------
    linear
        a of each query.
    squared, owner
        The different w, possibly none, and the row of each query in it.
    backward
        Takes the gradients by a and w; returns those by the queries' vectors, and by the relations' tables.
    """

    linear: Array
    squared: Array
    owner: npt.NDArray[np.int64]
    backward: Callable[[Array, Array], tuple[Array, dict[str, Array]]]


def linearise_squares(fixed: Array, relations: RelationRows, weights: Array | None, kept: Array | None) -> Linearised:
    """Linearise ``-sum_i w_i (x - c)_i^2`` with x = h + r, or t - r where heads are asked for.

    Parameters
    ----------
    fixed, relations
        The vectors of the queries' entities, and the relations.
    weights
        w of each relation, the table ``metric``; None: 1.
    kept
        What x is multiplied with: dropout.
    """
    moved = fixed + relations.sign[:, None] * relations.tables["vector"][relations.owner]
    if kept is not None:
        moved *= kept
    owner = relations.owner if weights is not None else np.zeros_like(relations.owner)
    squared = weights if weights is not None else np.ones((1, fixed.shape[1]), fixed.dtype)
    twice = 2 * squared[owner]

    def backward(by_linear: Array, by_squared: Array) -> tuple[Array, dict[str, Array]]:
        by_moved = twice * by_linear
        if kept is not None:
            by_moved *= kept
        by_tables = {"vector": relations.add_up(relations.sign[:, None] * by_moved)}
        if weights is not None:
            by_tables["metric"] = by_squared + relations.add_up(2 * moved * by_linear)
        return by_moved, by_tables

    return Linearised(twice * moved, squared, owner, backward)


def scores_of_squares(
    fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, weights: Tensor | None, kept: Tensor | None
) -> Tensor:
    """Return ``-sum_i w_i (x - c)_i^2`` for the queries and all candidates, with torch; plus the candidates' biases, if there are any.

    The arguments are those of `transa.models.Model.linear_scores` and `linearise_squares`; w has a row for each query.
    """
    sign = torch.where(at_head, -1, 1).to(fixed.vector.dtype).unsqueeze(1)
    moved = fixed.vector + sign * relation.vector
    if kept is not None:
        moved = moved * kept
    weighed = moved if weights is None else weights * moved
    squares = candidates.vector.square()
    own = squares.sum(1) if weights is None else weights @ squares.T
    scores = 2 * weighed @ candidates.vector.T - own - (weighed * moved).sum(1, keepdim=True)
    return scores + candidates.bias if "bias" in candidates else scores
