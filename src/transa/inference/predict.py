"""Missing heads and tails, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.models import Model, Rows


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
    device = model.entity.vector.device
    one = Rows(
        {name: table.unsqueeze(0) for name, table in model.gather("entity", torch.tensor(given, device=device)).items()}
    )
    parameters = model.gather("relation", torch.tensor(edge, device=device))
    with torch.no_grad():
        pair = (one, model.entity) if head is not None else (model.entity, one)
        scores = model.score(pair[0], parameters, pair[1]).double().cpu().numpy()
    facts = graph.known()
    known = set((facts.tails_of(given, edge) if head is not None else facts.heads_of(edge, given)).tolist())
    order = np.argsort(scores, kind="stable")[:top].tolist()
    names = graph.entities
    return [Prediction(names[entity], names.name(entity), float(scores[entity]), entity in known) for entity in order]
