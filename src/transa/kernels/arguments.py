"""The arguments of the training kernels: read-only tuples of arrays and numbers.

Every kernel takes its arguments in one order: the examples of a batch, the tables to score them with, the objective or the step,
then the arrays it writes. Those arrays are plain arguments: inside a parallel loop, numba silently loses what is written to a field of
a tuple. For the same reason, kernels bind the fields they need to local names before their loops. The typed
fronts pass plain tuples on: numba looks up the type of a named tuple in Python, which takes longer than a small batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Examples(NamedTuple):
    """The positives of a batch with their negatives.

    Attributes
    ----------
    triples, start, stop
        The positives are rows `start` to `stop` of `triples`.
    negatives, at_head
        Of shape (positives, K): the entity of each negative, and whether it replaces the head.
    """

    triples: npt.NDArray[np.int32]
    start: int
    stop: int
    negatives: npt.NDArray[np.int32]
    at_head: npt.NDArray[np.bool_]


class Tables(NamedTuple):
    """The parameters of a model, as kernels see them.

    Attributes
    ----------
    vectors, num_entities
        Entities and relations in one table: entity i is row i, relation i is row num_entities + i.
    extra
        Extra rows of each relation, of shape (relations, rows, k): its metric or its normal. There may be none.
    weights
        A factor on the score for each relation.
    """

    vectors: Array
    num_entities: int
    extra: Array
    weights: Array


class Objective(NamedTuple):
    """The loss with its settings, and how the scores enter it.

    Attributes
    ----------
    loss, margin, temperature, negligible
        A code of `transa.kernels.codes`, and its settings; see `transa.kernels.losses`.
    root
        Whether to take the square root of the score.
    soft_penalty
        The weight of soft constraints.
    """

    loss: int
    margin: float
    temperature: float
    negligible: float
    root: bool
    soft_penalty: float


class Step(NamedTuple):
    """A step of the optimiser; the last three arrays hold one value for entities and one for relations.

    Attributes
    ----------
    optimizer
        A code of `transa.kernels.codes`.
    number
        The number of the step, from 1.
    learning_rates, penalties, constraints
        The learning rate, the weight of the squared norm, and the code of the constraint.
    """

    optimizer: int
    number: int
    learning_rates: Array
    penalties: Array
    constraints: npt.NDArray[np.int64]
