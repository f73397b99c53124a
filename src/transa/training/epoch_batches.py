"""The order of an epoch: which triples come in which batch, with which negatives. All engines follow it.

Every random number is a function of the seed, the epoch and the position in it (`transa.kernels.random`). So an epoch can be repeated,
by another process too, without any saved state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from transa.data import Corruptor, KnowledgeGraph
from transa.data.graph import Triples
from transa.kernels.arguments import Examples
from transa.kernels.closed_form import SortedTriples
from transa.kernels.facts import corrupt_pairs, corrupt_shared, known_among
from transa.kernels.purposes import CORRUPTION, GROUP, SHARED_NEGATIVES, SHUFFLE
from transa.kernels.random import stream
from transa.kernels.shuffling import arrange, shuffle
from transa.training.lanes import Numbering, cut, deal_entities
from transa.training.recipe import Recipe

#: The largest group of triples of one relation in a grouped batch.
GROUP_SIZE = 128
#: How many negatives are drawn at once, usually for several batches.
DRAWN = 1 << 18


@dataclass(frozen=True)
class Batch:
    """Rows `start` to `stop` of an epoch; for grouped models also the borders of the groups."""

    start: int
    stop: int
    groups: npt.NDArray[np.int64]


class EpochBatches:
    """Puts the training triples of a graph into the batches of an epoch.

    Parameters
    ----------
    graph
        Its training triples are shuffled anew for each epoch.
    recipe
        Gives sampling, candidates and seed.
    batch_size
        Positives in a batch; by default the recipe's.
    grouped
        Whether triples of one relation come together, in groups of at most `GROUP_SIZE` whose order is shuffled. A batch consists of
        whole groups and may be a little smaller than `batch_size`.
    whole
        Whether to hold all triples in the order of the epoch. Without them, there are only `lane_examples`.
    dealt
        To which lanes entities are dealt, if the caller knows it already.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        recipe: Recipe,
        *,
        grouped: bool,
        batch_size: int | None = None,
        whole: bool = True,
        dealt: Numbering | None = None,
    ) -> None:
        self.corruptor = Corruptor(
            graph.training_facts, recipe.replaced, recipe.seed, typed=recipe.candidates == "typed"
        )
        self.seed = recipe.seed
        self.batch_size = batch_size or recipe.batch_size
        self.negatives = recipe.drawn_negatives
        self.lanes = recipe.lanes
        self.grouped = grouped
        self.lane_entities: Numbering | None = None
        if recipe.lane_negatives:
            self.lane_entities = dealt or deal_entities(len(graph.entities), recipe.lanes, recipe.seed)
        self.source = graph.train
        self.batches: list[Batch] = []
        self.whole = whole
        if whole:
            self.source_spans = self.corruptor.spans(graph.train)
            self.triples: Triples = np.empty_like(self.source)
            self.spans = np.empty_like(self.source_spans)
        self._order = np.empty(0, np.int64)
        self._key = np.uint64(0)
        self._number = 0
        self._drawn_from = self._drawn_to = 0

    @cached_property
    def by_relation(self) -> SortedTriples:
        """The training triples sorted by relation."""
        relations = self.source[:, 1]
        order = sort_by(relations)
        counts = np.bincount(relations, minlength=self.corruptor.facts.num_relations)
        triples = self.source[order]
        spans = self.source_spans[order] if self.whole else self.corruptor.spans(triples, known=True)
        return SortedTriples(triples, spans, np.concatenate([[0], np.cumsum(counts)]))

    def __len__(self) -> int:
        return len(self.source)

    def start_epoch(self, number: int) -> None:
        """Fill `triples` and `batches` in the order of an epoch."""
        self._key = stream(self.seed, CORRUPTION, number)
        self._number = number
        self._drawn_from = self._drawn_to = 0
        size = len(self.source)
        order = np.empty(size, dtype=np.int64)
        shuffle(stream(self.seed, SHUFFLE, number), order)
        if self.grouped:
            order, borders = self._group(order, number)
            self.batches = [Batch(int(part[0]), int(part[-1]), part) for part in _fill(borders, self.batch_size)]
        else:
            nothing = np.empty(0, dtype=np.int64)
            self.batches = [
                Batch(start, min(start + self.batch_size, size), nothing) for start in range(0, size, self.batch_size)
            ]
        if self.whole:
            arrange(self.source, self.source_spans, order, self.triples, self.spans)
        else:
            self._order = order

    def _group(
        self, shuffled: npt.NDArray[np.int64], number: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Bring triples of one relation together; return the new order and the borders of the groups."""
        relations = self.source[shuffled, 1]
        by_relation = sort_by(relations)
        relations = relations[by_relation]
        first = np.flatnonzero(np.diff(relations, prepend=-1))
        inside = np.arange(len(relations)) - np.repeat(first, np.diff(np.append(first, len(relations))))
        starts = np.flatnonzero(inside % GROUP_SIZE == 0)
        sizes = np.diff(np.append(starts, len(relations)))
        order = np.random.default_rng([self.seed, GROUP, number]).permutation(len(starts))
        borders = np.concatenate([[0], np.cumsum(sizes[order])])
        moved = np.repeat(starts[order] - borders[:-1], sizes[order]) + np.arange(len(relations))
        return shuffled[by_relation[moved]], borders

    @cached_property
    def _drawn(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """The buffers for the negatives that are drawn at once."""
        largest = max(min(self.batch_size, len(self)), GROUP_SIZE if self.grouped else 1)
        return self._empty(max(largest, min(len(self), DRAWN // self.negatives)))

    def examples(self, batch: Batch) -> Examples:
        """Return the positives of a batch with their negatives. Call it for the batches in order."""
        if self.lane_entities is not None:
            lanes = list(enumerate(self.cut(batch)))
            negatives = self._corrupt_lanes(self.lane_entities, lanes, self.triples, self.spans, 0)
            return Examples(self.triples, batch.start, batch.stop, *negatives)
        entities, at_head = self._drawn
        if batch.stop > self._drawn_to:
            self._drawn_from = batch.start
            self._drawn_to = min(batch.start + len(entities), len(self))
            corrupt_pairs(
                *(self.triples, self.spans, self._drawn_from, self._drawn_to, self._drawn_from, self._key),
                *(self.corruptor.candidates, entities, at_head),
            )
        rows = slice(batch.start - self._drawn_from, batch.stop - self._drawn_from)
        return Examples(self.triples, batch.start, batch.stop, entities[rows], at_head[rows])

    def cut(self, batch: Batch) -> list[Batch]:
        """Cut a batch into its lanes; a small batch leaves some of them empty."""
        borders = cut(batch.start, batch.stop, self.lanes)
        if not self.grouped:
            return [Batch(int(start), int(stop), batch.groups) for start, stop in pairwise(borders)]
        at = np.searchsorted(batch.groups, borders)
        groups = [batch.groups[first : last + 1] for first, last in pairwise(at)]
        return [Batch(int(part[0]), int(part[-1]), part) for part in groups]

    def lane_examples(self, numbers: range, lanes: list[Batch]) -> Examples:
        """Return the positives of some adjacent lanes of a batch, as rows from 0 on, with their negatives.

        They are those of `examples`, but only these positives are looked up: a worker need not hold the whole epoch in its order.
        """
        start, stop = lanes[0].start, lanes[-1].stop
        triples = self.source[self._order[start:stop]]
        spans = self.corruptor.spans(triples, known=True)
        if self.lane_entities is not None:
            numbered = list(zip(numbers, lanes, strict=True))
            negatives = self._corrupt_lanes(self.lane_entities, numbered, triples, spans, start)
            return Examples(triples, 0, stop - start, *negatives)
        entities, at_head = self._empty(stop - start)
        corrupt_pairs(triples, spans, 0, stop - start, start, self._key, self.corruptor.candidates, entities, at_head)
        return Examples(triples, 0, stop - start, entities, at_head)

    def _empty(self, rows: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Return room for the negatives of some positives."""
        shape = rows, self.negatives
        return np.empty(shape, np.int32), np.empty(shape, np.bool_)

    def _corrupt_lanes(
        self,
        dealt: Numbering,
        lanes: list[tuple[int, Batch]],
        triples: Triples,
        spans: npt.NDArray[np.int64],
        first: int,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Draw the negatives of adjacent lanes from the entities of each; half as many positives as each has negatives share them.

        So a batch draws as many entities as it has heads and tails. Fewer draws learn less from each positive.

        Row 0 of the triples is row `first` of the epoch.
        """
        start, stop = lanes[0][1].start, lanes[-1][1].stop
        entities, at_head = self._empty(stop - start)
        together = max(self.negatives // 2, 1)
        for number, lane in lanes:
            random = np.random.default_rng([self.seed, SHARED_NEGATIVES, self._number, lane.start, number])
            groups = -(-(lane.stop - lane.start) // together)
            shared = random.choice(dealt.members(number), (groups, self.negatives))
            rows = slice(lane.start - start, lane.stop - start)
            corrupt_shared(
                *(triples, spans, lane.start - first, lane.stop - first, lane.start, self._key),
                *(self.corruptor.candidates, shared, together, entities[rows], at_head[rows]),
            )
        return entities, at_head

    def share(self, batch: Batch, count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Draw `count` entities for a whole batch.

        Returns the entities, and an array of shape (2, rows, count): which of them make a known triple as head, and which as tail,
        of each row.
        """
        facts = self.corruptor.facts
        random = np.random.default_rng([self.seed, SHARED_NEGATIVES, self._number, batch.start])
        entities = random.integers(facts.num_entities, size=count, dtype=np.int32)
        known = np.empty((2, batch.stop - batch.start, count), dtype=bool)
        answers = facts.heads.answers, facts.tails.answers
        known_among(self.spans, batch.start, batch.stop, *answers, entities, known)
        return entities, known


def sort_by(relations: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the stable order by relation. Ids of 16 bits are sorted in linear time."""
    small = len(relations) == 0 or relations.max() < 1 << 16
    return np.argsort(relations.astype(np.uint16) if small else relations, kind="stable")


def _fill(borders: npt.NDArray[np.int64], batch: int) -> list[npt.NDArray[np.int64]]:
    """Divide the borders of groups into batches of at most `batch` rows, but at least one group."""
    parts, begin = [], 0
    while begin < len(borders) - 1:
        end = int(np.searchsorted(borders, borders[begin] + batch, side="right")) - 1
        end = max(end, begin + 1)
        parts.append(borders[begin : end + 1])
        begin = end
    return parts
