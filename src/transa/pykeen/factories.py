"""Graphs as PyKEEN's factories of triples."""

from __future__ import annotations

from typing import Any

import numpy as np
from pykeen.triples import TriplesFactory

from transa.data.graph import SPLITS, KnowledgeGraph

#: What PyKEEN calls the splits.
NAMES = dict(zip(SPLITS, ("training", "validation", "testing"), strict=True))


def factories_of(graph: KnowledgeGraph, *, create_inverse_triples: bool = False) -> dict[str, Any]:
    """Return the splits of a graph that hold triples, as `pykeen.pipeline.pipeline` takes them, with the same ids.

    Triples labelled false are left out.

    Parameters
    ----------
    graph
        The graph.
    create_inverse_triples
        Whether PyKEEN trains on inverse triples as well.

    Examples
    --------
    >>> import transa
    >>> from transa.pykeen import factories_of
    >>> sorted(factories_of(transa.load("nations")))
    ['testing', 'training', 'validation']
    """
    ids = [{key: each for each, key in enumerate(vocabulary)} for vocabulary in (graph.entities, graph.relations)]
    return {
        name: TriplesFactory(graph.positives(split).astype(np.int64), *ids, create_inverse_triples and split == "train")
        for split, name in NAMES.items()
        if len(graph.positives(split))
    }
