"""A trained model with its graph: every question is put to it."""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.alignment import aligned
from transa.data.graph import SPLITS, Triples, required
from transa.data.relations import by_relation, count_loops
from transa.errors import InputError
from transa.evaluation.queries import Side
from transa.evaluation.ranking import QuickRanker, Ranker
from transa.evaluation.scores import answer_scores, check_sizes, finite_scores
from transa.inference.answer_chances import MEANING, Candidates, candidates_of, rivals_of
from transa.inference.answer_counts import AnswerCounts
from transa.inference.confidence import Confidence, margins
from transa.inference.names import Names
from transa.inference.paths import Adjacency
from transa.models import Model
from transa.models.loop_prior import barred_triples
from transa.training import Recipe, RunFolder

#: Below this share of loops among the training triples of a relation, an entity is no answer to itself.
RARE = 0.1

#: Rows of a table whose checksum is taken at once.
PART = 1 << 16

#: The file of a run folder that tells how a model was extended.
EXTENSION = "extension.json"

#: What we say of a triple that the graph labels false.
FALSE = "labelled false in the graph"
#: What we say of the scores of whole triples, where questions about heads and tails have different ones.
BOTH_WAYS = (
    "score: the mean of both directions of this directional model; predict shows that of the direction it is asked for"
)
#: What we say where there can be no probabilities.
NO_VALID = "the graph has no validation triples: there are scores, but no thresholds and no probabilities"


class Marked(Protocol):
    """A triple that may be known, and may have a note."""

    @property
    def known(self) -> bool:
        """Whether the graph holds it."""

    @property
    def note(self) -> str | None:
        """What a reader must know."""


