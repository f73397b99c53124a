"""Whether this process was forked, and so is left with one thread.

OpenMP, by which torch and the compiled kernels run on several threads, does not outlive a fork: its threads stay behind in the first
process, and the new one would wait for them for ever. From then on everything runs on the thread that calls it.
"""

from __future__ import annotations

import ctypes
import os
import sys

#: 1 in a process that was forked after torch or numba had been loaded. Compiled code reads it (`transa.kernels.forking`).
FORKED = ctypes.c_byte(0)


def is_forked() -> bool:
    """Tell whether this process was forked after torch or numba had been loaded."""
    return bool(FORKED.value)


def _keep_one_thread() -> None:
    torch = sys.modules.get("torch")
    if torch is not None or "numba" in sys.modules:
        FORKED.value = 1
    if torch is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_one_thread)
