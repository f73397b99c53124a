"""The score of a model beside which rules or a type penalty count, weighed for each relation and side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transa.choices import Side
    from transa.models.base import Model


def scores_in_company(model: Model, triples: Tensor) -> Tensor:
    """Return the score of each row of (head, relation, tail) ids: the mean of its scores as an answer for the tail and for the head."""
    return (scores_as_answers(model, triples, "tail") + scores_as_answers(model, triples, "head")) / 2


def scores_as_answers(model: Model, triples: Tensor, side: Side) -> Tensor:
    """Return the score of each row of ids as an answer to the question about one side."""
    evidence, rows = model.evidence, triples.cpu().numpy()
    if not model.has_vectors:
        assert evidence is not None  # noqa: S101
        return -torch.from_numpy(evidence.of(rows, side))
    asked_head = side == "head"
    own = model.score_rows(model.inverted(triples) if model.directional and asked_head else triples).double().cpu()
    if model.penalty is not None:
        own = own + torch.from_numpy(model.penalty.of_triples(rows, side))
    if evidence is None:
        return own
    steps = rows[:, 1] + (evidence.num_relations if asked_head else 0)
    scale, weight = map(torch.from_numpy, evidence.weights_of(steps).T)
    return scale * own - weight * torch.from_numpy(evidence.of(rows, side))
