"""The gradients of some lanes, by the compiled kernels, on a small table of the rows that these lanes touch."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array, Examples, Objective, Step, Tables
from transa.kernels.codes import FREE, MARGIN, SGD
from transa.kernels.full_metric import grouped_gradient_phase, hinge_gradient_phase
from transa.kernels.scores import GroupScore, Score
from transa.kernels.threads import dealt
from transa.kernels.training import gradient_phase
from transa.kernels.updates import update_rows, update_vectors
from transa.training.epoch_batches import Batch

Places = npt.NDArray[np.int64]
#: Positives whose gradients are computed at a time. Sums are rounded after each, so that another number gives other bits.
CHUNK = 128


class Distinct:
    """Finds the distinct values among many whole numbers below a bound, and the place of each, without sorting them all."""

    def __init__(self, bound: int) -> None:
        self._place = np.zeros(bound, np.int32)

    def of(self, values: Places) -> Places:
        """Return the distinct values, sorted."""
        counter = np.arange(len(values), dtype=np.int32)
        self._place[values] = counter
        return np.sort(values[self._place[values] == counter])

    def number(self, distinct: Places) -> npt.NDArray[np.int32]:
        """Return an array that has at each of some distinct values its place among them; it is valid until the next call."""
        self._place[distinct] = np.arange(len(distinct), dtype=np.int32)
        return self._place


@dataclass(frozen=True)
class Sums:
    """The gradients of one lane, added up by row of the small table.

    Attributes
    ----------
    entities, by_entity
        Which entities the lane moves, and their gradients.
    relations, by_relation, by_extra
        The same for relations, with the gradients of their metrics where these are learned.
    loss, violations
        Summed over the positives of the lane.
    """

    entities: Places
    by_entity: Array
    relations: Places
    by_relation: Array
    by_extra: Array
    loss: float
    violations: int


class LaneGradients:
    """Computes gradients of positives, and adds them up lane by lane.

    Parameters
    ----------
    score, objective
        What to differentiate.
    dim, negatives, kind
        The dimension of vectors, negatives of a positive, and the type of the numbers.
    extra
        Rows of a relation's metric that are learned; 0 if it is not.
    """

    def __init__(
        self, score: Score, objective: Objective, dim: int, negatives: int, kind: npt.DTypeLike, extra: int
    ) -> None:
        self.score = score
        self.objective = objective
        self.dim = dim
        self.negatives = negatives
        self.kind = np.dtype(kind)
        self.extra = extra
        one = np.ones(2, self.kind)
        #: A step that adds the sum of the gradients to a table of zeros.
        self._adding = Step(SGD, 1, -one, 0 * one, np.full(2, FREE))
        self._allocate(0, 0, 0)

    def _allocate(self, positives: int, entities: int, relations: int) -> None:
        """Make the buffers large enough; they grow to the largest batch and stay."""
        width, kind = 1 + self.negatives, self.kind
        self.losses, self.violations = np.empty(positives, np.float64), np.empty(positives, np.int64)
        self.active = np.empty(positives, np.bool_)
        self.scores, self.factors = np.empty((positives, width), kind), np.empty((positives, width), kind)
        self.gradients = np.empty((positives * (2 + width), self.dim), kind)
        self.extra_gradients = np.empty((positives, self.extra, self.dim), kind)
        self.sums = np.zeros((entities + relations, self.dim), kind)
        self.extra_sums = np.zeros((relations, self.extra * self.dim), kind)
        self.slots = np.full(entities + relations, -1, np.int64)
        self.touched = np.empty((numba.get_num_threads(), positives * (2 + width)), np.int64)
        self._distinct = Distinct(entities + relations)
        self._room = positives, entities, relations

    def of_lane(self, examples: Examples, tables: Tables, lane: Batch) -> Sums:
        """Return the sums of the gradients of a lane, whose rows and groups are those of `examples`, and its loss and violations.

        Gradients are computed for some positives at a time, so that they stay in the processor's caches until they are added up.
        """
        entities, relations = tables.num_entities, len(tables.extra)
        whole = isinstance(self.score, GroupScore)
        step = lane.stop - lane.start if whole else min(CHUNK, lane.stop - lane.start)
        self._make_room(step, entities, relations)
        loss, violations = 0.0, 0
        moved: list[Places] = []
        for start in range(lane.start, lane.stop, max(step, 1)):
            stop = min(start + step, lane.stop)
            part = Examples(examples.triples, start, stop, examples.negatives[start:stop], examples.at_head[start:stop])
            self._differentiate(part, tables, lane.groups)
            moved.append(self._add_up(part, entities, relations))
            loss += float(self.losses[: stop - start].sum())
            violations += int(self.violations[: stop - start].sum())
        rows = self._distinct.of(np.concatenate([np.empty(0, np.int64), *moved]))
        border = np.searchsorted(rows, entities)
        of_entities, of_relations = rows[:border], rows[border:] - entities
        found = Sums(
            *(of_entities, self.sums[of_entities], of_relations, self.sums[rows[border:]]),
            *(self.extra_sums[of_relations], loss, violations),
        )
        self.sums[rows] = 0
        self.extra_sums[of_relations] = 0
        return found

    def _make_room(self, positives: int, entities: int, relations: int) -> None:
        needed = positives, entities, relations
        if any(need > room for need, room in zip(needed, self._room, strict=True)):
            self._allocate(*(max(pair) for pair in zip(needed, self._room, strict=True)))

    def _differentiate(self, examples: Examples, tables: Tables, groups: npt.NDArray[np.int64]) -> None:
        """Write losses, and gradients with respect to the rows of the small table, for each positive."""
        if isinstance(self.score, GroupScore):
            work = groups, dealt(np.diff(groups)), self.score.absolute, examples, tables, self.objective
            results = self.factors, self.gradients, self.losses, self.violations, self.active
            if self.objective.loss == MARGIN and not self.objective.root:
                hinge_gradient_phase(*work, *results)
            else:
                grouped_gradient_phase(*work, self.scores, *results)
            return
        rest = self.gradients, self.extra_gradients, self.losses, self.violations, self.active
        gradient_phase(self.score, examples, tables, self.objective, self.scores, self.factors, *rest)

    def _add_up(self, examples: Examples, entities: int, relations: int) -> Places:
        """Add the gradients of some positives to the sums, and return the rows of the small table that they belong to."""
        size = examples.stop - examples.start
        active, factors = self.active[:size], self.factors[:size]
        nothing = self.sums[:, :0]
        sums, slots = self.sums[: entities + relations], self.slots[: entities + relations]
        update_vectors(
            *(examples, entities, self._adding, factors, active, self.gradients, slots, self.touched),
            *(sums, nothing, nothing),
        )
        triples = examples.triples[examples.start : examples.stop]
        if self.extra:
            update_rows(
                *(np.ascontiguousarray(triples[:, 1]), self._adding, active, len(self.touched)),
                *(self.extra_gradients.reshape(len(self.extra_gradients), -1), slots[:relations]),
                *(self.extra_sums, nothing, nothing),
            )
        triples = triples[active]
        negatives = examples.negatives[active][factors[active, 1:] != 0]
        return np.concatenate([triples[:, 0], triples[:, 2], negatives, triples[:, 1] + entities], dtype=np.int64)
