"""The order of an epoch: compute a permutation, and copy the triples in its order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import prange

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.random import half_bits, shuffled_position
from transa.kernels.threads import share

#: Positions of a part of `shuffle`.
SHARED = 1 << 17


def shuffle(key: np.uint64, order: npt.NDArray[np.int64]) -> None:
    """Fill `order` with the permutation that `key` selects."""
    share(
        lambda part: _shuffle(key, order, part * SHARED, min(len(order), (part + 1) * SHARED)), -(-len(order) // SHARED)
    )


@kernel(nogil=True)
def _shuffle(key, order, start, stop):
    half = half_bits(len(order))
    for i in range(start, stop):
        order[i] = shuffled_position(i, len(order), half, key)


def arrange(triples: Array, spans: Array, order: npt.NDArray[np.int64], to_triples: Array, to_spans: Array) -> None:
    """Copy triples and their spans in an order."""
    _arrange(triples, spans, order, to_triples, to_spans)


@kernel(parallel=True)
def _arrange(triples, spans, order, to_triples, to_spans):
    for i in prange(len(order)):
        for c in range(triples.shape[1]):
            to_triples[i, c] = triples[order[i], c]
        for c in range(spans.shape[1]):
            to_spans[i, c] = spans[order[i], c]
