"""The order of an epoch of questions: each (h, r, ?) and (?, r, t) of the training triples, with its right answers.

A question is asked once an epoch with all its answers; or, with more answers than `answers_at_once`, several times with some of them.

As in `transa.training.epoch_batches`, every random number is a function of the seed, the epoch and the position in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.kernels.purposes import DROPOUT, SHARED_NEGATIVES, SHUFFLE
from transa.kernels.random import stream
from transa.kernels.shuffling import shuffle
from transa.training.recipe import Recipe

#: What the vectors of questions are multiplied with, before and after the relation has moved them; None: nothing.
Masks: TypeAlias = tuple[npt.NDArray[np.floating] | None, npt.NDArray[np.floating] | None]
#: Borders of the parts of an array, one for each question, and the array.
Ragged: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Some questions, sorted by relation.

    Attributes
    ----------
    start
        The position of the first in the epoch.
    fixed, relations, at_head
        The entity and the relation that are given, and whether the head is asked for.
    offsets, targets
        The right answers of question q are ``targets[offsets[q]:offsets[q + 1]]``.
    hidden_offsets, hidden
        In the same form those of its other right answers that do not count as candidates.
    """

    start: int
    fixed: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    at_head: npt.NDArray[np.bool_]
    offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    hidden_offsets: npt.NDArray[np.int64]
    hidden: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.fixed)


