"""The score of a model that rules speak beside: both, weighed for each relation and side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transa.models.base import Model


def scores_with_rules(model: Model, triples: Tensor) -> Tensor:
    """Return the score of each row of (head, relation, tail) ids: the mean of what it is as an answer for the tail and for the head."""
    evidence = model.evidence
    assert evidence is not None  # noqa: S101
    if not model.has_vectors:
        return model.score_rows(triples)
    said = evidence.of(triples.cpu().numpy())
    relations = triples[:, 1].cpu().numpy()
    tails = model.score_rows(triples).double()
    heads = model.score_rows(model.inverted(triples)).double() if model.directional else tails
    found = []
    for own, steps in ((tails, relations), (heads, relations + evidence.num_relations)):
        scale, weight = evidence.weights_of(steps).T
        found.append(torch.from_numpy(scale) * own.cpu() - torch.from_numpy(weight * said))
    return (found[0] + found[1]) / 2
