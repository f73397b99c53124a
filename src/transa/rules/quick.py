"""Rules that are mined quickly, to see what follows from train without any model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.data.graph import Split, Triples
from transa.rules.evidence import Evidence
from transa.rules.mining import Mined, Mining, mine

#: Walks of two steps, the squares of all entities' facts, up to which rules of all forms are mined; beyond, those of one atom.
SMALL = 5e6
#: Minutes after which no further step is mined.
MINUTES = 1.0

#: What reaches a triple: a rule of one atom, only rules of other forms, or no rule.
Reached = Literal["one_atom", "other", "none"]
REACHED: tuple[Reached, ...] = ("one_atom", "other", "none")


@dataclass(frozen=True, eq=False)
class QuickRules:
    """Rules of a graph that take seconds: those of one atom, and on a small graph those of all forms.

    A rule of one atom says that a pair of entities stands in a relation because it stands in another, in the same or the other
    direction, or in the same relation the other way round.

    Attributes
    ----------
    graph
        The graph, of which train is mined.
    one_atom
        The rules of one atom.
    every
        Rules of all forms; on a graph that is not small, those of one atom.
    """

    graph: KnowledgeGraph
    one_atom: Mined
    every: Mined

    @classmethod
    def of(cls, graph: KnowledgeGraph, *, small: float = SMALL, minutes: float = MINUTES) -> QuickRules:
        """Mine the training triples of a graph.

        Parameters
        ----------
        graph
            The graph.
        small
            Walks of two steps up to which rules of all forms are mined.
        minutes
            Time after which nothing further is begun.
        """
        from numba import get_num_threads

        threads = get_num_threads()
        one_atom = mine(graph, Mining(length=1, constants=False, minutes=minutes), threads=threads)
        degrees = np.bincount(graph.train[:, [0, 2]].ravel())
        if (degrees.astype(float) ** 2).sum() > small:
            return cls(graph, one_atom, one_atom)
        return cls(graph, one_atom, mine(graph, Mining(minutes=minutes), threads=threads))

    @property
    def all_forms(self) -> bool:
        """Whether rules of all forms were mined, and not of one atom alone."""
        return self.every is not self.one_atom

    @property
    def complete(self) -> bool:
        """Whether the time was enough to count all."""
        return self.one_atom.complete and self.every.complete

    @cached_property
    def evidence(self) -> Evidence:
        """What the rules say; the strongest decides."""
        return self._evidence(self.every)

    def reached(self, triples: Triples) -> npt.NDArray[np.int64]:
        """Return what reaches each triple, as a place in `REACHED`."""
        if not self.all_forms:
            return np.where(self.evidence.reaches(triples), 0, 2)
        one, every = self._evidence(self.one_atom).reaches(triples), self.evidence.reaches(triples)
        return np.where(one, 0, np.where(every, 1, 2))

    def report(self) -> dict[str, Any]:
        """Return as plain values how many triples of valid and test are reached, and by what."""
        splits: tuple[Split, ...] = ("valid", "test")
        found = {
            split: np.bincount(self.reached(self.graph.positives(split)), minlength=3).tolist() for split in splits
        }
        return {
            "forms": "all" if self.all_forms else "one_atom",
            "rules": len(self.every.rules),
            "complete": self.complete,
            "reached": {split: dict(zip(REACHED, counts, strict=True)) for split, counts in found.items()},
        }

    def _evidence(self, mined: Mined) -> Evidence:
        return Evidence(mined.rules, self.graph.train, len(self.graph.entities), len(self.graph.relations))
