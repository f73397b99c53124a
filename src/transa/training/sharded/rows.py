"""Rows of which each worker holds a part, with the state of their optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array
from transa.training.lanes import Numbering
from transa.training.settings import TableSettings
from transa.training.sharded.workers import Workers
from transa.training.steps import RowSteps

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """A table among those that share their rows: the numbers it has in a row, and how it is learned; None if it is not."""

    width: int
    settings: TableSettings | None


class HeldRows(Protocol):
    """Rows by which one ranks, wherever they are: with several workers, or on disk."""

    @property
    def numbering(self) -> Numbering:
        """Which row and lane each id has."""

    @property
    def columns(self) -> dict[str, Column]:
        """The tables by name, in the order in which they stand in a row."""

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the numbers."""

    def pull(self, rows: Places, names: tuple[str, ...]) -> Array:
        """Return some rows of some tables side by side; `rows` are sorted."""

    def of_lane(self, number: int, name: str) -> Array:
        """Return the rows of a lane in a table."""


class ShardedRows:
    """The tables of all entities, or of all relations; each worker holds the rows of its lanes.

    A row is the same in all tables, and travels as one. Rows are pulled before a batch, and gradients are pushed to the worker that
    holds the row after it. There they are added up in the order of the lanes, so that the number of workers makes no difference.

    Parameters
    ----------
    numbering
        Which row and lane each id has.
    workers
        Who takes part.
    columns
        The tables by name, in the order in which they stand in a row.
    kind
        The type of the numbers.

    Attributes
    ----------
    tables
        The rows of this worker, by table.
    steps
        The same for the tables that are learned, with the state of the optimiser.
    """

    def __init__(
        self, numbering: Numbering, workers: Workers, columns: dict[str, Column], kind: npt.DTypeLike = np.float32
    ) -> None:
        self.numbering = numbering
        self.workers = workers
        self.columns = columns
        self.kind = np.dtype(kind)
        self.held = numbering.block * len(workers.lanes)
        self.first = workers.rank * self.held
        self.tables: dict[str, Array] = {
            name: np.zeros((self.held, column.width), kind) for name, column in columns.items()
        }
        self._room: Array = np.empty((0, 0), kind)
        self.steps = {
            name: RowSteps(self.tables[name], [column.settings])
            for name, column in columns.items()
            if column.settings is not None
        }

    def of_lane(self, number: int, name: str) -> Array:
        """Return the rows of one of this worker's lanes in a table."""
        return self.tables[name][self.lane(number)]

    def lane(self, number: int) -> slice:
        """Return where the rows of one of this worker's lanes are in its tables."""
        start = number * self.numbering.block - self.first
        return slice(start, start + len(self.numbering.members(number)))

    def pull(self, rows: Places, names: tuple[str, ...]) -> Array:
        """Return some rows of some tables side by side; `rows` are sorted."""
        sent = self._owners(rows)
        received = self.workers.announce(sent)
        asked = self.workers.exchange(rows, sent, received) - self.first
        parts = [self.tables[name][asked] for name in names]
        return self.workers.exchange(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1), received, sent)

    def push(self, rows: Places, gradients: Array, places: Places, number: int, factor: float) -> None:
        """Take step `number` on some rows, with all learning rates multiplied by `factor`.

        `rows` come lane after lane, each at most once in a lane. Their gradients stand in `gradients` at `places`, those of all learned
        tables side by side.
        """
        held, found = self.deliver(rows, gradients, places)
        every = np.ones(len(held), np.bool_)
        column = 0
        for name, steps in self.steps.items():
            width = self.columns[name].width
            part = np.ascontiguousarray(found[:, column : column + width])
            steps.take(held, steps.step(number, factor), every, part)
            column += width

    def deliver(self, rows: Places, values: Array, places: Places) -> tuple[npt.NDArray[np.int32], Array]:
        """Send values to the workers that hold their rows; those of ``rows[i]`` are ``values[places[i]]``.

        Returns the places in this worker's tables, and the values, that arrive here, lane after lane.
        """
        order = np.argsort(rows // self.held, kind="stable")  # keeps the order of the lanes
        sent = self._owners(rows)
        received = self.workers.announce(sent)
        held = self.workers.exchange(rows[order], sent, received) - self.first
        return held.astype(np.int32), self.workers.exchange(self._taken(values, places[order]), sent, received)

    def _taken(self, values: Array, places: Places) -> Array:
        """Return some rows of an array, in memory that is used again: the system takes longer to give new pages than to copy."""
        if len(self._room) < len(places) or self._room.shape[1] != values.shape[1]:
            self._room = np.empty((len(places), values.shape[1]), values.dtype)
        return np.take(values, places, axis=0, out=self._room[: len(places)], mode="clip")

    def _owners(self, rows: Places) -> npt.NDArray[np.int64]:
        """Return how many of the rows each worker holds."""
        return np.bincount(rows // self.held, minlength=self.workers.count)
