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
class Sums:
    """The gradients of one lane, added up by row of the small table.

    Attributes
    ----------
    entities, by_entity
        Which entities the lane moves, and their gradients.
    relations, by_relation, by_extra
        The same for relations, with the gradients of their metrics where these are learned.
    """

    entities: Places
    by_entity: Array
    relations: Places
    by_relation: Array
    by_extra: Array


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

    def compute(self, examples: Examples, tables: Tables, groups: npt.NDArray[np.int64]) -> None:
        """Write losses, and gradients with respect to the rows of the small table, for each positive."""
        positives, entities, relations = examples.stop, tables.num_entities, len(tables.extra)
        needed = positives, entities, relations
        if any(need > room for need, room in zip(needed, self._room, strict=True)):
            self._allocate(*(max(pair) for pair in zip(needed, self._room, strict=True)))
        results = self.factors, self.gradients, self.losses, self.violations, self.active
        if not isinstance(self.score, GroupScore):
            rest = self.gradients, self.extra_gradients, self.losses, self.violations, self.active
            gradient_phase(self.score, examples, tables, self.objective, self.scores, self.factors, *rest)
            return
        work = groups, dealt(np.diff(groups)), self.score.absolute, examples, tables, self.objective
        if self.objective.loss == MARGIN and not self.objective.root:
            hinge_gradient_phase(*work, *results)
        else:
            grouped_gradient_phase(*work, self.scores, *results)

    def add_up(self, examples: Examples, tables: Tables, start: int, stop: int) -> Sums:
        """Return the sums of the gradients of positives `start` to `stop`, which are a lane."""
        width, entities, relations = 3 + self.negatives, tables.num_entities, len(tables.extra)
        active, factors = self.active[start:stop], self.factors[start:stop]
        lane = Examples(examples.triples, start, stop, examples.negatives[start:stop], examples.at_head[start:stop])
        nothing = self.sums[:, :0]
        sums, slots = self.sums[: entities + relations], self.slots[: entities + relations]
        update_vectors(
            *(lane, entities, self._adding, factors, active, self.gradients[start * width : stop * width]),
            *(slots, self.touched, sums, nothing, nothing),
        )
        triples = examples.triples[start:stop][active]
        moved = np.concatenate(
            [triples[:, 0], triples[:, 2], lane.negatives[active][factors[active, 1:] != 0]], dtype=np.int64
        )
        of_entities = self._distinct.of(moved)
        of_relations = self._distinct.of(triples[:, 1].astype(np.int64))
        if self.extra:
            gradients = self.extra_gradients[start:stop].reshape(stop - start, -1)
            update_rows(
                *(np.ascontiguousarray(examples.triples[start:stop, 1]), self._adding, active, len(self.touched)),
                *(gradients, slots[:relations], self.extra_sums, nothing, nothing),
            )
        found = Sums(
            *(of_entities, sums[of_entities], of_relations),
            *(sums[entities + of_relations], self.extra_sums[of_relations]),
        )
        sums[of_entities] = 0
        sums[entities + of_relations] = 0
        self.extra_sums[of_relations] = 0
        return found
