"""A baseline without a model: entities are ranked by how often they stand on the asked side of the relation in train."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.evaluation.link_prediction import LinkPrediction
from transa.evaluation.queries import SIDES, Queries, Side

Ids = npt.NDArray[np.int64]


def by_popularity(train: KnownFacts, triples: Triples, known: KnownFacts) -> LinkPrediction:
    """Rank the head and the tail of each triple by popularity among all entities, as `link_prediction` does by a model.

    Parameters
    ----------
    train
        The training facts, which are counted.
    triples
        Rows of (head, relation, tail), at least one.
    known
        The facts that a filtered rank leaves out.
    """
    counts = np.zeros((5, len(triples), 2), dtype=np.int64)
    itself = known.contains(triples).astype(np.int64)
    asked = 0
    for column, side in enumerate(SIDES):
        relations, popularity = _of_relations(train, side)
        limit = int(popularity.max(initial=0)) + 1
        everywhere = np.sort(relations * limit + popularity)  # all entities that stand there at all, by relation
        queries = Queries.of(triples, known, side)
        owner, place = queries.query_of_target, queries.origins
        relation = queries.relations[owner]
        own = _popularity(train, side, relation, queries.targets)
        more, same = _above(everywhere, relation, own, limit)
        present = np.bincount(relations, minlength=train.num_relations)
        same = np.where(own == 0, train.num_entities - present[relation], same)
        listed, rows = _listed(queries)
        theirs = _popularity(train, side, queries.relations[rows], listed)
        known_more, known_same = _above(np.sort(rows * limit + theirs), owner, own, limit)
        counts[:, place, column] = (
            *(more, same - 1, known_more, known_same - itself[place]),
            (queries.stops - queries.starts)[owner] - itself[place],
        )
        asked += len(queries)
    better, equal, known_better, known_equal, others = counts
    return LinkPrediction(triples, train.num_entities, better, equal, known_better, known_equal, others, asked, 0.0)


def _of_relations(train: KnownFacts, side: Side) -> tuple[Ids, Ids]:
    """Return the relation and the popularity of each pair of relation and entity on the asked side."""
    if side == "tail":
        return train.heads.queries // train.num_entities, np.diff(train.heads.offsets)
    return train.tails.queries % train.num_relations, np.diff(train.tails.offsets)


def _popularity(train: KnownFacts, side: Side, relations: npt.NDArray[Any], entities: npt.NDArray[Any]) -> Ids:
    triples = np.stack([entities, relations, entities], axis=1).astype(np.int32)
    index, asked = (
        (train.heads, train.head_queries(triples)) if side == "tail" else (train.tails, train.tail_queries(triples))
    )
    rows = index.rows(asked)
    return np.where(rows >= 0, index.offsets[rows + 1] - index.offsets[rows], 0)


def _above(keys: Ids, groups: npt.NDArray[Any], values: Ids, limit: int) -> tuple[Ids, Ids]:
    """Return how many values of each group are larger, and how many the same; keys are group * limit + value, sorted."""
    wanted = groups.astype(np.int64) * limit + values
    left, right = (np.searchsorted(keys, wanted, way) for way in ("left", "right"))
    return np.searchsorted(keys, (groups.astype(np.int64) + 1) * limit, "left") - right, right - left


def _listed(queries: Queries) -> tuple[Ids, Ids]:
    """Return the known answers of all queries in a row, and the query of each."""
    sizes = queries.stops - queries.starts
    rows = np.repeat(np.arange(len(queries)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return queries.known[queries.starts[rows] + np.arange(len(rows)) - first].astype(np.int64), rows
