"""What the ranking kernels are given: what scores, what is asked, what is known, and the space to work in.

Of the arrays in these tuples, kernels write to those of `Space` alone. Functions take them in this order: metric, vectors, questions,
known, tile, space; results come last.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt


class Norm(NamedTuple):
    """A residual e scores the sum of |e| where `kind` is `L1`, and otherwise that of e^2."""

    kind: int


class Weighted(NamedTuple):
    """Weighted squares, less a bias: a residual e of query and entity x scores ``sum w e^2 + sum_m (u_m.e)^2 - bias[x]``.

    Attributes
    ----------
    table
        Of shape (relations, k): w of each relation, of any sign. With one row, it is that of all relations.
    factors
        Of shape (relations, rank, k): the u_m of each relation; none where the rank is 0.
    bias, bias_reach
        The bias of each entity, and the largest absolute value among them.
    """

    table: npt.NDArray[Any]
    factors: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    bias_reach: float


class Factors(NamedTuple):
    """A low-rank metric: a residual e scores ``sum d e^2 + sum_m (u_m.|e|)^2``.

    Attributes
    ----------
    table
        Of shape (relations, 1 + rank, k): d and the u_m of each relation.
    """

    table: npt.NDArray[Any]


class Full(NamedTuple):
    """A metric on absolute values: a residual e scores ``|e|^T W |e|``.

    Attributes
    ----------
    table
        Of shape (relations, k, k): W of each relation.
    axes, values, ranges
        What `transa.kernels.spectra.fill_spectra` writes, for all relations that are asked about.
    """

    table: npt.NDArray[Any]
    axes: npt.NDArray[Any]
    values: npt.NDArray[np.float64]
    ranges: npt.NDArray[np.float64]


class Quadratic(NamedTuple):
    """A metric on the residual itself and not on its absolute values (Adaptive Metric): e scores ``e^T W e``.

    Attributes
    ----------
    table
        Of shape (relations, k, k): W of each relation.
    """

    table: npt.NDArray[Any]


Metric: TypeAlias = Norm | Weighted | Factors | Full | Quadratic


class Vectors(NamedTuple):
    """The vectors of a model, and how far rounding may take a score from its true value.

    Attributes
    ----------
    entities, shifts
        The vectors of entities and relations.
    reach
        The largest absolute value in each column of `entities`.
    residual_error, sum_error, exact_error
        Relative errors: of a residual, of a score in the precision of the entities, and of one in double precision.
    """

    entities: npt.NDArray[Any]
    shifts: npt.NDArray[Any]
    reach: npt.NDArray[np.float64]
    residual_error: float
    sum_error: float
    exact_error: float


class Questions(NamedTuple):
    """Queries, and how threads share them.

    Attributes
    ----------
    sign, fixed, relations
        Query q is the entity ``fixed[q]`` plus `sign` times its relation's vector.
    offsets
        Query q has the levels ``offsets[q]`` to ``offsets[q + 1]``: scores that decide. See `transa.kernels.reducers`.
    tasks
        Task i is queries ``tasks[i]`` to ``tasks[i + 1]``; with metrics of relations, they have one relation.
    order, shares
        Thread i does the tasks ``order[shares[i]:shares[i + 1]]``.
    """

    sign: float
    fixed: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    tasks: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    shares: npt.NDArray[np.int64]


class Known(NamedTuple):
    """What is known of answers before they are scored.

    Attributes
    ----------
    starts, stops, answers
        The known answers of query q are ``answers[starts[q]:stops[q]]``, sorted.
    barred
        The entity that is no answer to query q, or -1.
    """

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    answers: npt.NDArray[np.int32]
    barred: npt.NDArray[np.int64]


class Tile(NamedTuple):
    """The queries and entities that are looked at together.

    Attributes
    ----------
    task, relation
        Which task this is, and the relation of its first query: with a metric, that of all.
    start, stop
        The queries, at most `BLOCK`. Inside the tile, query q is row ``q - start``.
    begin, width
        The first entity, and how many there are. Inside the tile, entity x is column ``x - begin``.
    """

    task: int
    relation: int
    start: int
    stop: int
    begin: int
    width: int


class Space(NamedTuple):
    """The arrays that one thread works in.

    Attributes
    ----------
    levels, slacks, extents
        All levels; of each query the error of its scores, and what no entity's score exceeds. Filled for queries at work.
    query, rounded
        The tile's queries, in double precision and in that of the entities.
    lower, upper
        Bounds of the tile's scores. Where scores are not bounded but computed, both are one array.
    pair_rows, pair_columns, listed
        A list of pairs of query and entity by row and column of the tile, and which pairs are in it.
    precise
        The metric of the task's relation in double precision, where it is a matrix.
    scratch
        Two rows for whoever needs them.
    """

    levels: npt.NDArray[np.float64]
    slacks: npt.NDArray[np.float64]
    extents: npt.NDArray[np.float64]
    query: npt.NDArray[np.float64]
    rounded: npt.NDArray[Any]
    lower: npt.NDArray[Any]
    upper: npt.NDArray[Any]
    pair_rows: npt.NDArray[np.int64]
    pair_columns: npt.NDArray[np.int64]
    listed: npt.NDArray[np.bool_]
    precise: npt.NDArray[np.float64]
    scratch: npt.NDArray[np.float64]