def state_of(found: Marked) -> str:
    """Return in a word what the graph says of a triple: known, false (it is labelled so) or new."""
    return "known" if found.known else "false" if found.note == FALSE else "new"


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
    loose
        The ids of entities that were added to the model later and have no link to what it was trained on.
    loop_prior
        Whether an entity may be ruled out as an answer to itself, by the model's loop prior or since train has few loops.
    told
        The ids of entities that were added to the model later and have the place that their texts gave them.
    """

    model: Model
    graph: KnowledgeGraph
    recipe: Recipe | None = None
    folder: RunFolder | None = field(default=None, repr=False)
    calibrated: bool = field(default=True, repr=False)
    loop_prior: bool = field(default=True, repr=False)
    loose: tuple[int, ...] = field(default=(), repr=False)
    told: tuple[int, ...] = field(default=(), repr=False)

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
        model, graph = folder.model(), folder.graph()
        loose, told = (_extension(folder, graph, kind) for kind in ("loose", "told"))
        return cls(model, graph, folder.recipe(), folder, loose=loose, told=told)

    def with_model(self, model: Model) -> Trained:
        """Return another model of the same entities, relations and facts, without a calibration."""
        return self._sharing(Trained(model, self.graph, calibrated=False, loop_prior=self.loop_prior, loose=self.loose))

    @cached_property
    def without_loop_prior(self) -> Trained:
        """The same model without its loop prior, to which every entity may be an answer to itself."""
        return self._sharing(replace(self, folder=None, loop_prior=False, told=()))

    def _sharing(self, other: Trained) -> Trained:
        """Return another trained model of the same graph with what follows from the graph."""
        other.entities, other.relations = self.entities, self.relations
        other.facts, other.denied = self.facts, self.denied
        return other

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the model's tables and the training triples."""
        digest = hashlib.sha256(self.graph.train.tobytes())
        for table in self.model.tensors().values():
            for part in table.split(PART) if len(table.shape) else [table]:  # type: ignore[no-untyped-call]
                digest.update(part.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def agreed(self, value: Any) -> Any:
        """Return a value that processes which answer together must not see differently, such as what a file holds by now."""
        return value

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

    @cached_property
    def denied(self) -> KnownFacts:
        """The triples that the graph labels false."""
        return self.graph.denied()

    @cached_property
    def seen(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which entities and which relations the model was trained on; only for them there are probabilities."""
        train, found = self.graph.train, []
        for ids, size in ((train[:, [0, 2]], len(self.graph.entities)), (train[:, 1], len(self.graph.relations))):
            found.append(np.bincount(ids.ravel(), minlength=size) > 0)
        found[0][list(self.loose)] = False  # a list: an empty tuple would mean all
        return found[0], found[1]

    def unseen(self, triple: npt.NDArray[Any]) -> str | None:
        """Say in words why there is no probability for a triple: the model was not trained on one of its parts. None if it was."""
        head, relation, tail = triple.tolist()
        if not self.seen[1][relation]:
            return f"no probability: train has no triple of the relation {self.graph.relations[relation]}"
        for entity in (head, tail):
            if not self.seen[0][entity]:
                why = (
                    "is linked to nothing the model was trained on"
                    if entity in self.loose
                    else "has no training triple"
                )
                return f"no probability: {self.graph.entities[entity]} {why}"
        return None

    def note_on(self, triples: Triples) -> list[str | None]:
        """Return for each triple what a reader must know: the graph labels it false, or the model was not trained on a part of it."""
        false = self.denied.contains(triples).tolist() if len(triples) else []
        return [FALSE if denied else self.unseen(triple) for triple, denied in zip(triples, false, strict=True)]

    @cached_property
    def answer_counts(self) -> AnswerCounts:
        """How many answers questions have in train."""
        return AnswerCounts(self.graph.training_facts)

    def range_of(self, relation: int, side: str) -> npt.NDArray[np.int32]:
        """Return the entities on one side of a relation in train, sorted."""
        return np.unique(self.graph.train[self._rows_of(relation), 2 if side == "tail" else 0])

    def _rows_of(self, relation: int) -> npt.NDArray[np.int64]:
        """Return the places of a relation's training triples."""
        return self._rows_by_relation.get(relation, np.empty(0, np.int64))

    @cached_property
    def _rows_by_relation(self) -> dict[int, npt.NDArray[np.int64]]:
        return dict(by_relation(self.graph.train))

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

    @property
    def relation_sizes(self) -> npt.NDArray[np.int64]:
        """How many training triples each relation has."""
        return self._loops[1]

    @cached_property
    def _loops(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The training triples of each relation from an entity to itself, and all its training triples."""
        return count_loops(self.graph.train, self.model.graph_relations)

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
            return Confidence.of_run(self), ""
        except InputError as error:  # the graph is so full that no false triple can be drawn
            return None, f"there are no thresholds and no probabilities: {error}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the probabilities should know."""
        if self.confidence is None:
            return tuple(filter(None, (self._confidence[1],)))
        return (MEANING,)

    @property
    def notes_on_checks(self) -> tuple[str, ...]:
        """The same for triples that are checked, whose probabilities come from labels if valid has some."""
        both = (BOTH_WAYS,) if self.model.directional else ()
        if self.confidence is None or self.confidence.calibrator is None:
            return (*self.notes, *both)
        true = float(np.mean(self.graph.valid_labels == 1))
        return (
            f"probability: the share of true triples among labelled ones like this; of those in valid, {true:.0%} are true",
            *both,
        )

    def scores(self, triples: Triples) -> npt.NDArray[np.float64]:
        """Return the score of each triple: lower is more plausible. That of a directional model is the mean of both directions."""
        return finite_scores(self.model, triples)

    @cached_property
    def _usual(self) -> dict[int, tuple[float, float]]:
        """What `usual` has found so far."""
        return {}

    def usual(self, relations: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the mean and the standard deviation of the training scores of each of some relations, of shape (2, relations).

        Only the triples of these relations are scored, once: a question is about one relation of perhaps a thousand.
        """
        wanted, places = np.unique(relations, return_inverse=True)
        for relation in wanted.tolist():
            if relation not in self._usual:
                rows = self._rows_of(relation)
                scores = self.scores(self.graph.train[rows]) if len(rows) else np.zeros(0)
                self._usual[relation] = (scores.mean(), max(float(scores.std()), 1e-12)) if len(scores) else (0.0, 1.0)
        found = np.array([self._usual[relation] for relation in wanted.tolist()]).reshape(-1, 2)
        return found[places].T

    def margins(self, triples: Triples, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how plausible triples are, comparable between relations: higher is more plausible, -infinity is a barred loop."""
        usual = np.empty((2, 0))
        if self.confidence is None:
            usual = self.usual(np.arange(self.model.graph_relations))
        found = margins(self.confidence, triples, scores, usual)
        return np.where(barred_triples(self.model, triples), -np.inf, found)

    def candidates(self, side: Side, triples: Triples) -> Candidates:
        """Return what the probability of triples depends on, each as an answer to a question about this side."""
        fixed = triples[:, 0 if side == "tail" else 2].astype(np.int64)
        _, first, place = np.unique(
            fixed * len(self.graph.relations) + triples[:, 1], return_index=True, return_inverse=True
        )
        ids, scores = rivals_of(self, side, fixed[first], triples[first, 1].astype(np.int64), (self.facts, self.denied))
        own = answer_scores(self.model, triples, side)
        return candidates_of(self, side, triples, own, (ids[place], scores[place]), self.facts)

    def probabilities(self, side: Side, triples: Triples) -> list[float | None]:
        """Return the probability of triples, each as an answer to a question about this side; a known fact as if it were new.

        It is None if there is no calibration, if the model was not trained on a part of the triple, and if the graph labels it false.
        """
        if self.confidence is None or not len(triples):
            return [None] * len(triples)
        found = self.confidence.answers.probability(self.candidates(side, triples))
        return [None if note else chance for chance, note in zip(found, self.note_on(triples), strict=True)]


def _extension(folder: RunFolder, graph: KnowledgeGraph, kind: str) -> tuple[int, ...]:
    """Return the entities of which a run folder says something: that they are loose, or told by their texts."""
    try:
        keys = folder.read_json(EXTENSION).get(kind, []) if folder.holds(EXTENSION) else []
    except InputError:
        keys = []
    known = [key for key in keys if isinstance(key, str) and key in graph.entities] if isinstance(keys, list) else []
    return tuple(graph.entities.id(key) for key in known)
