"""The paths of the training triples: an index that is walked, and which relations a path speaks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transa.data.facts import distinct
from transa.data.graph import Triples

if TYPE_CHECKING:
    from transa.kernels.paths import FoundPaths, PathIndex

#: Triples whose paths are looked for at a time.
PART = 1 << 16


class Relevance(NamedTuple):
    """P(r | p): the share of the walks over a path p whose ends relation r links. It is that of the reversed path for the inverse too.

    Attributes
    ----------
    offsets
        The paths of relation r are from ``offsets[r]`` to ``offsets[r + 1]``.
    paths, probability
        Their numbers, sorted for each relation, and P(r | p).
    """

    offsets: npt.NDArray[np.int64]
    paths: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]


class KeptPaths(NamedTuple):
    """The reliable paths of some triples.

    Attributes
    ----------
    offsets
        The paths of triple i are from ``offsets[i]`` to ``offsets[i + 1]``.
    first, second
        Their steps (`transa.kernels.paths`).
    weight
        Reliability times .99 P(r | p) + .01, as in the program of Lin et al.
    """

    offsets: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GraphPaths:
    """What is known of the paths of some triples; each part is computed once, when first needed.

    Attributes
    ----------
    triples
        The distinct triples, sorted by relation, head and tail.
    num_entities, num_relations
        The sizes of the vocabularies.
    """

    triples: Triples
    num_entities: int
    num_relations: int

    @classmethod
    def of(cls, triples: Triples, num_entities: int, num_relations: int) -> GraphPaths:
        """Return the paths of some triples; repeated ones count once."""
        kept = distinct(triples, num_entities, num_relations)
        return cls(np.ascontiguousarray(kept[np.argsort(kept[:, 1], kind="stable")]), num_entities, num_relations)

    @property
    def numbers(self) -> int:
        """How many numbers of paths there are."""
        return 2 * self.num_relations * (2 * self.num_relations + 1)

    @cached_property
    def index(self) -> PathIndex:
        """The triples from both of their ends."""
        from transa.kernels.paths import PathIndex

        relations = self.num_relations
        head, relation, tail = self.triples.astype(np.int64).T
        ends, others = np.concatenate([head, tail]), np.concatenate([tail, head])
        steps = np.concatenate([relation, relation + relations])
        order = np.lexsort((steps, others, ends))
        ends, others, steps = ends[order], others[order], steps[order]
        questions, row, counts = np.unique(ends * 2 * relations + steps, return_inverse=True, return_counts=True)
        opposite = others * 2 * relations + (steps + relations) % (2 * relations)
        return PathIndex(
            np.searchsorted(ends, np.arange(self.num_entities + 1)).astype(np.int64),
            others.astype(np.int32),
            steps.astype(np.int32),
            1 / np.stack([counts[row], counts[np.searchsorted(questions, opposite)]]),
            relations,
        )

    @cached_property
    def relevance(self) -> Relevance:
        """P(r | p) of every relation and every path that one of its triples can be walked over."""
        keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        for rows, found in self._parts(limit=-1.0, own=True):
            relations = np.repeat(rows[:, 1].astype(np.int64), np.diff(found.offsets))
            keys = np.concatenate([keys, relations * self.numbers + found.paths])
            keys, place = np.unique(keys, return_inverse=True)
            counts = np.bincount(place, np.concatenate([counts, found.walks])).astype(np.int64)
        relations, paths = np.divmod(keys, self.numbers)
        offsets = np.searchsorted(relations, np.arange(self.num_relations + 1))
        return Relevance(offsets.astype(np.int64), paths, counts / self._walks(paths))

    def _walks(self, paths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many walks there are over each of some paths: at every entity, those that come in times those that go out."""
        from scipy.sparse import csr_array

        steps, index = 2 * self.num_relations, self.index
        ends = np.repeat(np.arange(self.num_entities), np.diff(index.starts))
        out = csr_array((np.ones(len(ends), np.int64), (ends, index.steps)), shape=(self.num_entities, steps))
        into = out[:, (np.arange(steps) + self.num_relations) % steps]
        of_two = (into.T @ out).tocsr()
        first, second = np.divmod(paths, steps + 1)
        of_one = np.bincount(index.steps, minlength=steps)[first]
        found: npt.NDArray[np.int64] = np.where(second == steps, of_one, of_two[first, second % steps])
        return found

    def kept(self, limit: float, *, own: bool) -> tuple[KeptPaths, KeptPaths]:
        """Return the paths of each triple whose reliability is above a limit, from head to tail and from tail to head.

        With `own`, a triple counts as a path from its head to its tail.
        """
        steps, relevance = 2 * self.num_relations, self.relevance
        relations = np.repeat(np.arange(self.num_relations), np.diff(relevance.offsets))
        known = relations * self.numbers + relevance.paths
        sides: tuple[list[list[npt.NDArray[Any]]], ...] = ([], [])
        for rows, found in self._parts(limit, own=own):
            owner = np.repeat(np.arange(len(rows)), np.diff(found.offsets))
            wanted = rows[owner, 1] * np.int64(self.numbers) + found.paths
            weight = 0.01 + 0.99 * relevance.probability[np.searchsorted(known, wanted)]
            first, second = np.divmod(found.paths, steps + 1)
            for column, side in enumerate(sides):
                kept = found.reliability[:, column] > limit
                one, two = (first, second) if column == 0 else self._reversed(first, second)
                counts = np.bincount(owner[kept], minlength=len(rows))
                given = found.reliability[kept, column] * weight[kept]
                side.append([counts, one[kept].astype(np.int32), two[kept].astype(np.int32), given.astype(np.float32)])
        there, back = (
            KeptPaths(np.concatenate([[0], np.cumsum(np.concatenate(parts[0]))]), *map(np.concatenate, parts[1:]))
            for parts in (list(zip(*side, strict=True)) for side in sides)
        )
        return there, back

    def _reversed(
        self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return paths walked from their end to their beginning."""
        steps = 2 * self.num_relations
        back, forth = ((each + self.num_relations) % steps for each in (first, second))
        single = second == steps
        return np.where(single, back, forth), np.where(single, steps, back)

    def _parts(self, limit: float, *, own: bool) -> Iterator[tuple[Triples, FoundPaths]]:
        """Yield some triples after others with their paths above a limit."""
        from transa.kernels.paths import find_paths

        for start in range(0, len(self.triples), PART):
            rows = self.triples[start : start + PART]
            pairs = np.ascontiguousarray(rows[:, ::2])
            yield rows, find_paths(self.index, pairs, np.where(own, -1, rows[:, 1]).astype(np.int32), limit)
