"""Lanes: the parts that a batch is cut into, so that any number of workers computes the same.

Gradients add up within a lane, and then lane after lane. A worker trains some of the lanes, and the number of lanes does not depend
on the number of workers. Entities are dealt to the lanes in the same way, by a shuffle: the worker that trains a lane holds the rows
of its entities, and the negatives of the lane may be drawn from these.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transa.errors import InputError
from transa.kernels.purposes import SHARED_NEGATIVES


class Numbering:
    """Deals ids to lanes: the rows of a lane are a block, and those of a worker are adjacent blocks.

    Parameters
    ----------
    count
        How many ids there are.
    lanes
        How many lanes. Each gets the same number of ids, or one less, in the order of the ids.
    seed
        Selects which ones.

    Attributes
    ----------
    block
        Rows of a lane; the last one may stay empty.
    rows
        The row of each id; row i is in lane ``i // block``.
    """

    def __init__(self, count: int, lanes: int, seed: int) -> None:
        self.count = count
        self.lanes = lanes
        self.block = max(-(-count // lanes), 1)
        self._borders = np.arange(lanes + 1) * count // lanes
        self._members = np.random.default_rng([seed, SHARED_NEGATIVES]).permutation(count).astype(np.int32)
        self.rows = np.empty(count, np.int64)
        for lane in range(lanes):
            members = self.members(lane)
            members.sort()
            self.rows[members] = lane * self.block + np.arange(len(members))

    def members(self, lane: int) -> npt.NDArray[np.int32]:
        """Return the ids of a lane, in the order of its rows."""
        return self._members[self._borders[lane] : self._borders[lane + 1]]


def deal_entities(count: int, lanes: int, seed: int) -> Numbering:
    """Return the lanes of entities.

    Raises
    ------
    InputError
        If there are fewer entities than lanes, so that a lane would have none.
    """
    if count < lanes:
        raise InputError(f"lanes: {lanes:,} are more than the {count:,} entities")
    return Numbering(count, lanes, seed)


def cut(start: int, stop: int, lanes: int) -> npt.NDArray[np.int64]:
    """Return the borders of the lanes of rows `start` to `stop`."""
    return start + (stop - start) * np.arange(lanes + 1) // lanes
