"""The training triples by entity: facts that two entities share, and short paths from one to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from transa.data.facts import distinct
from transa.data.graph import Triples

Ids = npt.NDArray[np.int64]

#: How many edges a search for paths of three steps looks at; entities with few edges come first, so that hubs are left out.
BUDGET = 100_000
#: How many shared facts are compared by how rare they are.
COMPARED = 200

#: From an entity over an edge to an entity; an edge r + relations leads against the direction of r.
Step = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Every training triple from both of its ends, without loops.

    Attributes
    ----------
    starts
        The edges of entity e are those from ``starts[e]`` to ``starts[e + 1]``, in the order of the other end.
    others, edges
        The other end of each edge; the relation r if the entity is its head, r + relations if it is its tail.
    relations
        How many relations there are.
    """

    starts: Ids
    others: Ids
    edges: Ids
    relations: int

    @classmethod
    def of(cls, triples: Triples, entities: int, relations: int) -> Adjacency:
        """Return the adjacency of some triples; repeated ones count once."""
        kept = distinct(triples, entities, relations).astype(np.int64)
        head, relation, tail = kept[kept[:, 0] != kept[:, 2]].T
        ends, others = np.concatenate([head, tail]), np.concatenate([tail, head])
        edges = np.concatenate([relation, relation + relations])
        order = np.lexsort((edges, others, ends))
        starts = np.searchsorted(ends[order], np.arange(entities + 1))
        return cls(starts, others[order], edges[order], relations)

    def degrees(self, entities: Ids) -> Ids:
        """Return how many edges entities have."""
        found: Ids = self.starts[entities + 1] - self.starts[entities]
        return found

    def at(self, entity: int) -> slice:
        """Return where the edges of an entity are."""
        return slice(int(self.starts[entity]), int(self.starts[entity + 1]))

    def between(self, entity: int, other: int) -> list[int]:
        """Return the edges from one entity to another."""
        here = self.at(entity)
        low, high = np.searchsorted(self.others[here], [other, other + 1]).tolist()
        found: list[int] = self.edges[here][low:high].tolist()
        return found

    def shared(self, one: int, two: int, without: tuple[int, int]) -> list[Step]:
        """Return the facts that two entities share, as steps from the first, those that few others have first.

        Parameters
        ----------
        one, two
            The entities.
        without
            An edge and its other end that do not count.
        """
        common = np.intersect1d(self._codes(one), self._codes(two), assume_unique=True)
        ends, edges = common // (2 * self.relations), common % (2 * self.relations)
        kept = ~((edges == without[0]) & (ends == without[1])) & (ends != one) & (ends != two)
        ends, edges = ends[kept], edges[kept]
        order = np.argsort(self.degrees(ends), kind="stable")
        first = sorted(order[:COMPARED].tolist(), key=lambda place: self._having(int(edges[place]), int(ends[place])))
        return [(one, int(edges[place]), int(ends[place])) for place in [*first, *order[COMPARED:].tolist()]]

    def _codes(self, entity: int) -> Ids:
        """Return a number for each edge of an entity, the same for the same edge to the same end."""
        found: Ids = self.others[self.at(entity)] * (2 * self.relations) + self.edges[self.at(entity)]
        return found

    def _having(self, edge: int, end: int) -> int:
        """Return how many entities have an edge to an end."""
        back = (edge + self.relations) % (2 * self.relations)
        return int(np.count_nonzero(self.edges[self.at(end)] == back))

    def paths(self, head: int, relation: int, tail: int, top: int) -> list[list[Step]]:
        """Return paths of at most three steps between two entities, without the edge that is explained.

        Shorter paths come first; of those of one length, the ones that use the relation, and then those through entities with few
        edges, which tell most.
        """
        if head == tail:
            return []
        found = [[(head, edge, tail)] for edge in self.between(head, tail) if edge != relation]
        if len(found) < top:
            found += self._ordered(self._by_two(head, tail), relation)
        if len(found) < top:
            found += self._ordered(self._by_three(head, tail, 20 * top), relation)
        return found[:top]

    def _by_two(self, head: int, tail: int) -> Iterator[tuple[int, ...]]:
        middle = np.intersect1d(self.others[self.at(head)], self.others[self.at(tail)])
        order = np.argsort(self.degrees(middle), kind="stable")[:COMPARED]
        yield from ((head, int(each), tail) for each in middle[order])

    def _by_three(self, head: int, tail: int, number: int) -> Iterator[tuple[int, ...]]:
        """Yield chains over two entities, from the end that has fewer edges to look at."""
        near = [np.setdiff1d(self.others[self.at(each)], [head, tail]) for each in (head, tail)]
        costs = [int(self.degrees(each).sum()) for each in near]
        first, second = (0, 1) if costs[0] <= costs[1] else (1, 0)
        degrees = self.degrees(near[first])
        order = np.argsort(degrees, kind="stable")
        chosen = near[first][order][np.cumsum(degrees[order]) <= BUDGET]
        sizes = self.degrees(chosen)
        rows = np.arange(int(sizes.sum())) + np.repeat(self.starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
        froms, tos = np.repeat(chosen, sizes), self.others[rows]
        kept = np.isin(tos, near[second])
        pairs = np.unique(np.stack([froms[kept], tos[kept]], axis=1), axis=0)
        order = np.argsort(self.degrees(pairs).prod(axis=1), kind="stable")[:number]
        for one, two in pairs[order].tolist():
            yield (head, one, two, tail) if first == 0 else (head, two, one, tail)

    def _ordered(self, chains: Iterator[tuple[int, ...]], relation: int) -> list[list[Step]]:
        """Return chains of entities as steps, those first that use the relation."""
        alike = (relation, relation + self.relations)
        found = []
        for chain in chains:
            steps = []
            for here, there in pairwise(chain):
                edges = self.between(here, there)
                steps.append((here, next((edge for edge in edges if edge in alike), edges[0]), there))
            found.append(steps)
        return sorted(found, key=lambda steps: not any(edge in alike for _, edge, _ in steps))
