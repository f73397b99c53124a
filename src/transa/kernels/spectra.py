"""The outer eigenpairs of full metrics, from which ranking bounds scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import prange

from transa.kernels.cache import kernel
from transa.kernels.exact import heaviest_row
from transa.kernels.rank_types import Full

#: Eigenvectors that bound the full metric where one is not enough.
AXES = 8


def without_spectra(table: npt.NDArray[Any]) -> Full:
    """Return a full metric with room for the eigenpairs of each relation."""
    relations, size, _ = table.shape
    number = min(AXES, size)
    axes = np.zeros((relations, number, size), table.dtype)
    return Full(table, axes, np.zeros((relations, number)), np.zeros((relations, 5)))


def fill_spectra(metric: Full, relations: npt.NDArray[np.int64]) -> None:
    """Write the outer eigenpairs of the W_r of some relations: some 10 k^3 operations each.

    Axes are taken one by one from that end of the spectrum where the range of what is left shrinks most. `Full.axes` and `Full.values`
    are these eigenvectors and eigenvalues. `Full.ranges` holds the smallest and the largest of the other eigenvalues, first beside one
    axis, then beside all of them; a fifth number is 0 where no entry of W_r is negative, and otherwise what `heaviest_row` returns.
    """
    _fill_spectra(metric.table, relations, metric.axes, metric.values, metric.ranges)


@kernel(parallel=True)
def _fill_spectra(table, relations, axes, values, ranges):
    size, number = table.shape[1], axes.shape[1]
    for turn in prange(len(relations)):
        relation = relations[turn]
        whole = table[relation].astype(np.float64)
        found, vectors = np.linalg.eigh((whole + whole.T) / 2)
        low, high = 0, size - 1
        for axis in range(number):
            upwards = low == high or found[high] - found[high - 1] >= found[low + 1] - found[low]
            taken = high if upwards else low
            low, high = (low, high - 1) if upwards else (low + 1, high)
            values[relation, axis] = found[taken]
            for i in range(size):
                axes[relation, axis, i] = vectors[i, taken]
            if axis == 0 or axis == number - 1:
                place = 0 if axis == 0 else 2
                ranges[relation, place] = found[low] if low <= high else 0.0
                ranges[relation, place + 1] = found[high] if low <= high else 0.0
        if number == 1:
            ranges[relation, 2:4] = ranges[relation, :2]
        if whole.min() < 0:
            ranges[relation, 4] = heaviest_row(table, relation)
