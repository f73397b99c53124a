"""Datasets of PyKEEN, by its names; it downloads them. Their ids are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from transa.data.graph import KnowledgeGraph
from transa.data.vocabulary import as_name
from transa.errors import InputError, TransaError, quote, suggest
from transa.frames import needed


def read(address: str, query: str | None) -> KnowledgeGraph:
    """Return a dataset of PyKEEN.

    Parameters
    ----------
    address
        Its name there, such as ``"dbpedia50"``.
    query
        None: there is nothing to ask.
    """
    known = needed("pykeen.datasets", "pykeen:", "'transa[pykeen]'").dataset_resolver
    if query is not None:
        raise InputError("pykeen: has datasets by name and answers no query")
    name = known.normalize(address)
    if name not in known.lookup_dict and name not in known.synonyms:
        raise InputError(f"PyKEEN has no dataset {quote(address)}{suggest(address, known.lookup_dict)}")
    try:
        dataset = known.make(address)
        return graph_of(dataset.training, dataset.validation, dataset.testing)
    except (OSError, ImportError) as error:
        raise TransaError(f"PyKEEN could not load {quote(address)}: {error}") from None


def graph_of(training: Any, validation: Any = None, testing: Any = None) -> KnowledgeGraph:
    """Return the triples of PyKEEN's factories as a graph with the same ids.

    Parameters
    ----------
    training, validation, testing
        Each a `pykeen.triples.CoreTriplesFactory`; one without labels has numbers for names. Inverse triples are left out, since
        PyKEEN makes them from the others.
    """
    return KnowledgeGraph.from_ids(
        *(
            np.empty((0, 3), np.int64) if each is None else each.mapped_triples
            for each in (training, validation, testing)
        ),
        entities=_labels(training, "entity", training.num_entities),
        relations=_labels(training, "relation", training.real_num_relations),
    )


def _labels(factory: Any, kind: str, size: int) -> list[str] | int:
    labels = getattr(factory, f"{kind}_id_to_label", None)
    return size if labels is None else [as_name(labels[each]) for each in range(size)]