class QueryBatches:
    """Puts the questions of a graph's training triples into batches.

    Parameters
    ----------
    graph
        Its training triples are asked about.
    recipe
        Gives batch size and seed.
    heads
        Whether to ask for heads too. A directional model has inverse relations, of which it asks for the tails.
    """

    def __init__(self, graph: KnowledgeGraph, recipe: Recipe, *, heads: bool) -> None:
        self.recipe = recipe
        self.num_entities = len(graph.entities)
        triples = np.unique(graph.train, axis=0).astype(np.int64)
        sides = [(0, 2), (2, 0)] if heads else [(0, 2)]
        fixed = np.concatenate([triples[:, given] for given, _ in sides])
        targets = np.concatenate([triples[:, asked] for _, asked in sides])
        kinds = np.concatenate([2 * triples[:, 1] + side for side in range(len(sides))])
        keys = kinds * self.num_entities + fixed
        order = np.lexsort((targets, keys))
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        sizes = np.diff(np.append(first, len(order)))
        most = recipe.answers_at_once or max(int(sizes.max(initial=1)), 1)
        times = -(-sizes // most)
        question = np.repeat(np.arange(len(first)), times)
        turn = np.arange(len(question)) - np.repeat(np.cumsum(times) - times, times)
        self.targets = targets[order].astype(np.int32)
        self.starts = first[question] + turn * most
        self.stops = np.minimum(self.starts + most, (first + sizes)[question])
        self.answers = first[question], (first + sizes)[question]
        self.fixed = fixed[order[first]][question].astype(np.int32)
        self.kinds = kinds[order[first]][question].astype(np.int32)
        self.neighbours = _neighbours(triples, self.num_entities) if recipe.neighbour_candidates else None

    def __len__(self) -> int:
        return len(self.fixed)

    def epoch(self, number: int) -> Iterator[QueryBatch]:
        """Yield the batches of an epoch."""
        order = np.empty(len(self), np.int64)
        shuffle(stream(self.recipe.seed, SHUFFLE, number), order)
        for start in range(0, len(self), self.recipe.batch_size):
            some = np.sort(order[start : start + self.recipe.batch_size])  # questions are sorted by relation
            starts, stops = self.starts[some], self.stops[some]
            offsets, places = _ranges(starts, stops)
            hidden_offsets, hidden = self._others(some) if self.recipe.hide_answers else _ranges(starts, starts)
            kinds = self.kinds[some].astype(np.int64)
            yield QueryBatch(
                start,
                self.fixed[some].astype(np.int64),
                kinds // 2,
                kinds % 2 == 1,
                offsets,
                self.targets[places].astype(np.int64),
                hidden_offsets,
                self.targets[hidden].astype(np.int64),
            )

    def _others(self, some: npt.NDArray[np.int64]) -> Ragged:
        """Return the places of the answers that some questions have beyond those they are asked with, and their borders."""
        firsts, lasts = (ends[some] for ends in self.answers)
        starts = np.stack([firsts, self.stops[some]], axis=1).ravel()
        stops = np.stack([self.starts[some], lasts], axis=1).ravel()
        offsets, places = _ranges(starts, stops)
        return offsets[::2], places

    def candidates(self, batch: QueryBatch, number: int) -> npt.NDArray[np.int64] | None:
        """Return the entities among which the answers of a batch are ranked, sorted; None: all.

        They are its own, those drawn for it, and some neighbours of its answers, if the recipe has such.
        """
        sample = self.recipe.sampled_entities
        if sample is None or sample >= self.num_entities:
            return None
        random = np.random.default_rng([self.recipe.seed, SHARED_NEGATIVES, number, batch.start])
        drawn = random.integers(self.num_entities, size=sample)
        near = [] if self.neighbours is None else [self._near(np.unique(batch.targets), self.neighbours, random)]
        return np.unique(np.concatenate([batch.fixed, batch.targets, drawn, *near]))

    def _near(
        self, entities: npt.NDArray[np.int64], neighbours: Ragged, random: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return some neighbours of each entity: of one that has more, those that follow on a random place."""
        offsets, ids = neighbours
        first, degrees = offsets[entities], np.diff(offsets)[entities]
        taken = np.minimum(degrees, self.recipe.neighbour_candidates)
        begin = (random.random(len(entities)) * degrees).astype(np.int64)
        _, turns = _ranges(begin, begin + taken)
        found: npt.NDArray[np.int64] = ids[np.repeat(first, taken) + turns % np.repeat(degrees, taken)]
        return found

    def kept(self, batch: QueryBatch, number: int, dim: int, kind: npt.DTypeLike) -> Masks:
        """Return what dropout multiplies the vectors of a batch's entities with, and these once the relation has moved them."""

        def mask(share: float, *key: int) -> npt.NDArray[np.floating] | None:
            if not share:
                return None
            random = np.random.default_rng([self.recipe.seed, DROPOUT, number, batch.start, *key])
            return ((random.random((len(batch), dim), np.float32) >= share) / (1 - share)).astype(kind)

        return mask(self.recipe.entity_dropout, 1), mask(self.recipe.dropout)


def places_among(
    rows: npt.NDArray[np.int64] | None, offsets: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> Ragged:
    """Return the positions in sorted `rows` of those wanted that are in it, with the borders of the questions; None: all are."""
    if rows is None:
        return offsets, wanted
    places = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    found = rows[places] == wanted
    return np.concatenate([[0], np.cumsum(found)])[offsets], places[found]


def part_of(ragged: Ragged, some: slice) -> Ragged:
    """Return the part of some questions."""
    offsets, values = ragged
    borders = offsets[some.start : some.stop + 1]
    return borders - borders[0], values[borders[0] : borders[-1]]


def _neighbours(triples: npt.NDArray[np.int64], size: int) -> Ragged:
    """Return the entities that share a triple with each entity, and the borders of the entities."""
    ends = np.unique(np.concatenate([triples[:, [0, 2]], triples[:, [2, 0]]]), axis=0)
    return np.searchsorted(ends[:, 0], np.arange(size + 1)), ends[:, 1]


def _ranges(starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> Ragged:
    """Return the numbers from each start to its stop, one range after another, and the borders of the ranges."""
    offsets = np.concatenate([[0], np.cumsum(stops - starts)])
    return offsets, np.repeat(starts - offsets[:-1], stops - starts) + np.arange(offsets[-1])
