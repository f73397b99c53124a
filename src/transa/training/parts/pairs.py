"""Which training triples are trained together: those whose heads and tails lie in the same two parts of the entities.

PyTorch-BigGraph trains in this way (Lerer et al. 2019). A triple meets only negatives of the two parts that are in memory with it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.graph import Triples
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.training.engine import training_graph
from transa.training.lanes import Numbering
from transa.training.recipe import Recipe


class Pairs:
    """Deals the training triples of a graph to pairs of parts.

    A part is some adjacent lanes of the entities. A triple within one part is trained with that part and one of the others, in turn.

    Parameters
    ----------
    graph, recipe
        Whose triples, and how they are trained.
    numbering
        To which lanes entities are dealt.
    parts
        How many parts; it divides the number of lanes.

    Attributes
    ----------
    every
        The pairs; a single part is paired with itself.
    """

    def __init__(self, graph: KnowledgeGraph, recipe: Recipe, numbering: Numbering, parts: int) -> None:
        check_parts(parts, numbering.lanes)
        self.graph = graph
        self.recipe = recipe
        self.numbering = numbering
        self._lanes = numbering.lanes // parts
        self.every = list(combinations(range(parts), 2)) or [(0, 0)]
        number = np.zeros((parts, parts), np.int32)
        for at, (one, other) in enumerate(self.every):
            number[one, other] = number[other, one] = at
        part = (numbering.rows // (numbering.block * self._lanes)).astype(np.int16)
        heads, tails = part[graph.train[:, 0]], part[graph.train[:, 2]]
        pair = number[heads, tails]
        self._inside = [np.flatnonzero((heads == one) & (tails == one)) for one in range(parts)]
        for one, rows in enumerate(self._inside if parts > 1 else []):
            pair[rows] = number[one, (one + 1 + np.arange(len(rows)) % (parts - 1)) % parts]
        self._order = np.argsort(pair, kind="stable")
        self._borders = np.searchsorted(pair[self._order], np.arange(len(self.every) + 1))

    def lanes(self, part: int) -> range:
        """Return the lanes of a part."""
        return range(part * self._lanes, (part + 1) * self._lanes)

    def entities(self, pair: tuple[int, int]) -> npt.NDArray[np.int32]:
        """Return the entities of a pair, sorted."""
        lanes = [lane for part in sorted(set(pair)) for lane in self.lanes(part)]
        return np.sort(np.concatenate([self.numbering.members(lane) for lane in lanes]))

    def part_graph(self, number: int, entities: npt.NDArray[np.int32]) -> KnowledgeGraph:
        """Return the graph of a pair: its triples are those to train, and its facts all that hold between its entities."""
        pair, train = self.every[number], self.graph.train
        rows = self._order[self._borders[number] : self._borders[number + 1]]
        known = np.concatenate([rows, *(self._inside[part] for part in sorted(set(pair)))])
        place = np.zeros(len(self.graph.entities), np.int32)
        place[entities] = np.arange(len(entities))

        def graph_of(triples: Triples) -> KnowledgeGraph:
            local = np.stack([place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]], axis=1)
            whole = KnowledgeGraph(Vocabulary(self.graph.entities.keys.take(entities)), self.graph.relations, local)
            return training_graph(whole, self.recipe)

        found, every = graph_of(train[rows]), graph_of(train[known])
        vars(found)["training_facts"] = KnownFacts(every.train, len(entities), len(every.relations))
        return found


def check_parts(parts: int, lanes: int) -> None:
    """Raise an `InputError` if lanes could not be shared evenly by parts."""
    if parts < 1 or lanes % parts:
        raise InputError(f"parts: {parts:,} do not divide the {lanes:,} lanes of the entities (--set lanes=…)")
