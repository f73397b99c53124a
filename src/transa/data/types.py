"""Types: what kind of thing an entity is, and which kinds of things stand on the sides of a relation.

They come from the vocabularies of a graph and from its training triples of rdf:type, rdfs:domain and rdfs:range. Where there are none,
roles serve as types: the sides of relations on which an entity stands in train.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data.graph import KnowledgeGraph
from transa.data.vocabulary import Vocabulary

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DOMAIN = "http://www.w3.org/2000/01/rdf-schema#domain"
RANGE = "http://www.w3.org/2000/01/rdf-schema#range"
#: Under which keys the relations that give types are known.
KEYS = {TYPE: (TYPE, "rdf:type"), DOMAIN: (DOMAIN, "rdfs:domain"), RANGE: (RANGE, "rdfs:range")}

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Types:
    """Types by number, for all entities and relations of a graph.

    Attributes
    ----------
    names
        The name of each type, sorted.
    entities
        Rows of an entity and one of its types, in this order, each once.
    domains, ranges
        The same for relations: a type of their heads, a type of their tails.
    size
        The number of entities.
    """

    names: tuple[str, ...]
    entities: Pairs
    domains: Pairs
    ranges: Pairs
    size: int

    @classmethod
    def given(cls, graph: KnowledgeGraph) -> Types | None:
        """Return the types that a graph has, or None if it has none."""
        sources: dict[str, tuple[Vocabulary, pa.Array | None]] = {
            TYPE: (graph.entities, graph.entities.types),
            DOMAIN: (graph.relations, graph.relations.domains),
            RANGE: (graph.relations, graph.relations.ranges),
        }
        found = {kind: [*_listed(column), *_stated(graph, kind, whose)] for kind, (whose, column) in sources.items()}
        names = sorted({name for pairs in found.values() for _, name in pairs})
        if not names:
            return None
        numbers = {name: number for number, name in enumerate(names)}
        entities, domains, ranges = (_pairs((each, numbers[name]) for each, name in pairs) for pairs in found.values())
        return cls(tuple(names), entities, domains, ranges, len(graph.entities))

    @classmethod
    def roles(cls, graph: KnowledgeGraph) -> Types:
        """Return the sides of relations in train as types: heads of relation r have the type r, tails the type r + m."""
        heads, relations, tails = graph.train.astype(np.int64).T
        count = len(graph.relations)
        entities = np.concatenate([np.stack([heads, relations], axis=1), np.stack([tails, relations + count], axis=1)])
        every = np.arange(count)
        names = [f"{side} of {graph.relations.name(r)}" for side in ("head", "tail") for r in range(count)]
        domains, ranges = (np.stack([every, every + shift], axis=1) for shift in (0, count))
        return cls(tuple(names), _pairs(entities), domains, ranges, len(graph.entities))

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the rows of each entity begin in `entities`, and at the end how many rows there are."""
        return np.searchsorted(self.entities[:, 0], np.arange(self.size + 1)).astype(np.int64)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many entities each type has."""
        return np.bincount(self.entities[:, 1], minlength=len(self.names)).astype(np.int64)

    def of(self, entity: int) -> list[str]:
        """Return the names of an entity's types, those that few entities have first."""
        mine = self.entities[self.offsets[entity] : self.offsets[entity + 1], 1]
        return [self.names[each] for each in mine[np.argsort(self.counts[mine], kind="stable")]]

    def allowed(self, relation: int, side: Literal["head", "tail"]) -> npt.NDArray[np.int64]:
        """Return the types on a side of a relation; none if nothing is said about it."""
        pairs = self.domains if side == "head" else self.ranges
        found: npt.NDArray[np.int64] = pairs[pairs[:, 0] == relation, 1]
        return found

    def fitting(self, relation: int, side: Literal["head", "tail"]) -> npt.NDArray[np.bool_]:
        """Tell of each entity whether its types allow it on a side of a relation.

        One type of several is enough. An entity without a type fits everywhere, and every entity where nothing is said of the side.
        """
        allowed = self.allowed(relation, side)
        if not len(allowed):
            return np.ones(self.size, dtype=bool)
        fits: npt.NDArray[np.bool_] = np.diff(self.offsets) == 0
        fits[self.entities[np.isin(self.entities[:, 1], allowed), 0]] = True
        return fits


def relation_groups(graph: KnowledgeGraph) -> npt.NDArray[np.int64]:
    """Return a number for each relation: the same for relations whose heads have the same types, and whose tails have.

    A relation of which nothing is said is alone, and so is every relation of a graph without types.
    """
    types = graph.types
    kinds: dict[tuple[object, ...], int] = {}
    found = np.empty(len(graph.relations), np.int64)
    for relation in range(len(graph.relations)):
        sides = () if types is None else tuple(tuple(types.allowed(relation, side)) for side in ("head", "tail"))
        found[relation] = kinds.setdefault(sides if any(sides) else (relation, "alone"), len(kinds))
    return found


def _listed(column: pa.Array | None) -> list[tuple[int, str]]:
    """Return the rows of a column of lists with what they hold."""
    lists = [] if column is None else column.to_pylist()
    return [(row, name) for row, names in enumerate(lists) for name in names]


def _stated(graph: KnowledgeGraph, kind: str, whose: Vocabulary) -> list[tuple[int, str]]:
    """Return what training triples such as rdf:type say of the entities, or of the relations, in a vocabulary."""
    edges = [graph.relations.id(key) for key in KEYS[kind] if key in graph.relations]
    rows = graph.train[np.isin(graph.train[:, 1], edges)] if edges else graph.train[:0]
    pairs = [(graph.entities[head], graph.entities[tail]) for head, _, tail in rows.tolist()]
    return [(whose.id(subject), name) for subject, name in pairs if subject in whose]


def _pairs(rows: Iterable[tuple[int, int]] | Pairs) -> Pairs:
    """Return distinct rows in order."""
    array = rows if isinstance(rows, np.ndarray) else np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    return np.unique(array, axis=0)
