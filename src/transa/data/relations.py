"""Statistics of relations: their categories, and which of them repeat each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts, distinct
from transa.data.graph import Triples

Category = Literal["1-1", "1-N", "N-1", "N-N"]
CATEGORIES: tuple[Category, ...] = ("1-1", "1-N", "N-1", "N-N")

#: From this many tails per head (heads per tail) on, a side counts as "N" (Bordes et al. 2013).
MANY = 1.5

#: Two relations are duplicates or inverses of each other if they share at least this part of the pairs of both.
OVERLAP = 0.8


@dataclass(frozen=True, eq=False)
class RelationStatistics:
    """Counts for each relation, on a set of distinct triples.

    Attributes
    ----------
    triples
        Distinct triples.
    tails_per_head
        tph: triples / distinct heads; 0 for a relation without triples.
    heads_per_tail
        hpt: triples / distinct tails.
    """

    triples: npt.NDArray[np.int64]
    tails_per_head: npt.NDArray[np.float64]
    heads_per_tail: npt.NDArray[np.float64]

    @classmethod
    def of(cls, facts: KnownFacts) -> RelationStatistics:
        """Count the known facts."""
        size = facts.num_relations
        heads = np.bincount(facts.tails.queries % size, minlength=size)
        tails = np.bincount(facts.heads.queries // facts.num_entities, minlength=size)
        relation_of_query = facts.tails.queries % size
        triples = np.bincount(relation_of_query, weights=np.diff(facts.tails.offsets), minlength=size).astype(np.int64)
        return cls(triples, triples / np.maximum(heads, 1), triples / np.maximum(tails, 1))

    @property
    def head_probability(self) -> npt.NDArray[np.float64]:
        """The probability tph / (tph + hpt) that bern sampling replaces the head; 1/2 for a relation without triples."""
        both = self.tails_per_head + self.heads_per_tail
        return np.where(both > 0, self.tails_per_head / np.where(both > 0, both, 1), 0.5)

    @property
    def categories(self) -> list[Category]:
        """1-1, 1-N, N-1 or N-N for each relation. The head's side is N if hpt is at least 1.5, the tail's side if tph is."""
        return [
            CATEGORIES[2 * (heads >= MANY) + (tails >= MANY)]
            for heads, tails in zip(self.heads_per_tail, self.tails_per_head, strict=True)
        ]


@dataclass(frozen=True)
class RelatedPair:
    """Two relations that hold nearly the same facts.

    Attributes
    ----------
    first, second
        Relation ids; equal for a symmetric relation.
    kind
        ``"duplicate"``: (h, t) of one are (h, t) of the other; ``"inverse"``: (h, t) of one are (t, h) of the other.
    shares
        The part of the first relation's pairs that the second has too, and the part of the second's that the first has.
    """

    first: int
    second: int
    kind: Literal["duplicate", "inverse"]
    shares: tuple[float, float]


def related_pairs(triples: Triples, num_entities: int, num_relations: int) -> list[RelatedPair]:
    """Find duplicate, inverse and symmetric relations, which share at least `OVERLAP` of the pairs of both.

    Through such relations, FB15K and WN18 leak answers from train into test (Toutanova and Chen 2015; Akrami et al. 2020).
    """
    from scipy import sparse

    facts = distinct(triples, num_entities, num_relations)
    heads, relations, tails = facts.T.astype(np.int64)
    forward, backward = heads * num_entities + tails, tails * num_entities + heads
    pairs, columns = np.unique(np.concatenate([forward, backward]), return_inverse=True)
    shape = (num_relations, len(pairs))
    ones = np.ones(len(facts), dtype=np.int32)
    ahead = sparse.csr_array((ones, (relations, columns[: len(facts)])), shape=shape)
    reversed_ = sparse.csr_array((ones, (relations, columns[len(facts) :])), shape=shape)
    sizes = np.bincount(relations, minlength=num_relations)
    found = []
    for kind, other in (("duplicate", ahead), ("inverse", reversed_)):
        shared = (ahead @ other.T).tocoo()
        for first, second, count in zip(*shared.coords, shared.data, strict=True):
            shares = (count / sizes[first], count / sizes[second])
            if first <= second and not (kind == "duplicate" and first == second) and min(shares) >= OVERLAP:
                found.append(RelatedPair(int(first), int(second), kind, (float(shares[0]), float(shares[1]))))  # type: ignore[arg-type]
    return sorted(found, key=lambda pair: (pair.kind, -min(pair.shares), pair.first, pair.second))


def count_loops(triples: Triples, num_relations: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each relation the number of its triples from an entity to itself, and of all its triples."""
    loops = triples[triples[:, 0] == triples[:, 2], 1]
    return np.bincount(loops, minlength=num_relations), np.bincount(triples[:, 1], minlength=num_relations)


def leaked(train: Triples, test: Triples, pairs: list[RelatedPair], num_entities: int) -> int:
    """Count the test triples that train holds under an inverse, duplicate or symmetric relation."""
    if not len(test) or not pairs:
        return 0

    def keys(heads: Triples, relations: Triples | int, tails: Triples) -> npt.NDArray[np.int64]:
        return (relations * np.int64(num_entities) + heads) * num_entities + tails

    told = keys(*train.T)
    hit = np.zeros(len(test), dtype=bool)
    for pair in pairs:
        for asked, twin in {(pair.first, pair.second), (pair.second, pair.first)}:
            rows = np.flatnonzero(test[:, 1] == asked)
            heads, tails = test[rows][:, [0, 2] if pair.kind == "duplicate" else [2, 0]].T
            hit[rows] |= np.isin(keys(heads, twin, tails), told[train[:, 1] == twin])
    return int(hit.sum())


def by_relation(triples: Triples) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield each relation with the positions of its triples."""
    order = np.argsort(triples[:, 1], kind="stable")
    if len(order):
        for rows in np.split(order, np.flatnonzero(np.diff(triples[order, 1])) + 1):
            yield int(triples[rows[0], 1]), rows
