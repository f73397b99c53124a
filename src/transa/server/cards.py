"""What there is to know of one entity or one relation: names, facts, figures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.data.relations import RelationStatistics
from transa.evaluation.queries import SIDES
from transa.inference import Trained
from transa.inference.explain import About
from transa.inference.reasons import Fact
from transa.server.lookup import Lookup

#: How many examples of a relation are shown.
EXAMPLES = 20


def item(lookup: Lookup, position: int) -> dict[str, Any]:
    """Return a line of a search: id, key, name, and in how many triples it stands."""
    vocabulary = lookup.vocabulary
    return {
        "id": position,
        "key": vocabulary[position],
        "name": vocabulary.name(position),
        "triples": int(lookup.degrees[position]),
    }


def found(lookup: Lookup, text: str, offset: int, limit: int) -> dict[str, Any]:
    """Return one page of a search."""
    ids = lookup.find(text)
    return {"total": len(ids), "items": [item(lookup, each) for each in ids[offset : offset + limit].tolist()]}


def entity_card(trained: Trained, lookup: Lookup, entity: int, offset: int, limit: int) -> dict[str, Any]:
    """Return everything about an entity; of its facts one page in each direction."""
    out, back = facts_from(trained.facts, entity), facts_to(trained.facts, entity)
    return {
        **item(lookup, entity),
        **asdict(About.of(trained.graph, entity)),
        "out": {"total": len(out), "facts": _named(trained, out[offset : offset + limit])},
        "in": {"total": len(back), "facts": _named(trained, back[offset : offset + limit])},
    }


def relation_card(trained: Trained, lookup: Lookup, relation: int) -> dict[str, Any]:
    """Return everything about a relation but its metric."""
    statistics = RelationStatistics.of(trained.graph.training_facts)
    train = trained.graph.train
    rows = train[train[:, 1] == relation]
    some = rows[np.random.default_rng(0).permutation(len(rows))[:EXAMPLES]]
    confidence, types, texts = trained.confidence, trained.graph.types, trained.graph.relations.descriptions
    domain, range_ = (
        [] if types is None else [types.names[each] for each in types.allowed(relation, side)] for side in SIDES
    )
    return {
        **item(lookup, relation),
        "description": None if texts is None else texts[relation].as_py(),
        "category": statistics.categories[relation],
        "tails_per_head": float(statistics.tails_per_head[relation]),
        "heads_per_tail": float(statistics.heads_per_tail[relation]),
        "loops": trained.loop_share(relation),
        "threshold": None if confidence is None else float(confidence.threshold(np.array([relation]))[0]),
        "domain": domain,
        "range": range_,
        "examples": _named(trained, some),
    }


def facts_from(facts: KnownFacts, head: int) -> Triples:
    """Return the known facts of a head, by relation."""
    index, size = facts.tails, facts.num_relations
    first, last = np.searchsorted(index.queries, [head * size, (head + 1) * size]).tolist()
    tails = index.answers[index.offsets[first] : index.offsets[last]]
    relations = np.repeat(index.queries[first:last] % size, np.diff(index.offsets[first : last + 1]))
    return np.stack([np.full(len(tails), head), relations, tails], axis=1).astype(np.int32)


def facts_to(facts: KnownFacts, tail: int) -> Triples:
    """Return the known facts of a tail, by relation."""
    index = facts.heads
    rows = index.rows(np.arange(facts.num_relations, dtype=np.int64) * facts.num_entities + tail)
    relations = np.flatnonzero(rows >= 0)
    heads = [index.answers[index.offsets[row] : index.offsets[row + 1]] for row in rows[relations].tolist()]
    found = [
        np.column_stack(np.broadcast_arrays(some, each, tail)) for some, each in zip(heads, relations, strict=True)
    ]
    return np.concatenate([np.empty((0, 3)), *found]).astype(np.int32)


def _named(trained: Trained, triples: Triples) -> list[dict[str, Any]]:
    entities, relations = trained.graph.entities, trained.graph.relations
    return [
        asdict(
            Fact(entities[h], relations[r], entities[t], entities.name(h), relations.name(r), entities.name(t)),
        )
        for h, r, t in triples.tolist()
    ]
