"""The same facts under the ids of another vocabulary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from transa.data.graph import SPLITS, KnowledgeGraph, Triples
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote
from transa.readable import counted

#: How many names a message lists.
LISTED = 5


def aligned(graph: KnowledgeGraph, entities: Vocabulary, relations: Vocabulary) -> KnowledgeGraph:
    """Return a graph with its facts under the ids that others gave to the same keys.

    Parameters
    ----------
    graph
        Any graph.
    entities, relations
        The vocabularies of the result. They may hold more than the graph has.

    Raises
    ------
    InputError
        If triples of the graph have entities or relations that the vocabularies lack; the message names some of them.
    """
    if graph.entities.keys.equals(entities.keys) and graph.relations.keys.equals(relations.keys):
        return graph
    to_entity, to_relation = _places(graph.entities, entities), _places(graph.relations, relations)
    every = np.concatenate([graph.triples(split) for split in SPLITS])
    lacking = [
        _lacking(("entity", "entities"), graph.entities, every[:, [0, 2]], to_entity),
        _lacking(("relation", "relations"), graph.relations, every[:, 1], to_relation),
    ]
    if any(lacking):
        raise InputError(f"the graph has {' and '.join(filter(None, lacking))} that the model does not know")

    def moved(triples: Triples) -> Triples:
        heads, edges, tails = triples.T
        return np.stack([to_entity[heads], to_relation[edges], to_entity[tails]], axis=1)

    train, valid, test = (moved(graph.triples(split)) for split in SPLITS)
    return replace(graph, entities=entities, relations=relations, train=train, valid=valid, test=test)


def _places(given: Vocabulary, wanted: Vocabulary) -> npt.NDArray[np.int32]:
    """Return the id of each given key in the wanted vocabulary, -1 where it is not there."""
    return np.array([wanted.id(key) if key in wanted else -1 for key in given], dtype=np.int32)


def _lacking(kind: tuple[str, str], vocabulary: Vocabulary, used: Triples, places: npt.NDArray[np.int32]) -> str:
    """Return how many of the ids in use have no place, and the names of some; nothing if all have one."""
    ids = np.unique(used)
    ids = ids[places[ids] < 0]
    if not len(ids):
        return ""
    names = ", ".join(quote(vocabulary[each]) for each in ids[:LISTED].tolist())
    return f"{counted(len(ids), *kind)} ({names}{', …' if len(ids) > LISTED else ''})"
