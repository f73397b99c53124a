"""The index of known facts, which answers (head, relation, ?) and (?, relation, tail)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.graph import Triples
from transa.errors import InputError

#: Up to so many triples are looked up one by one, and an index of up to so many facts needs no kernel, which would have to be compiled.
FEW, SMALL = 100, 100_000


@dataclass(frozen=True, eq=False)
class Answers:
    """One direction of the index as a compressed sparse row matrix.

    Attributes
    ----------
    queries
        The distinct queries as numbers, sorted: head * relations + relation, or relation * entities + tail.
    offsets
        The answers to ``queries[i]`` are ``answers[offsets[i]:offsets[i + 1]]``.
    answers
        Entities, sorted and distinct within each query.
    """

    queries: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    answers: npt.NDArray[np.int32]

    @classmethod
    def of(cls, queries: npt.NDArray[np.int64], answers: npt.NDArray[Any], num_answers: int) -> Answers:
        """Group answers by query. One sort of the combined keys sorts queries and answers and drops repetitions."""
        keys = np.unique(queries * num_answers + answers)
        sorted_queries, sorted_answers = np.divmod(keys, num_answers)
        first = np.flatnonzero(np.diff(sorted_queries, prepend=-1))
        return cls(sorted_queries[first], np.append(first, len(keys)), sorted_answers.astype(np.int32))

    def rows(self, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the position of each query, or -1 where it has no answer."""
        if not len(self.queries):
            return np.full(len(queries), -1)
        rows = np.minimum(np.searchsorted(self.queries, queries), len(self.queries) - 1)
        return np.where(self.queries[rows] == queries, rows, -1)

    def __getitem__(self, query: int) -> npt.NDArray[np.int32]:
        row = int(self.rows(np.array([query]))[0])
        return self.answers[self.offsets[row] : self.offsets[row + 1]] if row >= 0 else self.answers[:0]


def check_size(num_entities: int, num_relations: int) -> None:
    """Raise an `InputError` if there are too many entities and relations for a triple to fit into one 63-bit key."""
    if num_entities * num_entities * num_relations >= 2**63:
        raise InputError(
            f"{num_entities:,} entities and {num_relations:,} relations are too many: "
            "entities x entities x relations must stay below 2^63"
        )


def distinct(triples: Triples, num_entities: int, num_relations: int) -> Triples:
    """Return the rows without repetitions, sorted by head, relation and tail."""
    check_size(num_entities, num_relations)
    keys = (triples[:, 0].astype(np.int64) * num_relations + triples[:, 1]) * num_entities + triples[:, 2]
    queries, tails = np.divmod(np.unique(keys), num_entities)
    heads, relations = np.divmod(queries, num_relations)
    return np.stack([heads, relations, tails], axis=1).astype(np.int32)


class KnownFacts:
    """A set of triples that can be looked up by head and relation, by relation and tail, or as a whole.

    Parameters
    ----------
    triples
        Rows of (head, relation, tail); repetitions count once.
    num_entities, num_relations
        The sizes of the vocabularies.
    """

    def __init__(self, triples: Triples, num_entities: int, num_relations: int) -> None:
        check_size(num_entities, num_relations)
        self.num_entities = num_entities
        self.num_relations = num_relations
        self._triples = triples

    def __len__(self) -> int:
        return len(self.tails.answers)

    @cached_property
    def tails(self) -> Answers:
        """(head, relation) -> tails."""
        return Answers.of(self.tail_queries(self._triples), self._triples[:, 2], self.num_entities)

    @cached_property
    def heads(self) -> Answers:
        """(relation, tail) -> heads."""
        return Answers.of(self.head_queries(self._triples), self._triples[:, 0], self.num_entities)

    def tail_queries(self, triples: Triples) -> npt.NDArray[np.int64]:
        """Return the number of each triple's query (head, relation, ?)."""
        return triples[:, 0].astype(np.int64) * self.num_relations + triples[:, 1]

    def head_queries(self, triples: Triples) -> npt.NDArray[np.int64]:
        """Return the number of each triple's query (?, relation, tail)."""
        return triples[:, 1].astype(np.int64) * self.num_entities + triples[:, 2]

    def tails_of(self, head: int, relation: int) -> npt.NDArray[np.int32]:
        """Return the known tails of (head, relation, ?), sorted."""
        return self.tails[head * self.num_relations + relation]

    def heads_of(self, relation: int, tail: int) -> npt.NDArray[np.int32]:
        """Return the known heads of (?, relation, tail), sorted."""
        return self.heads[relation * self.num_entities + tail]

    def contains(self, triples: Triples) -> npt.NDArray[np.bool_]:
        """Tell for each row whether it is a known fact."""
        if len(triples) <= FEW:
            rows = triples.tolist()
            return np.array([tail in self.tails_of(head, relation) for head, relation, tail in rows], dtype=bool)
        index = self.tails
        if len(index.answers) <= SMALL:
            keys = np.repeat(index.queries, np.diff(index.offsets)) * self.num_entities + index.answers
            wanted = self.tail_queries(triples) * self.num_entities + triples[:, 2]
            same: npt.NDArray[np.bool_] = np.append(keys, -1)[np.searchsorted(keys, wanted)] == wanted
            return same
        from transa.kernels.facts import contains  # loads the compiler, which takes a while

        found: npt.NDArray[np.bool_] = contains(
            index.queries, index.offsets, index.answers, self.tail_queries(triples), np.ascontiguousarray(triples[:, 2])
        )
        return found
