"""Reasons that people understand: entities alike that have the same fact, facts they share, and short paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.errors import InputError
from transa.evaluation.queries import Side
from transa.inference.neighbours import distances, view_of
from transa.inference.paths import Step
from transa.inference.trained import Trained
from transa.readable import called

#: How many shared facts are listed for each entity.
SHARED = 3
#: Of so many questions at least, so large a share must have one answer for a second one to be doubted.
FEW, NEARLY_ALL = 5, 0.9


@dataclass(frozen=True)
class Fact:
    """A training triple, by key and by name."""

    head: str
    relation: str
    tail: str
    head_name: str
    relation_name: str
    tail_name: str

    def __str__(self) -> str:
        return f"{self.head_name} —{self.relation_name}→ {self.tail_name}"


@dataclass(frozen=True)
class Path:
    """Training triples that lead from one entity to another, in any direction.

    Attributes
    ----------
    facts
        The triples, in the order of the path.
    forward
        Of each, whether the path follows its direction.
    """

    facts: tuple[Fact, ...]
    forward: tuple[bool, ...]

    def text(self, *, full: bool = False) -> str:
        """Return the path in one line, such as ``a —r→ b ←s— c``; `full` shows IRIs in full."""
        texts: list[str] = []
        for fact, forward in zip(self.facts, self.forward, strict=True):
            ends = [(fact.head, fact.head_name), (fact.tail, fact.tail_name)]
            here, there = (
                called(key, name, full=full) if full else name for key, name in ends[:: 1 if forward else -1]
            )
            relation = called(fact.relation, fact.relation_name, full=True) if full else fact.relation_name
            texts += [here] if not texts else []
            texts += [f"—{relation}→" if forward else f"←{relation}—", there]
        return " ".join(texts)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Similar:
    """An entity that has the same fact in train.

    Attributes
    ----------
    key, name
        Which.
    distance
        How far it is, as the relation sees entities; by their vectors if the relation has no distance.
    nearness
        Its place among the neighbours (1: the nearest).
    shared
        How many other facts of train both have.
    facts
        Some of them, as facts of the explained entity; those that few entities have come first.
    """

    key: str
    name: str
    distance: float
    nearness: int
    shared: int = 0
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Against:
    """Another known answer to a question that hardly ever has two: a reason against a triple.

    Attributes
    ----------
    side
        Which side of the relation the answer stands on.
    key, name
        The answer.
    single, questions
        How many questions of the relation about this side have one answer in train, of how many.
    """

    side: Side
    key: str
    name: str
    single: int
    questions: int


def against(trained: Trained, triple: Any) -> tuple[Against, ...]:
    """Return what speaks against a triple of shape (1, 3): its question has a known answer already, and hardly ever has two."""
    head, relation, tail = triple[0].tolist()
    names, found = trained.graph.entities, []
    known: dict[Side, Any] = {
        "tail": trained.facts.tails_of(head, relation),
        "head": trained.facts.heads_of(relation, tail),
    }
    for side, others in known.items():
        single, questions = trained.answer_counts.single(side, relation)
        if len(others) and (tail if side == "tail" else head) not in others and FEW <= questions <= single / NEARLY_ALL:
            other = int(others[0])
            found.append(Against(side, names[other], names.name(other), single, questions))
    return tuple(found)


def similar(trained: Trained, entity: int, edge: int, other: int, top: int) -> tuple[Similar, ...]:
    """Return the entities nearest to one that have an edge of the training graph to another.

    Parameters
    ----------
    trained
        The model and its graph.
    entity
        Near which entities we look.
    edge, other
        The relation r if they are heads of `other`, or r + relations if they are tails.
    top
        How many.
    """
    adjacency = trained.adjacency
    relations = adjacency.relations
    here = adjacency.at(other)
    having = adjacency.others[here][adjacency.edges[here] == (edge + relations) % (2 * relations)]
    having = having[having != entity]
    if not len(having):
        return ()
    away = _away(trained, entity, edge % relations)
    order = having[np.argsort(away[having], kind="stable")][:top].tolist()
    names = trained.graph.entities
    found = []
    for each in order:
        nearer = int(np.count_nonzero(away < away[each])) - int(away[entity] < away[each])
        steps = adjacency.shared(entity, each, (edge, other))
        facts = tuple(fact_of(trained, step)[0] for step in steps[:SHARED])
        found.append(Similar(names[each], names.name(each), float(away[each]), nearer + 1, len(steps), facts))
    return tuple(found)


def _away(trained: Trained, entity: int, relation: int) -> npt.NDArray[np.float64]:
    try:
        return view_of(trained, entity, relation)
    except InputError:  # the relation has no distance
        return distances(trained, entity)


def paths(trained: Trained, triple: Any, top: int) -> tuple[Path, ...]:
    """Return short paths in the training graph from the head to the tail of a triple of shape (1, 3), without the triple itself."""
    head, relation, tail = triple[0].tolist()
    found = []
    for steps in trained.adjacency.paths(head, relation, tail, top):
        facts, forward = zip(*(fact_of(trained, step) for step in steps), strict=True)
        found.append(Path(facts, forward))
    return tuple(found)


def fact_of(trained: Trained, step: Step) -> tuple[Fact, bool]:
    """Return the fact of a step, and whether the step follows its direction."""
    here, edge, there = step
    forward = edge < trained.adjacency.relations
    head, tail = (here, there) if forward else (there, here)
    entities, relations = trained.graph.entities, trained.graph.relations
    relation = edge % trained.adjacency.relations
    names = entities.name(head), relations.name(relation), entities.name(tail)
    return Fact(entities[head], relations[relation], entities[tail], *names), forward
