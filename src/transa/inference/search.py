"""The best answers to many questions: exact, and without sorting all entities."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from transa.evaluation.queries import Queries, Side
from transa.evaluation.ranking import Ranker
from transa.models import Model, Rows

if TYPE_CHECKING:
    from transa.inference.trained import Trained

#: How many ids one part of the questions may leave out.
BUDGET = 1 << 23
#: Up to so many scores are few.
FEW = 1 << 18


def best(
    ranker: Ranker,
    side: Side,
    fixed: npt.NDArray[Any],
    relations: npt.NDArray[Any],
    number: int,
    left_out: Sequence[npt.NDArray[Any]] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the `number` entities with the lowest scores for each question, and these scores.

    Parameters
    ----------
    ranker
        The ranker of the model.
    side
        The side that is asked for.
    fixed, relations
        The given entity and relation of each question.
    number
        How many answers. If there are fewer, the remaining ids are -1 and their scores infinite.
    left_out
        The entities that each question does not accept as answers, sorted and distinct.
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


def outside_of(trained: Trained, side: Side, relation: int) -> npt.NDArray[np.int32]:
    """Return the entities that do not stand on that side of a relation in train, sorted."""
    every = np.arange(trained.model.num_entities, dtype=np.int32)
    return np.setdiff1d(every, trained.range_of(relation, side), assume_unique=True)


def best_in_range(
    trained: Trained,
    side: Side,
    fixed: npt.NDArray[Any],
    relation: int,
    number: int,
    left_out: Sequence[npt.NDArray[Any]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return what `best` returns for questions of one relation, only with entities that stand on that side of it in train.

    No other entity is scored, so this is fast where the relation has few. A few questions are put to all entities, which takes less
    time than to make another ranker; a model that ranks in two stages, by rules or types knows entities only by their ids among all.
    """
    few = len(fixed) * trained.model.num_entities <= FEW
    if few or trained.model.reranked or trained.model.has_company:
        outside = outside_of(trained, side, relation)
        every = [np.union1d(outside, ids) for ids in left_out]
        return best(trained.ranker, side, fixed, np.full(len(fixed), relation), number, every)
    inside = trained.range_of(relation, side)
    entities = np.union1d(inside, fixed)
    others = np.flatnonzero(~np.isin(entities, inside))
    narrow = []
    for ids in left_out:
        places = np.searchsorted(entities, ids[np.isin(ids, entities)])
        narrow.append(np.unique(np.concatenate([others, places]).astype(np.int32)))
    ranker = Ranker(restricted(trained.model, entities, relation))
    places = np.searchsorted(entities, fixed)
    answers, scores = best(ranker, side, places, np.zeros(len(places), np.int64), number, narrow)
    return np.where(answers >= 0, entities[answers], -1), scores


def restricted(model: Model, entities: npt.NDArray[Any], relation: int) -> Model:
    """Return the model with only some of its entities and one relation; their new ids are their positions, and 0.

    The relation keeps its inverse if the model is directional.
    """
    import torch

    some = copy(model)
    edges = [relation, relation + model.graph_relations] if model.directional else [relation]
    for role, chosen in (("entity", np.asarray(entities, dtype=np.int64)), ("relation", np.array(edges))):
        ids = torch.from_numpy(chosen)
        rows = Rows({name: table[ids.to(table.device)] for name, table in getattr(model, role).items()})
        setattr(some, role, rows)
    some.num_entities, some.num_relations = len(entities), len(edges)
    some.loop_free = None if model.loop_free is None else model.loop_free[relation : relation + 1]
    return some
