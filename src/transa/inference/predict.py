"""Missing heads and tails, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.models import Model


@dataclass(frozen=True)
class Prediction:
    """An answer to (head, relation, ?) or (?, relation, tail).

    Attributes
    ----------
    key, name
        The entity that answers.
    score
        Its dissimilarity: lower is more plausible.
    known
        Whether the graph holds the fact, in any split.
    """

    key: str
    name: str
    score: float
    known: bool


def predict(
    model: Model,
    graph: KnowledgeGraph,
    *,
    relation: str,
    head: str | None = None,
    tail: str | None = None,
    top: int = 10,
) -> list[Prediction]:
    """Return the `top` entities that answer (head, relation, ?) or (?, relation, tail), the most plausible first.

    Parameters
    ----------
    model, graph
        A trained model, and the graph that names its entities and relations.
    relation, head, tail
        Keys; head or tail, not both.
    top
        How many answers.
    """
    if (head is None) == (tail is None):
        raise InputError("predict: expected a head or a tail, and not both")
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    edge = graph.relations.id(relation)
    given = graph.entities.id(head if head is not None else tail)  # type: ignore[arg-type]
    facts = graph.known()
    asked = np.array([[given, edge, 0] if head is not None else [0, edge, given]], dtype=np.int32)
    queries = Queries.of(asked, facts, "tail" if head is not None else "head")
    answers, scores = Ranker(model).best(queries, min(top, model.num_entities))
    known = set((facts.tails_of(given, edge) if head is not None else facts.heads_of(edge, given)).tolist())
    names = graph.entities
    return [
        Prediction(names[entity], names.name(entity), score, entity in known)
        for entity, score in zip(answers[0].tolist(), scores[0].tolist(), strict=True)
    ]
