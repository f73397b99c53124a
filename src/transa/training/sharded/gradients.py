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
from transa.kernels.training import lane_phase
from transa.kernels.updates import update_vectors
from transa.training.epoch_batches import Batch

Places = npt.NDArray[np.int64]


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
class Moved:
    """What the positives of a lane move: rows of the small table whose sums stand in `LaneGradients.sums`.

    Attributes
    ----------
    entities, relations
        Which ones.
    loss, violations
        Summed over the positives.
    """

    entities: Places
    relations: Places
    loss: float
    violations: int


class LaneGradients:
    """Computes gradients of positives, and adds them up lane by lane.

    Parameters
    ----------
    score, objective
        What to differentiate; without a score, a subclass knows.
    dim, negatives, kind
        The dimension of vectors, negatives of a positive, and the type of the numbers.
    extra
        Rows of a relation's metric that are learned; 0 if it is not.
    """

    def __init__(
        self, score: Score | None, objective: Objective, dim: int, negatives: int, kind: npt.DTypeLike, extra: int
    ) -> None:
        self.score = score
        self.objective = objective
        self.dim = dim
        self.negatives = negatives
        self.kind = np.dtype(kind)
        self.extra = extra
        self._allocate(0, 0, 0)

    def _allocate(self, lanes: int, rows: int, relations: int) -> None:
        """Make the sums of some lanes large enough; they grow to the largest batch, and stay."""
        self.sums = np.zeros((lanes, rows, self.dim), self.kind)
        self.extra_sums = np.zeros((lanes, relations, self.extra, self.dim), self.kind)
        self.moved = np.zeros((lanes, rows), np.bool_)

    def make_room(self, lanes: int, tables: Tables) -> None:
        """Make the sums large enough for some lanes and a small table."""
        relations = len(tables.extra)
        needed, room = (
            (lanes, tables.num_entities + relations, relations),
            (
                *self.moved.shape,
                self.extra_sums.shape[1],
            ),
        )
        if any(need > has for need, has in zip(needed, room, strict=True)):
            self._allocate(*(max(pair) for pair in zip(needed, room, strict=True)))

    def of_lanes(self, examples: Examples, tables: Tables, lanes: list[Batch]) -> list[Moved]:
        """Return the sums of the gradients of some lanes, whose rows and groups are those of `examples`."""
        entities, relations = tables.num_entities, len(tables.extra)
        self.make_room(len(lanes), tables)
        borders = np.array([lanes[0].start, *(lane.stop for lane in lanes)])
        losses, violations = np.empty(len(examples.negatives)), np.empty(len(examples.negatives), np.int64)
        work = examples, tables, self.objective, losses, violations
        if isinstance(self.score, GroupScore):
            for lane, moved, sums in zip(lanes, self.moved, self.sums, strict=False):
                self._add_groups(self.score, lane, *work, moved[: entities + relations], sums[: entities + relations])
        elif self.score is not None:
            lane_phase(self.score, borders, *work, self.moved, self.sums, self.extra_sums)
        return [
            self._moved(at, entities, losses[lane.start : lane.stop], violations[lane.start : lane.stop])
            for at, lane in enumerate(lanes)
        ]

    def _moved(self, at: int, entities: int, losses: Array, violations: Array) -> Moved:
        rows = np.flatnonzero(self.moved[at])
        border = np.searchsorted(rows, entities)
        return Moved(rows[:border], rows[border:] - entities, float(losses.sum()), int(violations.sum()))

    def of_relations(self, entities: int, moved: list[Moved]) -> Array:
        """Return the sums of the relations of some lanes, lane after lane, those of vectors and metrics side by side."""
        lanes = np.repeat(np.arange(len(moved)), [len(lane.relations) for lane in moved])
        relations = np.concatenate([lane.relations for lane in moved])
        extra = self.extra_sums[lanes, relations].reshape(len(lanes), self.extra * self.dim)
        return np.concatenate([self.sums[lanes, entities + relations], extra], axis=1)

    def clear(self, entities: int, moved: list[Moved]) -> None:
        """Leave zeros behind."""
        for at, lane in enumerate(moved):
            self.sums[at][lane.entities] = 0
            self.sums[at][entities + lane.relations] = 0
            self.extra_sums[at][lane.relations] = 0
        self.moved[...] = False

    def _add_groups(
        self,
        score: GroupScore,
        lane: Batch,
        examples: Examples,
        tables: Tables,
        objective: Objective,
        losses: npt.NDArray[np.float64],
        violations: npt.NDArray[np.int64],
        moved: npt.NDArray[np.bool_],
        sums: Array,
    ) -> None:
        """Add the gradients of the groups of a lane to its sums."""
        some = slice(lane.start, lane.stop)
        part = Examples(examples.triples, lane.start, lane.stop, examples.negatives[some], examples.at_head[some])
        positives, width = lane.stop - lane.start, 1 + self.negatives
        active = np.empty(positives, np.bool_)
        factors, gradients = (
            np.empty((positives, width), self.kind),
            np.empty((positives * (2 + width), self.dim), self.kind),
        )
        groups = lane.groups, dealt(np.diff(lane.groups)), score.absolute, part, tables, objective
        results = factors, gradients, losses[some], violations[some], active
        if objective.loss == MARGIN and not objective.root:
            hinge_gradient_phase(*groups, *results)
        else:
            grouped_gradient_phase(*groups, np.empty_like(factors), *results)
        triples = part.triples[some][active]
        for rows in (triples[:, 0], triples[:, 2], part.negatives[active][factors[active, 1:] != 0]):
            moved[rows] = True
        moved[triples[:, 1] + tables.num_entities] = True
        one, nothing = np.ones(2, self.kind), sums[:, :0]
        adding = Step(
            SGD, 1, -one, 0 * one, np.full(2, FREE)
        )  # the step adds the sum of the gradients to a table of zeros
        touched = np.empty((numba.get_num_threads(), len(gradients)), np.int64)
        slots = np.full(len(sums), -1, np.int64)
        update_vectors(
            part, tables.num_entities, adding, factors, active, gradients, slots, touched, sums, nothing, nothing
        )
