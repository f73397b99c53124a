"""True and false triples of a split: labelled in the source, or with false ones drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.corruption import Corruptor
from transa.data.facts import KnownFacts
from transa.data.graph import SPLITS, KnowledgeGraph, Labels, Split, Triples
from transa.data.relations import RelationStatistics
from transa.errors import InputError
from transa.kernels.purposes import FALSE_TRIPLES


@dataclass(frozen=True, eq=False)
class LabelledTriples:
    """Triples with their labels.

    Attributes
    ----------
    triples
        Rows of (head, relation, tail).
    labels
        1 (true) or -1 (false).
    sampled
        Whether the false triples were drawn.
    """

    triples: Triples
    labels: Labels
    sampled: bool

    @classmethod
    def of(cls, graph: KnowledgeGraph, split: Split, seed: int = 0) -> LabelledTriples:
        """Return the labelled triples of a split. If it has no labels, return its triples and as many false ones.

        A false triple is a true one with the head or the tail replaced; the head with the probability of bern sampling on the
        training triples. It is in no split, since labelling a fact as false would be wrong. Triples of the other splits are avoided
        whatever their labels, so no label of test decides what is drawn for valid.

        Raises
        ------
        InputError
            If a triple cannot be made false, because replacing either side by any entity gives a triple of the graph.
        """
        triples, labels = graph.triples(split), graph.labels(split)
        if labels is not None:
            return cls(triples, labels, sampled=False)
        rows = np.concatenate([graph.triples(each) for each in SPLITS])
        corruptor = Corruptor(
            KnownFacts(rows, len(graph.entities), len(graph.relations)), seed=seed, purpose=FALSE_TRIPLES
        )
        corruptor.head_probability = RelationStatistics.of(graph.training_facts).head_probability
        try:
            drawn = corruptor.corrupt(triples, epoch=SPLITS.index(split))[:, 0]
        except InputError as error:
            raise InputError(f"{split} has no labels, and no false triples can be drawn: {error}") from None
        ones = np.ones(len(triples), dtype=np.int8)
        return cls(np.concatenate([triples, drawn]), np.concatenate([ones, -ones]), sampled=True)

    def __len__(self) -> int:
        return len(self.triples)

    def sample(self, size: int, seed: int = 0) -> LabelledTriples:
        """Return a random sample of `size` triples without repetition, in their order; or all if there are fewer."""
        return self.take(np.sort(np.random.default_rng(seed).permutation(len(self))[:size]))

    def take(self, rows: npt.NDArray[Any]) -> LabelledTriples:
        """Return some of the triples, by position or by a mask."""
        return LabelledTriples(self.triples[rows], self.labels[rows], self.sampled)
