"""Optimiser steps on tables; compiled kernels take them in the memory of the model's tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array, Examples, Step
from transa.kernels.codes import FREE
from transa.kernels.updates import update_rows, update_vectors
from transa.training.optimizers import state_shapes
from transa.training.settings import TableSettings


class TableSteps:
    """A table with the state of its optimiser.

    Parameters
    ----------
    table
        The parameters, row by row; they are changed in place.
    settings
        How to step its rows; one for entities and one for relations if the table holds both.
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
        """Return the arguments of step `number` for a kernel, with all learning rates multiplied by `factor`."""
        learning_rates = self.learning_rates * self.table.dtype.type(factor)
        return Step(self.optimizer, number, learning_rates, self.penalties, self.constraints)


class VectorSteps(TableSteps):
    """Steps on vectors, with entities first and then relations, or entities alone.

    Parameters
    ----------
    table, settings
        See `TableSteps`.
    num_entities
        How many rows belong to entities.
    rows
        The most rows that a batch touches.
    """

    def __init__(self, table: Array, settings: Sequence[TableSettings | None], num_entities: int, rows: int) -> None:
        super().__init__(table, settings)
        self.num_entities = num_entities
        self.touched = np.empty((numba.get_num_threads(), rows), np.int64)

    def take(
        self, examples: Examples, step: Step, factors: Array, active: npt.NDArray[np.bool_], gradients: Array
    ) -> None:
        """Take a step on the rows that a batch touches."""
        update_vectors(
            *(examples, self.num_entities, step, factors, active, gradients, self.slots, self.touched),
            *(self.table, self.first, self.second),
        )


class RowSteps(TableSteps):
    """Steps on a table of which each row is all there is of an entity or a relation."""

    def take(self, rows: npt.NDArray[np.int32], step: Step, active: npt.NDArray[np.bool_], gradients: Array) -> None:
        """Take a step on each of some rows; gradients of the same row are added up, and those that are not active left out."""
        parts = numba.get_num_threads()
        update_rows(rows, step, active, parts, gradients, self.slots, self.table, self.first, self.second)
