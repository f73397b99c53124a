"""Threads: how many, and that libraries do not start more of their own inside ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from transa.errors import InputError


def set_threads(threads: int | None) -> int:
    """Use this many threads in kernels and torch, by default all processors; return how many."""
    import numba
    import torch

    available = numba.config.NUMBA_NUM_THREADS
    if threads is not None and not 1 <= threads <= available:
        raise InputError(f"threads: expected 1 to {available}, found {threads}")
    chosen = threads or available
    numba.set_num_threads(chosen)
    torch.set_num_threads(chosen)
    return chosen


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products inside parallel kernels to the thread they are called from."""
    import scipy.linalg.cython_blas  # noqa: F401  (kernels call it; it must be loaded for its threads to be limited)

    with threadpool_limits(1, user_api="blas"):
        yield


def dealt(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return an order of work that a parallel loop cuts into even parts: the largest are dealt out in turn, as cards."""
    import numba

    hands = numba.get_num_threads()
    order = np.argsort(-sizes, kind="stable")
    return np.concatenate([order[hand::hands] for hand in range(hands)])
