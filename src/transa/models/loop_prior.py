"""The loop prior: an entity is no answer to itself in a relation that has hardly any loops.

A loop is a triple from an entity to itself. Under h + r - t the entity nearest to h + r is often h, so that the first answer to
(h, r, ?) is h itself. The prior is learned from the training triples alone: where the share of loops is below a limit (`loop_limit` of
the recipe), loops are barred. All entities stay candidates. The barred one comes last, whatever its score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data.graph import Triples
from transa.data.relations import count_loops
from transa.models.base import Model


def loop_free_relations(train: Triples, num_relations: int, limit: float) -> Tensor:
    """Tell of each relation whether the share of loops among its training triples is below `limit`; False if it has no triples."""
    loops, triples = count_loops(train, num_relations)
    return torch.from_numpy((triples > 0) & (loops < limit * triples))


def is_loop_free(model: Model, relations: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell of each relation id whether the model's prior bars loops.

    A model may count further relations beyond those of the graph, such as one for each direction: r + m stands for r, if the graph has
    m relations.
    """
    if model.loop_free is None:
        return np.zeros(np.shape(relations), bool)
    found: npt.NDArray[np.bool_] = model.loop_free.cpu().numpy()[relations % len(model.loop_free)]
    return found


def barred_answers(
    model: Model, fixed: npt.NDArray[np.int64], relations: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the entity that is no answer to each question (the given one), or -1 where every entity may be one."""
    return np.where(is_loop_free(model, relations), fixed, -1)


def barred_triples(model: Model, triples: Triples) -> npt.NDArray[np.bool_]:
    """Tell which triples are loops that the prior bars."""
    found: npt.NDArray[np.bool_] = (triples[:, 0] == triples[:, 2]) & is_loop_free(model, triples[:, 1])
    return found
