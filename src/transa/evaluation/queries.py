"""The questions that test triples ask, each (head, relation, ?) and (?, relation, tail) once, with all its targets; and the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from transa.choices import Side as Side
from transa.data.facts import KnownFacts
from transa.data.graph import Triples

SIDES: tuple[Side, ...] = ("head", "tail")

#: Called now and then with the number of targets that have been done since.
Callback: TypeAlias = Callable[[int], None]
#: For each query the ids of the best entities and their scores, both of shape (queries, number).
BestAnswers: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Queries:
    """Distinct questions about one side, sorted by relation.

    Attributes
    ----------
    side
        What is asked for.
    fixed, relations
        The given entity and relation of each query.
    target_offsets, targets
        The targets of query q are ``targets[target_offsets[q]:target_offsets[q + 1]]``.
    origins
        The triple that each target comes from.
    starts, stops, known
        The known answers of query q are ``known[starts[q]:stops[q]]``, sorted.
    """

    side: Side
    fixed: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    target_offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    origins: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    known: npt.NDArray[np.int32]

    @classmethod
    def of(cls, triples: Triples, known: KnownFacts, side: Side) -> Queries:
        """Ask for one side of each triple."""
        given, target = (2, 0) if side == "head" else (0, 2)
        keys = triples[:, 1].astype(np.int64) * known.num_entities + triples[:, given]
        origins = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[origins], prepend=-1))
        asked = triples[origins[first]]
        answers = known.heads if side == "head" else known.tails
        rows = answers.rows(known.head_queries(asked) if side == "head" else known.tail_queries(asked))
        return cls(
            side,
            asked[:, given].astype(np.int64),
            asked[:, 1].astype(np.int64),
            np.append(first, len(triples)),
            triples[origins, target].astype(np.int64),
            origins,
            np.where(rows >= 0, answers.offsets[rows], 0),
            np.where(rows >= 0, answers.offsets[rows + 1], 0),
            answers.answers,
        )

    def __len__(self) -> int:
        return len(self.fixed)

    @property
    def query_of_target(self) -> npt.NDArray[np.int64]:
        """The query of each target."""
        return np.repeat(np.arange(len(self)), np.diff(self.target_offsets))

    def parts(self, size: int, *, by_relation: bool) -> npt.NDArray[Any]:
        """Return the borders of parts of at most `size` queries, if asked each of one relation only."""
        borders = np.arange(0, len(self) + size, size) if not by_relation else None
        if borders is None:
            starts = np.flatnonzero(np.diff(self.relations, prepend=-1))
            stops = np.append(starts[1:], len(self))
            borders = np.concatenate(
                [np.arange(a, b, size) for a, b in zip(starts, stops, strict=True)] + [[len(self)]]
            )
        return np.unique(np.minimum(borders, len(self))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RankCounts:
    """What was counted for each target, in the order of the queries.

    Attributes
    ----------
    counts
        Of shape (6, targets): entities better than the target, others equal to it, of both those that are known answers, and of both
        those that are barred.
    rescored
        How many pairs of query and entity had to be scored in full, where bounds decide most.
    """

    counts: npt.NDArray[np.int64]
    rescored: int
