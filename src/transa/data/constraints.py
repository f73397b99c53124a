"""What must hold, or nearly always holds, between the facts of a graph: functional relations, implications and types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.data.graph import KnowledgeGraph
from transa.errors import InputError

#: The least share of heads with one tail that makes a relation functional, and the least number of heads.
ONE_ANSWER, HEADS = 0.95, 20
#: The least confidence of an implication, and the least number of facts that follow it.
CONFIDENCE, SUPPORT = 0.75, 10


@dataclass(frozen=True, order=True)
class Implication:
    """body(x, y) implies head(x, y), or head(y, x).

    Attributes
    ----------
    body, head
        Relation ids.
    inverse
        Whether the head has the entities in the other order.
    confidence
        The share of the body's facts of which it is true; 1 is a law.
    """

    body: int
    head: int
    inverse: bool = False
    confidence: float = 1.0


@dataclass(frozen=True)
class Constraints:
    """Functional relations, implications and types, by the ids of a graph.

    A confidence of 1 is a law. A lower one is a rule with exceptions, and breaking it costs its log-odds (`cost_of`).

    Attributes
    ----------
    functional, inverse_functional
        Relations with at most one tail for each head, and with at most one head for each tail: the relation and its confidence.
    implications
        Which fact follows from which.
    domains, ranges
        The types that heads and tails of a relation may have. One of them is enough.
    types
        The types of entities. An entity without any fits everywhere.
    """

    functional: Mapping[int, float] = field(default_factory=dict)
    inverse_functional: Mapping[int, float] = field(default_factory=dict)
    implications: tuple[Implication, ...] = ()
    domains: Mapping[int, frozenset[str]] = field(default_factory=dict)
    ranges: Mapping[int, frozenset[str]] = field(default_factory=dict)
    types: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def __or__(self, other: Constraints) -> Constraints:
        """Return both together; what `other` says of the same relation, implication or entity replaces what this one says."""
        rules = {(each.body, each.head, each.inverse): each for each in (*self.implications, *other.implications)}
        return Constraints(
            {**self.functional, **other.functional},
            {**self.inverse_functional, **other.inverse_functional},
            tuple(rules.values()),
            {**self.domains, **other.domains},
            {**self.ranges, **other.ranges},
            {**self.types, **other.types},
        )

    def fits(self, relation: int, entity: int, side: Literal["head", "tail"]) -> bool:
        """Tell whether an entity's types allow it on a side of a relation."""
        allowed = (self.domains if side == "head" else self.ranges).get(relation)
        given = self.types.get(entity)
        return allowed is None or given is None or not allowed.isdisjoint(given)


def cost_of(confidence: float) -> float:
    """Return what it costs to break a rule of such a confidence: its log-odds, infinity for a law, and never less than 0."""
    return math.inf if confidence >= 1 else max(0.0, math.log(confidence / (1 - confidence)))


def mine_constraints(
    graph: KnowledgeGraph,
    *,
    one_answer: float = ONE_ANSWER,
    heads: int = HEADS,
    confidence: float = CONFIDENCE,
    support: int = SUPPORT,
) -> Constraints:
    """Find functional relations and implications between two relations in train. None of them is a law.

    The types of heads and tails that the graph brings are laws, and are taken as they are.

    Parameters
    ----------
    graph
        The graph.
    one_answer, heads
        A relation is functional if more than this share of its heads has one tail and it has at least so many heads; inverse
        functional likewise.
    confidence, support
        An implication holds for at least this share of the body's facts, and at least so many.
    """
    for name, share in (("one_answer", one_answer), ("confidence", confidence)):
        if not 0 <= share <= 1:
            raise InputError(f"{name}: expected a share from 0 to 1, found {share}")
    facts = graph.training_facts
    return Constraints(
        _functional(facts.tails.queries % facts.num_relations, facts.tails.offsets, facts, one_answer, heads),
        _functional(facts.heads.queries // facts.num_entities, facts.heads.offsets, facts, one_answer, heads),
        mine_implications(facts, confidence=confidence, support=support),
        *_schema(graph),
    )


def _schema(graph: KnowledgeGraph) -> tuple[dict[int, frozenset[str]], ...]:
    """Return the types of heads, of tails and of entities that a graph gives; nothing if it says nothing of relations."""
    types = graph.types
    if types is None or not len(types.domains) + len(types.ranges):
        return {}, {}, {}
    found: list[dict[int, set[str]]] = [{}, {}, {}]
    for by_id, pairs in zip(found, (types.domains, types.ranges, types.entities), strict=True):
        for number, kind in pairs.tolist():
            by_id.setdefault(number, set()).add(types.names[kind])
    return tuple({number: frozenset(names) for number, names in by_id.items()} for by_id in found)


def mine_implications(facts: KnownFacts, *, confidence: float, support: int) -> tuple[Implication, ...]:
    """Find pairs of relations of which one implies the other, in the same or in the other direction."""
    from scipy import sparse

    size = facts.num_entities
    heads, relations = np.divmod(np.repeat(facts.tails.queries, np.diff(facts.tails.offsets)), facts.num_relations)
    tails = facts.tails.answers.astype(np.int64)
    pairs, columns = np.unique(
        np.concatenate([heads * size + tails, tails * size + heads]), return_inverse=True
    )  # a fact stands in a column by (head, tail), and in another by (tail, head)
    ones, shape = np.ones(len(tails), np.int32), (facts.num_relations, len(pairs))
    ahead = sparse.csr_array((ones, (relations, columns[: len(tails)])), shape=shape)
    back = sparse.csr_array((ones, (relations, columns[len(tails) :])), shape=shape)
    sizes = np.bincount(relations, minlength=facts.num_relations)
    found = []
    for inverse, other in ((False, ahead), (True, back)):
        shared = (ahead @ other.T).tocoo()
        bodies, others = shared.coords
        keep = (shared.data >= support) & (shared.data >= confidence * sizes[bodies]) & (inverse | (bodies != others))
        rows = zip(bodies[keep].tolist(), others[keep].tolist(), shared.data[keep].tolist(), strict=True)
        found += [Implication(body, head, inverse, _smoothed(count, sizes[body])) for body, head, count in rows]
    return tuple(sorted(found))


def _functional(
    relations: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], facts: KnownFacts, share: float, least: int
) -> dict[int, float]:
    questions = np.bincount(relations, minlength=facts.num_relations)
    single = np.bincount(relations, weights=np.diff(offsets) == 1, minlength=facts.num_relations)
    chosen = np.flatnonzero((single > share * questions) & (questions >= max(least, 1)))
    return {relation: _smoothed(single[relation], questions[relation]) for relation in chosen.tolist()}


def _smoothed(true: float, tried: float) -> float:
    """Return the share of true cases as if one more had been true and one more false: never 1."""
    return float((true + 1) / (tried + 2))
