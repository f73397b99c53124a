"""Steps of the optimiser on tables, taken by compiled kernels on the memory of the model's own tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array, Examples, Step
from transa.kernels.codes import FREE
from transa.kernels.updates import update_relations, update_vectors
from transa.training.optimizers import state_shapes
from transa.training.settings import TableSettings


class TableSteps:
    """A table with the state of its optimiser.

    Parameters
    ----------
    table
        Parameters, one row after the other, changed in place.
    settings
        How its rows are stepped: those of entities and of relations, where it holds both.
    """

    def __init__(self, table: Array, settings: Sequence[TableSettings | None]) -> None:
        kind = table.dtype
        given = [one for one in settings if one is not None]
        self.table = table
        self.optimizer = given[0].optimizer
        self.learning_rates = np.array([one.learning_rate if one else 0.0 for one in settings], kind)
        self.penalties = np.array([one.penalty if one else 0.0 for one in settings], kind)
        self.constraints = np.array([one.constraint if one else FREE for one in settings])
        shapes = state_shapes(self.optimizer, *table.shape)
        self.first, self.second = (np.zeros(shape, kind) for shape in shapes)
        self.slots = np.full(len(table), -1, np.int64)

    def step(self, number: int, factor: float) -> Step:
        """Return what a kernel is told of step `number`, in which learning rates are multiplied by `factor`."""
        learning_rates = self.learning_rates * self.table.dtype.type(factor)
        return Step(self.optimizer, number, learning_rates, self.penalties, self.constraints)


class VectorSteps(TableSteps):
    """Steps on vectors: entities first, then relations, or entities alone.

    Parameters
    ----------
    table, settings
        As of `TableSteps`.
    num_entities
        How many rows are those of entities.
    rows
        How many rows a batch touches, at most.
    """

    def __init__(self, table: Array, settings: Sequence[TableSettings | None], num_entities: int, rows: int) -> None:
        super().__init__(table, settings)
        self.num_entities = num_entities
        self.touched = np.empty((numba.get_num_threads(), rows), np.int64)

    def take(
        self, examples: Examples, step: Step, factors: Array, active: npt.NDArray[np.bool_], gradients: Array
    ) -> None:
        """Step on the rows that a batch touches."""
        update_vectors(
            *(examples, self.num_entities, step, factors, active, gradients, self.slots, self.touched),
            *(self.table, self.first, self.second),
        )


class RelationSteps(TableSteps):
    """Steps on a table of relations; each relation's parameters are one row."""

    def take(
        self, relations: npt.NDArray[np.int32], step: Step, active: npt.NDArray[np.bool_], gradients: Array
    ) -> None:
        """Step on the rows of some relations."""
        parts = numba.get_num_threads()
        update_relations(relations, step, active, parts, gradients, self.slots, self.table, self.first, self.second)
