"""Statistics of a graph: its sizes, its relations, and how many test triples leak from train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.facts import distinct
from transa.data.graph import SPLITS, KnowledgeGraph, Split, Triples
from transa.data.relations import CATEGORIES, RelatedPair, RelationStatistics, leaked, related_pairs


@dataclass(frozen=True, eq=False)
class GraphStatistics:
    """The figures that ``transa stats`` shows.

    Attributes
    ----------
    entities
        All entities, including those that occur in no triple.
    entities_in_triples
        Entities that occur in at least one triple of any split.
    relations
        Relations.
    triples
        Rows of each split that are not labelled false.
    negatives
        Rows of each split that are labelled false.
    duplicates
        Repeated rows of each split.
    unseen
        For valid and test, the rows with an entity or relation that train does not have.
    per_relation
        Counts on train.
    related
        Duplicate, inverse and symmetric relations on train.
    leaked
        Test triples that train holds under a related relation.
    described
        Entities with a description.
    """

    graph: KnowledgeGraph
    entities: int
    entities_in_triples: int
    relations: int
    triples: dict[Split, int]
    negatives: dict[Split, int]
    duplicates: dict[Split, int]
    unseen: dict[Split, int]
    per_relation: RelationStatistics
    related: list[RelatedPair]
    leaked: int
    described: int

    @property
    def atpe(self) -> float:
        """Average triples per entity: the true triples of all splits, divided by the number of entities."""
        return sum(self.triples.values()) / max(self.entities, 1)

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> GraphStatistics:
        """Compute the statistics of a graph."""
        entities, relations = len(graph.entities), len(graph.relations)
        everything = np.concatenate([graph.triples(split) for split in SPLITS])
        related = related_pairs(graph.train, entities, relations)
        texts = graph.entities.descriptions
        return cls(
            graph=graph,
            entities=entities,
            entities_in_triples=len(np.unique(everything[:, [0, 2]])),
            relations=relations,
            triples={split: len(graph.positives(split)) for split in SPLITS},
            negatives={split: len(graph.triples(split)) - len(graph.positives(split)) for split in SPLITS},
            duplicates={split: _repeated(graph, split) for split in SPLITS},
            unseen={split: int(unseen_rows(graph, graph.triples(split)).sum()) for split in SPLITS[1:]},
            per_relation=RelationStatistics.of(graph.training_facts),
            related=related,
            leaked=leaked(graph.train, graph.positives("test"), related, entities),
            described=0 if texts is None else len(texts) - texts.null_count,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, with names instead of ids."""
        name = self.graph.relations.__getitem__
        categories = self.per_relation.categories
        test = max(self.triples["test"], 1)
        return {
            "entities": self.entities,
            "entities_in_triples": self.entities_in_triples,
            "relations": self.relations,
            "triples": self.triples,
            "negatives": self.negatives,
            "atpe": self.atpe,
            "duplicates": self.duplicates,
            "unseen": self.unseen,
            "leaked": {"test_triples": self.leaked, "share": self.leaked / test},
            "categories": {
                category: {
                    "relations": categories.count(category),
                    "triples": int(self.per_relation.triples[[c == category for c in categories]].sum()),
                }
                for category in CATEGORIES
            },
            "per_relation": {
                name(relation): {
                    "triples": int(self.per_relation.triples[relation]),
                    "tails_per_head": float(self.per_relation.tails_per_head[relation]),
                    "heads_per_tail": float(self.per_relation.heads_per_tail[relation]),
                    "category": categories[relation],
                }
                for relation in range(self.relations)
            },
            "related_relations": [
                {"kind": pair.kind, "relations": [name(pair.first), name(pair.second)], "shares": list(pair.shares)}
                for pair in self.related
            ],
            "described": self.described,
            "types": self._types(),
            "notes": list(self.graph.notes),
        }

    def _types(self) -> dict[str, Any] | None:
        """Return how many entities have types, and how many each type has, the largest first; None without types."""
        types = self.graph.types
        if types is None:
            return None
        order = np.argsort(-types.counts, kind="stable").tolist()
        return {
            "entities": len(np.unique(types.entities[:, 0])),
            "relations": len(np.unique(np.concatenate([types.domains, types.ranges])[:, 0])),
            "per_type": {types.names[each]: int(types.counts[each]) for each in order},
        }


def unseen_rows(graph: KnowledgeGraph, triples: Triples) -> npt.NDArray[np.bool_]:
    """Tell for each triple whether it has an entity or relation that does not occur in train."""
    entities = np.zeros(len(graph.entities), dtype=bool)
    entities[graph.train[:, [0, 2]]] = True
    relations = np.zeros(len(graph.relations), dtype=bool)
    relations[graph.train[:, 1]] = True
    heads, edges, tails = triples.T
    seen: npt.NDArray[np.bool_] = entities[heads] & relations[edges] & entities[tails]
    return ~seen


def _repeated(graph: KnowledgeGraph, split: Split) -> int:
    triples = graph.triples(split)
    return len(triples) - len(distinct(triples, len(graph.entities), len(graph.relations))) if len(triples) else 0
