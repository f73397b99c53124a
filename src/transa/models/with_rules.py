"""The score of a model that rules speak beside: both, weighed for each relation and side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transa.choices import Side
    from transa.models.base import Model


def scores_with_rules(model: Model, triples: Tensor) -> Tensor:
    """Return the score of each row of (head, relation, tail) ids: the mean of its scores as an answer for the tail and for the head."""
    return (scores_as_answers(model, triples, "tail") + scores_as_answers(model, triples, "head")) / 2


def scores_as_answers(model: Model, triples: Tensor, side: Side) -> Tensor:
    """Return the score of each row of ids as an answer to the question about one side."""
    evidence = model.evidence
    assert evidence is not None  # noqa: S101
    said = torch.from_numpy(evidence.of(triples.cpu().numpy(), side))
    if not model.has_vectors:
        return -said
    asked_head = side == "head"
    own = model.score_rows(model.inverted(triples) if model.directional and asked_head else triples).double().cpu()
    steps = triples[:, 1].cpu().numpy() + (evidence.num_relations if asked_head else 0)
    scale, weight = map(torch.from_numpy, evidence.weights_of(steps).T)
    return scale * own - weight * said
