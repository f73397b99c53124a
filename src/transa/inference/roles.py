"""Which roles entities have: the sides of relations on which they stand in train. They serve as types where nobody gives any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transa.data.graph import KnowledgeGraph, Triples

#: The lowest fit, and that of an entity with no other role to judge by.
LEAST, UNKNOWN = 0.02, 0.5
#: Pairs of an entity and a role that are looked at together.
CHUNK = 1 << 16


class Roles:
    """How well an entity fits a side of a relation, by the other roles it has.

    Parameters
    ----------
    graph
        The graph; only train counts.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        from scipy import sparse  # takes a while to load

        self._facts = graph.training_facts
        self._relations = len(graph.relations)
        triples = np.unique(graph.train, axis=0)
        entities = np.concatenate([triples[:, 0], triples[:, 2]])
        roles = np.concatenate([triples[:, 1], triples[:, 1] + self._relations])
        shape = (len(graph.entities), 2 * self._relations)
        self._counts = sparse.csr_array((np.ones(len(roles), np.int64), (entities, roles)), shape=shape)
        self._counts.sum_duplicates()
        has = (self._counts > 0).astype(np.int64)
        self._together = (has.T @ has).tocsr()
        self._together.sort_indices()
        self._entities = self._together.diagonal()

    def fit(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return how well head and tail of each triple fit, of shape (n, 2), from `LEAST` to 1; a known fact is no witness for itself.

        An entity that has the role by another fact fits. Otherwise each of its other roles has a share of entities that have this role
        too, and the highest share counts.
        """
        own = self._facts.contains(triples).astype(np.int64) if len(triples) else np.empty(0, np.int64)
        found = np.ones((len(triples), 2))
        for column, (place, offset) in enumerate(((0, 0), (2, self._relations))):
            entities, roles = triples[:, place].astype(np.int64), triples[:, 1].astype(np.int64) + offset
            times = self._counts[entities, roles] if len(triples) else np.empty(0)
            open_ = np.flatnonzero(np.asarray(times).ravel() - own <= 0)
            for begin in range(0, len(open_), CHUNK):
                rows = open_[begin : begin + CHUNK]
                found[rows, column] = self._shares(entities[rows], roles[rows], own[rows])
        return found

    def _shares(
        self, entities: npt.NDArray[np.int64], roles: npt.NDArray[np.int64], own: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return the highest share, over the other roles of each entity, of entities that have the role too."""
        begins, ends = self._counts.indptr[entities], self._counts.indptr[entities + 1]
        sizes = ends - begins
        row = np.repeat(np.arange(len(entities)), sizes)
        place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(begins, sizes)
        other = self._counts.indices[place]
        keep = other != roles[row]
        row, other = row[keep], other[keep]
        both = np.asarray(self._together[other, roles[row]]).ravel() - own[row] if len(row) else np.empty(0)
        found = np.full(len(entities), -1.0)
        np.maximum.at(found, row, both / (self._entities[other] + 1))
        return np.where(found < 0, UNKNOWN, np.maximum(found, LEAST))
