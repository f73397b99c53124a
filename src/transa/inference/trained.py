"""A trained model with its graph: every question is put to it."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.alignment import aligned
from transa.data.graph import SPLITS, Triples, required
from transa.data.relations import by_relation, count_loops
from transa.errors import InputError
from transa.evaluation.classification import check_sizes, finite_scores
from transa.evaluation.ranking import QuickRanker, Ranker
from transa.inference.confidence import Confidence, margins
from transa.inference.names import Names
from transa.inference.paths import Adjacency
from transa.models import Model
from transa.models.loop_prior import barred_triples
from transa.training import Recipe, RunFolder

#: Below this share of loops among the training triples of a relation, an entity is no answer to itself.
RARE = 0.1

#: What we say where there can be no probabilities.
NO_VALID = "the graph has no validation triples: there are scores, but no thresholds and no probabilities"


@dataclass(eq=False)
class Trained:
    """A trained model, the graph it was trained on, and what follows from both.

    Names, known facts, ranker and calibration are each made once, when first needed.

    Attributes
    ----------
    model, graph
        The parameters, and the facts with their names.
    recipe
        How the model was trained, if that is known.
    folder
        The run that the model comes from, if there is one; its calibration is kept there.
    calibrated
        Whether to fit thresholds and probabilities, if the graph has validation triples.
    loop_prior
        Whether an entity may be ruled out as an answer to itself, by the model's loop prior or since train has few loops.
    """

    model: Model
    graph: KnowledgeGraph
    recipe: Recipe | None = None
    folder: RunFolder | None = field(default=None, repr=False)
    calibrated: bool = field(default=True, repr=False)
    loop_prior: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        check_sizes(self.model, self.graph)
        if not self.loop_prior:
            self.model = copy(self.model)
            self.model.loop_free = None

    @classmethod
    def open(cls, run: str | Path | RunFolder) -> Trained:
        """Read a finished run.

        Raises
        ------
        InputError
            If the folder holds no finished run, a run of another format, or damaged files.
        """
        folder = run if isinstance(run, RunFolder) else RunFolder(run)
        return cls(folder.model(), folder.graph(), folder.recipe(), folder)

    def with_model(self, model: Model) -> Trained:
        """Return another model of the same entities, relations and facts, without a calibration."""
        return self._sharing(Trained(model, self.graph, calibrated=False, loop_prior=self.loop_prior))

    @cached_property
    def without_loop_prior(self) -> Trained:
        """The same model without its loop prior, to which every entity may be an answer to itself."""
        return self._sharing(Trained(self.model, self.graph, self.recipe, calibrated=self.calibrated, loop_prior=False))

    def _sharing(self, other: Trained) -> Trained:
        """Return another trained model of the same graph with what follows from the graph."""
        other.entities, other.relations, other.facts = self.entities, self.relations, self.facts
        return other

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the model's tables and the training triples."""
        digest = hashlib.sha256(self.graph.train.tobytes())
        for table in self.model.tensors().values():
            digest.update(table.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()

    # ------------------------------------------------------------------ names

    @cached_property
    def entities(self) -> Names:
        """The entities, found by key or by name."""
        return Names(self.graph.entities, "entity")

    @cached_property
    def relations(self) -> Names:
        """The relations, found by key or by name."""
        return Names(self.graph.relations, "relation")

    def triple(self, head: str, relation: str, tail: str) -> Triples:
        """Return the ids of a triple given by names or their beginnings, of shape (1, 3)."""
        ids = [self.entities.id(head), self.relations.id(relation), self.entities.id(tail)]
        return np.array([ids], dtype=np.int32)

    def whole_triple(self, head: str, relation: str, tail: str) -> tuple[int, int, int]:
        """Return the ids of a triple given by whole names, as it stands in a file."""
        return self.entities.whole(head), self.relations.whole(relation), self.entities.whole(tail)

    def aligned(self, graph: KnowledgeGraph) -> KnowledgeGraph:
        """Return another graph with the ids of this one: what has the same key is the same.

        Raises
        ------
        InputError
            If its triples have entities or relations that the model does not know.
        """
        return aligned(required(graph), self.graph.entities, self.graph.relations)

    # ------------------------------------------------------------------ facts

    @cached_property
    def facts(self) -> KnownFacts:
        """The true triples of all splits."""
        return self.graph.known()

    @cached_property
    def adjacency(self) -> Adjacency:
        """The training triples by entity."""
        return Adjacency.of(self.graph.train, len(self.graph.entities), len(self.graph.relations))

    def range_of(self, relation: int, side: str) -> npt.NDArray[np.int32]:
        """Return the entities on one side of a relation in train, sorted."""
        rows = self.graph.train[self.graph.train[:, 1] == relation]
        return np.unique(rows[:, 2 if side == "tail" else 0])

    def loop_share(self, relation: int) -> float:
        """Return which share of the relation's training triples are loops: triples from an entity to itself."""
        loops, triples = self._loops
        return float(loops[relation] / max(triples[relation], 1))

    def answers_itself(self, relation: int, share: float = RARE) -> bool:
        """Tell whether an entity may be an answer to a question about itself.

        It may not where the model's loop prior bars it, and not where less than `share` of the relation's training triples are loops,
        prior or not. Models that translate would often name the entity first: its vector is nearest to itself.
        """
        if not self.loop_prior:
            return True
        barred = self.model.loop_free is not None and bool(self.model.loop_free[relation])
        return not barred and self.loop_share(relation) >= share

    def why_barred(self, relation: int) -> str:
        """Say in words why the loop prior bars the loops of a relation."""
        loops, triples = (int(counts[relation]) for counts in self._loops)
        return (
            f"an entity is no answer to itself in {self.graph.relations[relation]} "
            f"(loops in train: {loops:,} of {triples:,} triples)"
        )

    @cached_property
    def _loops(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The training triples of each relation from an entity to itself, and all its training triples."""
        return count_loops(self.graph.train, self.model.num_relations)

    def splits_of(self, triple: Triples) -> list[str]:
        """Return the splits that hold a triple as a fact."""
        return [split for split in SPLITS if (self.graph.positives(split) == triple).all(axis=1).any()]

    # ------------------------------------------------------------------ scores

    @cached_property
    def ranker(self) -> Ranker:
        """Ranks entities by the model's scores."""
        return QuickRanker(self.model)

    @property
    def confidence(self) -> Confidence | None:
        """The thresholds and probabilities, or None if the graph has no validation triples."""
        return self._confidence[0]

    @cached_property
    def _confidence(self) -> tuple[Confidence | None, str]:
        if not self.calibrated:
            return None, ""
        if not len(self.graph.valid):
            return None, NO_VALID
        try:
            if self.folder is not None:
                return Confidence.of_run(self.folder, self.model, self.graph, self.fingerprint), ""
            return Confidence.fit(self.model, self.graph), ""
        except InputError as error:  # the graph is so full that no false triple can be drawn
            return None, f"there are no thresholds and no probabilities: {error}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the probabilities should know."""
        if self.confidence is None:
            return tuple(filter(None, (self._confidence[1],)))
        if self.confidence.sampled:
            return (
                "probabilities hold where one triple is false for each true one, as in the drawn validation triples",
            )
        return ()

    def scores(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return the score of each triple: lower is more plausible. That of a directional model is the mean of both directions."""
        return finite_scores(self.model, triples)

    @cached_property
    def _usual(self) -> npt.NDArray[np.float64]:
        """Mean and standard deviation of the training scores of each relation."""
        usual = np.array([[0.0], [1.0]]).repeat(self.model.graph_relations, axis=1)
        scores = self.scores(self.graph.train)
        for relation, rows in by_relation(self.graph.train):
            usual[:, relation] = scores[rows].mean(), max(float(scores[rows].std()), 1e-12)
        return usual

    def margins(self, triples: Triples, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how plausible triples are, comparable between relations: higher is more plausible, -infinity is a barred loop."""
        usual = self._usual if self.confidence is None else np.empty((2, 0))
        found = margins(self.confidence, triples, scores, usual)
        return np.where(barred_triples(self.model, triples), -np.inf, found)

    def probabilities(self, relations: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> list[float | None]:
        """Return the probability that each triple is true, None if there is no calibration."""
        if self.confidence is None:
            return [None] * len(scores)
        found: list[float | None] = self.confidence.probability(relations, scores).tolist()
        return found
