"""How many threads to use, how they share work, and how to keep libraries from starting their own inside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from transa.errors import InputError
from transa.forked import is_forked


def set_threads(threads: int | None) -> int:
    """Set the number of threads for kernels and torch, by default one for each processor, and return it."""
    import numba
    import torch

    available = 1 if is_forked() else numba.config.NUMBA_NUM_THREADS
    if threads is not None and not 1 <= threads <= available:
        why = " (a forked process keeps one; start processes by spawn)" if is_forked() else ""
        raise InputError(f"threads: expected 1 to {available}, found {threads}{why}")
    chosen = threads or available
    numba.set_num_threads(chosen)
    torch.set_num_threads(chosen)
    return chosen


def share(work: Callable[[int], object], parts: int) -> None:
    """Call `work` with each number below `parts`, on as many threads as kernels may use.

    What it calls must release the interpreter's lock (``kernel(nogil=True)``). Where a part takes a millisecond or so, handing
    it to a thread costs little, and a kernel without a parallel loop inside compiles in half the time.
    """
    import numba

    threads = 1 if is_forked() else min(parts, numba.get_num_threads())
    for _ in map(work, range(parts)) if threads == 1 else _pool(threads).map(work, range(parts)):
        pass


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "transa")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Make matrix products inside parallel kernels run on the thread that calls them."""
    import scipy.linalg.cython_blas  # noqa: F401  (kernels call it, and its threads can only be limited once it is loaded)

    with threadpool_limits(1, user_api="blas"):
        yield


def dealt(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return an order of work that a parallel loop divides evenly: threads get tasks in turn, largest first, like dealt cards."""
    import numba

    hands = numba.get_num_threads()
    order = np.argsort(-sizes, kind="stable")
    return np.concatenate([order[hand::hands] for hand in range(hands)])
