"""Compiled kernels and where they are kept.

Numba keeps compiled code beside its source, or in the user's cache where that folder cannot be written. It does so without regard to
other processes: two that compile at once for different types may both take the next free name, and the index of one then leads to the
code of the other. And it writes the index before the code: whoever is killed in between, or reads in between, may find under that name
the code of an earlier version. Nor does it see that a function of another file, which the kernel is compiled with, has changed.
`kernel` keeps code as numba does, but one process after the other, the code before the index, and none longer than any source of a
kernel stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock
from numba import njit
from numba.core.caching import IndexDataCacheFile

#: Seconds to wait for other processes that keep code; then it is not kept.
PATIENCE = 60.0
#: Time and size of every source here. Code is of use as long as all are the same.
SOURCES = tuple((s.st_mtime, s.st_size) for s in (f.stat() for f in sorted(Path(__file__).parent.glob("*.py"))))


class CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel: an index of types, and the code for each.

    Code that cannot be read is as good as none, and code that cannot be kept is compiled again the next time: neither is an error.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep the code for some types."""
        with suppress(OSError), FileLock(f"{self._index_path}.lock", timeout=PATIENCE):
            names = self._load_index()
            if key not in names:
                names[key] = next(name for name in map(self._data_name, count(1)) if name not in names.values())
            self._save_data(names[key], data)
            self._save_index(names)

    def load(self, key: Any) -> Any:
        """Return the code for some types, or None."""
        with suppress(Exception):
            return super().load(key)

    def _load_index(self) -> Any:
        with suppress(Exception):
            return super()._load_index()
        return {}


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit(cache=True)`` does, and keep the code as this module says, where a folder can be written."""

    def compile_when_called(function: Callable[..., Any]) -> Any:
        compiled = njit(**options)(function)
        with suppress(RuntimeError, AttributeError):  # no folder; or with NUMBA_DISABLE_JIT a plain function
            compiled.enable_caching()
            compiled._cache._cache_file.__class__ = CacheFile
            compiled._cache._cache_file._source_stamp = SOURCES
        return compiled

    return compile_when_called


def is_compiled(kernel: str) -> bool:
    """Tell whether one of the large kernels (gradient_phase, count_better, best_answers) has been compiled on this machine before."""
    from transa.kernels import ranking, training

    module, name = (training, kernel) if hasattr(training, kernel) else (ranking, f"_{kernel}")
    statistics = getattr(getattr(module, name), "stats", None)
    if statistics is None:  # the compiler is switched off
        return True
    return any(Path(statistics.cache_path or ".").glob(f"{module.__name__.rpartition('.')[2]}.{name}-*.nbi"))
