"""How closely two entities are linked in train: by other facts between them, and by neighbours they share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transa.data.graph import KnowledgeGraph, Triples

#: Pairs that are looked at together.
CHUNK = 2048


class Links:
    """Counts links between entities in any direction; a shared neighbour counts 1 / log(2 + its facts), so that hubs say little.

    Parameters
    ----------
    graph
        The graph; only train counts.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        from scipy import sparse  # takes a while to load

        self._train = graph.training_facts
        size, triples = len(graph.entities), np.unique(graph.train, axis=0)
        ends = np.concatenate([triples[:, [0, 2]], triples[:, [2, 0]]])
        self._facts = sparse.csr_array((np.ones(len(ends)), ends.T), shape=(size, size))
        self._facts.sum_duplicates()
        self._near = (self._facts > 0).astype(np.float64)
        self._near.setdiag(0)
        self._near.eliminate_zeros()
        facts = np.bincount(ends[:, 0], minlength=size)
        self._shared = self._near @ sparse.diags_array(1 / np.log(2.0 + facts))

    def between(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return how closely head and tail of each triple are linked, the triple itself not counted."""
        if not len(triples):
            return np.empty(0)
        own = self._train.contains(triples) * np.where(triples[:, 0] == triples[:, 2], 2.0, 1.0)
        found: npt.NDArray[np.float64] = np.asarray(self._facts[triples[:, 0], triples[:, 2]]).ravel() - own
        for begin in range(0, len(triples), CHUNK):
            heads, _, tails = triples[begin : begin + CHUNK].T
            both = self._shared[heads].multiply(self._near[tails])
            found[begin : begin + CHUNK] += np.asarray(both.sum(axis=1)).ravel()
        np.maximum(found, 0.0, out=found)
        return found
