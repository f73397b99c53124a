"""The best answers among some entities: exact, and without a full sort."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.evaluation.queries import Queries, Side
from transa.evaluation.ranking import Ranker
from transa.models import Model, Rows

#: Ids that are left out at a time: questions go in parts of so many.
BUDGET = 1 << 23


def best(
    ranker: Ranker,
    side: Side,
    fixed: npt.NDArray[Any],
    relations: npt.NDArray[Any],
    number: int,
    left_out: Sequence[npt.NDArray[Any]] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the `number` entities of the lowest scores for each question, and these scores.

    Parameters
    ----------
    ranker
        Of the model.
    side
        What is asked for.
    fixed, relations
        The given entity and relation of each question.
    number
        How many answers; where there are not as many, ids are -1 and scores infinite.
    left_out
        For each question the entities that are no answers, sorted and distinct.
    """
    answers = np.full((len(fixed), number), -1, np.int64)
    scores = np.full((len(fixed), number), np.inf)
    order = np.argsort(relations, kind="stable")
    sizes = np.zeros(len(fixed), np.int64) if left_out is None else np.array([len(ids) for ids in left_out], np.int64)
    begin = 0
    while begin < len(order):
        end = begin + max(1, int(np.searchsorted(np.cumsum(sizes[order[begin:]]), BUDGET, side="right")))
        rows = order[begin:end]
        stops = np.cumsum(sizes[rows])
        known = np.concatenate([left_out[row] for row in rows] if left_out is not None else [np.empty(0, np.int32)])
        each = np.arange(len(rows))
        queries = Queries(
            side,
            np.asarray(fixed)[rows].astype(np.int64),
            np.asarray(relations)[rows].astype(np.int64),
            np.arange(len(rows) + 1),
            np.zeros(len(rows), np.int64),
            each,
            stops - sizes[rows],
            stops,
            known.astype(np.int32) if len(known) else np.zeros(1, np.int32),
        )
        found = min(number, ranker.model.num_entities)
        answers[rows, :found], scores[rows, :found] = ranker.best(queries, found, leave_out_known=left_out is not None)
        begin = end
    return answers, scores


def restricted(model: Model, entities: npt.NDArray[Any], relation: int) -> Model:
    """Return the model with only some of its entities, whose new ids are their positions, and one relation, whose id is 0."""
    import torch

    some = copy(model)
    for role, chosen in (("entity", np.asarray(entities, dtype=np.int64)), ("relation", np.array([relation]))):
        ids = torch.from_numpy(chosen)
        rows = Rows({name: table[ids.to(table.device)] for name, table in getattr(model, role).items()})
        setattr(some, role, rows)
    some.num_entities, some.num_relations = len(entities), 1
    return some
