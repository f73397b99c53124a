"""Ranks and best answers among entities of which each worker holds a part: the same as one process finds them, tie for tie.

Each lane is ranked by itself, as a small model: its own entities, and behind them those that the questions name, fetched from whoever
holds them. What these count for is known from a small model of them alone, and taken off. Counts then add up over the lanes, and best
answers are merged by score and id.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.evaluation.ranking import Ranker, as_asked
from transa.kernels.arguments import Array
from transa.models import Model, Rows
from transa.training.recipe import Recipe
from transa.training.sharded.model import Held

#: Questions whose best answers are looked for at once.
QUESTIONS = 256


class ShardedRanker(Ranker):
    """Ranks by the rows of all workers; each calls it alike, and gets the same.

    Parameters
    ----------
    held
        Holds the rows; its model has no tables, but may have a loop prior.
    loop_prior
        Whether to use that prior.
    """

    def __init__(self, held: Held, loop_prior: bool = True) -> None:
        self.held = held
        self.model = held.model
        self.has_prior = loop_prior and held.model.loop_free is not None

    def count(self, queries: Queries, callback: Callback | None = None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same."""
        asked = as_asked(self.model, queries)
        named = np.unique(np.concatenate([asked.fixed, asked.targets]))
        small = _Small(self.held, asked, named)
        barred = np.where(self._barred(queries) >= 0, small.queries.fixed, -1)
        alone = small.ranker(None)._ranker.count(small.without_known, barred, None)
        totals, rescored = np.zeros((len(self.held.workers.lanes), 4, len(asked.targets)), np.int64), 0
        nobody = np.full(len(asked), -1, np.int64)
        for at, lane in enumerate(self.held.workers.lanes):
            questions = small.in_lane(lane, behind=False)
            found = small.ranker(lane)._ranker.count(questions, nobody, None)
            totals[at] = found.counts[:4]
            totals[at, :2] -= alone.counts[:2]
            rescored += found.rescored
        added = self.held.workers.gather(totals).sum(axis=0)
        added[1] -= 1  # the target itself, in its own lane
        added[3] -= _known_targets(asked)
        if callback is not None:
            callback(len(asked.targets))
        rescored = int(self.held.workers.gather(np.array([rescored])).sum())
        return RankCounts(np.concatenate([added, alone.counts[4:]]), rescored)

    def best(self, queries: Queries, number: int, *, leave_out_known: bool = False) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores, without what the loop prior bars."""
        asked, barred = as_asked(self.model, queries), self._barred(queries)
        parts = [
            self._best(
                _some(asked, first, first + QUESTIONS), barred[first : first + QUESTIONS], number, leave_out_known
            )
            for first in range(0, len(asked), QUESTIONS)
        ]
        if not parts:
            return np.empty((0, number), np.int64), np.empty((0, number))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _best(self, asked: Queries, barred: npt.NDArray[np.int64], number: int, leave_out_known: bool) -> BestAnswers:
        if not leave_out_known:
            asked = replace(asked, stops=asked.starts)
        small = _Small(self.held, _with_one_more(asked, barred), np.unique(asked.fixed))
        answers, scores = [], []
        for lane in self.held.workers.lanes:
            questions = small.in_lane(lane, behind=True)
            nobody = np.full(len(asked), -1, np.int64)
            found, of_found = small.ranker(lane)._ranker.best(questions, nobody, number, True)
            members = self.held.entities.numbering.members(lane)
            answers.append(np.where(found >= 0, members[np.minimum(found, len(members) - 1)], -1))
            scores.append(of_found)
        every_answer = self.held.workers.gather(np.stack(answers).astype(np.int64)).transpose(1, 0, 2)
        every_score = self.held.workers.gather(np.stack(scores)).transpose(1, 0, 2)
        every_answer, every_score = every_answer.reshape(len(asked), -1), every_score.reshape(len(asked), -1)
        order = np.lexsort((every_answer, every_score), axis=1)[:, :number]
        return np.take_along_axis(every_answer, order, 1), np.take_along_axis(every_score, order, 1)


class _Small:
    """The models of single lanes for some questions, and the questions as these models number entities and relations.

    Parameters
    ----------
    held
        Holds the rows.
    queries
        The questions.
    named
        The entities they name, sorted.
    """

    def __init__(self, held: Held, queries: Queries, named: npt.NDArray[np.int64]) -> None:
        self.held = held
        self.asked = queries
        self.named = named
        rows = held.entities.numbering.rows[named]
        order = np.argsort(rows)
        self.vectors = np.empty((len(named), held.model.dim), held.entities.kind)
        self.vectors[order] = held.entities.pull(rows[order], ("vector",))
        self.relations = np.unique(queries.relations)
        rows = held.relations.numbering.rows[self.relations]
        order = np.argsort(rows)
        pulled = held.relations.pull(rows[order], tuple(held.relations.columns))
        self.pulled = np.empty_like(pulled)
        self.pulled[order] = pulled
        self.queries = replace(
            queries,
            fixed=np.searchsorted(named, queries.fixed),
            relations=np.searchsorted(self.relations, queries.relations),
            targets=np.searchsorted(named, queries.targets),
        )

    @cached_property
    def without_known(self) -> Queries:
        """The questions to the model of the named entities alone, in which nothing is known."""
        return replace(self.queries, stops=self.queries.starts)

    def ranker(self, lane: int | None) -> Ranker:
        """Return the ranker of a lane with the named entities behind its own, or of these alone."""
        own = [] if lane is None else [self.held.entities.of_lane(lane, "vector")]
        vectors = np.concatenate([*own, self.vectors])
        return Ranker(_model(self.held.recipe, self.held.model, vectors, self.pulled))

    def in_lane(self, lane: int, *, behind: bool) -> Queries:
        """Return the questions as the model of a lane numbers entities; its own known answers, and all named ones if `behind`."""
        numbering, asked = self.held.entities.numbering, self.asked
        members = numbering.members(lane)
        lengths = asked.stops - asked.starts
        owner = np.repeat(np.arange(len(asked)), lengths)
        at = (
            np.arange(lengths.sum())
            - np.repeat(np.cumsum(lengths) - lengths, lengths)
            + np.repeat(asked.starts, lengths)
        )
        places = numbering.rows[asked.known[at]] - lane * numbering.block
        inside = (places >= 0) & (places < numbering.block)
        owner, known = owner[inside], places[inside]
        if behind:
            every = np.arange(len(members), len(members) + len(self.named))
            owner = np.concatenate([owner, np.repeat(np.arange(len(asked)), len(every))])
            known = np.concatenate([known, np.tile(every, len(asked))])
        order = np.lexsort((known, owner))
        stops = np.cumsum(np.bincount(owner, minlength=len(asked)))
        return replace(
            self.queries,
            fixed=self.queries.fixed + len(members),
            targets=self.queries.targets + len(members),
            starts=np.append(0, stops[:-1]),
            stops=stops,
            known=known[order].astype(np.int32),
        )


def _model(recipe: Recipe, whole: Model, vectors: Array, relations: Array) -> Model:
    """Return a small model of some entities and relations; to it, relations have one direction."""
    options = recipe.model_copy(update={"directional": False})
    model = options.build_model(len(vectors), len(relations))
    model.entity = Rows(vector=torch.from_numpy(vectors))
    column, tables = 0, {}
    for name, shape in whole.relation_tables().items():
        width = int(np.prod(shape))
        part = np.ascontiguousarray(relations[:, column : column + width])
        tables[name] = torch.from_numpy(part).reshape(len(part), *shape)
        column += width
    model.relation = Rows(tables)
    return model


def _known_targets(queries: Queries) -> npt.NDArray[np.int64]:
    """Return 1 for each target that is a known answer itself, 0 for others."""
    found = np.zeros(len(queries.targets), np.int64)
    for at, query in enumerate(queries.query_of_target):
        known = queries.known[queries.starts[query] : queries.stops[query]]
        place = np.searchsorted(known, queries.targets[at])
        found[at] = place < len(known) and known[place] == queries.targets[at]
    return found


def _some(queries: Queries, first: int, last: int) -> Queries:
    """Return some of the questions, without their targets."""
    rows = slice(first, last)
    count = len(queries.fixed[rows])
    return replace(
        queries,
        fixed=queries.fixed[rows],
        relations=queries.relations[rows],
        target_offsets=np.zeros(count + 1, np.int64),
        targets=queries.targets[:0],
        origins=queries.origins[:0],
        starts=queries.starts[rows],
        stops=queries.stops[rows],
    )


def _with_one_more(queries: Queries, barred: npt.NDArray[np.int64]) -> Queries:
    """Return the questions with the barred entity of each, if any, among its known answers."""
    if (barred < 0).all():
        return queries
    lists = [
        np.union1d(queries.known[start:stop], entity if entity >= 0 else queries.known[:0])
        for start, stop, entity in zip(queries.starts, queries.stops, barred, strict=True)
    ]
    stops = np.cumsum([len(each) for each in lists])
    known = np.concatenate(lists).astype(np.int32)
    return replace(queries, starts=np.append(0, stops[:-1]), stops=stops, known=known)
