"""A trained model with its graph: what every question is put to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.graph import SPLITS, Triples
from transa.data.relations import by_relation
from transa.errors import InputError
from transa.evaluation.classification import check_sizes, finite_scores
from transa.evaluation.ranking import Ranker
from transa.inference.confidence import Confidence, margins
from transa.inference.names import Names
from transa.models import Model
from transa.training import Recipe, RunFolder

#: What is said where there can be no probabilities.
NO_VALID = "the graph has no validation triples: there are scores, but no thresholds and no probabilities"


@dataclass(eq=False)
class Trained:
    """A trained model, the graph it was trained on, and what is derived from both when first asked for.

    Attributes
    ----------
    model, graph
        Parameters, and facts with their names.
    recipe
        How the model was trained, where that is known.
    folder
        The run it comes from, where there is one: its calibration is kept there.
    """

    model: Model
    graph: KnowledgeGraph
    recipe: Recipe | None = None
    folder: RunFolder | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_sizes(self.model, self.graph)

    @classmethod
    def open(cls, path: str | Path) -> Trained:
        """Read a run folder.

        Raises
        ------
        InputError
            If the folder holds no finished run, one of another format, or files that are damaged.
        """
        folder = RunFolder(path)
        return cls(folder.model(), folder.graph(), folder.recipe(), folder)

    # ------------------------------------------------------------------ names

    @cached_property
    def entities(self) -> Names:
        """Entities by what people call them."""
        return Names(self.graph.entities, "entity")

    @cached_property
    def relations(self) -> Names:
        """Relations by what people call them."""
        return Names(self.graph.relations, "relation")

    def triple(self, head: str, relation: str, tail: str) -> Triples:
        """Return the ids of a triple by names, of shape (1, 3)."""
        ids = [self.entities.id(head), self.relations.id(relation), self.entities.id(tail)]
        return np.array([ids], dtype=np.int32)

    # ------------------------------------------------------------------ facts

    @cached_property
    def facts(self) -> KnownFacts:
        """The true triples of all splits."""
        return self.graph.known()

    def range_of(self, relation: int, side: str) -> npt.NDArray[np.int32]:
        """Return the entities that stand on a side of a relation in train, sorted."""
        rows = self.graph.train[self.graph.train[:, 1] == relation]
        return np.unique(rows[:, 2 if side == "tail" else 0])

    def splits_of(self, triple: Triples) -> list[str]:
        """Return the splits that hold a triple as a fact."""
        return [split for split in SPLITS if (self.graph.positives(split) == triple).all(axis=1).any()]

    # ------------------------------------------------------------------ scores

    @cached_property
    def ranker(self) -> Ranker:
        """Ranks entities by the model's scores."""
        return Ranker(self.model)

    @property
    def confidence(self) -> Confidence | None:
        """Thresholds and probabilities, or None where the graph has no validation triples."""
        return self._confidence[0]

    @cached_property
    def _confidence(self) -> tuple[Confidence | None, str]:
        if not len(self.graph.valid):
            return None, NO_VALID
        try:
            if self.folder is not None:
                return Confidence.of_run(self.folder, self.model, self.graph), ""
            return Confidence.fit(self.model, self.graph), ""
        except InputError as error:  # a graph so full that nothing false can be drawn
            return None, f"there are no thresholds and no probabilities: {error}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of probabilities should know."""
        if self.confidence is None:
            return (self._confidence[1],)
        if self.confidence.sampled:
            return (
                "probabilities hold where one triple is false for each true one, as in the drawn validation triples",
            )
        return ()

    def scores(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return the score of each triple: lower is more plausible."""
        return finite_scores(self.model, triples)

    @cached_property
    def _usual(self) -> npt.NDArray[np.float64]:
        """Mean and deviation of each relation's training scores."""
        usual = np.array([[0.0], [1.0]]).repeat(self.model.num_relations, axis=1)
        scores = self.scores(self.graph.train)
        for relation, rows in by_relation(self.graph.train):
            usual[:, relation] = scores[rows].mean(), max(float(scores[rows].std()), 1e-12)
        return usual

    def margins(self, triples: Triples, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how plausible triples are in a measure that compares between relations."""
        usual = self._usual if self.confidence is None else np.empty((2, 0))
        return margins(self.confidence, triples, scores, usual)

    def probabilities(self, relations: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> list[float | None]:
        """Return the probability of each score, None where there are none."""
        if self.confidence is None:
            return [None] * len(scores)
        found: list[float | None] = self.confidence.probability(relations, scores).tolist()
        return found
