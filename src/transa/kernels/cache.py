"""Compiled kernels and where they are kept.

Numba keeps compiled code beside its source, or in the user's cache where that folder cannot be written. It does so without regard to
other processes: two that compile at once for different types may both take the next free name, and the index of one then leads to the
code of the other. And it writes the index before the code: whoever is killed in between, or reads in between, may find under that name
the code of an earlier version. Nor does it see that a function of another file, which the kernel is compiled with, has changed.
`kernel` keeps code as numba does, but one process after the other, the code before the index, and none longer than any source of a
kernel stays as it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock
from numba import config, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

#: Seconds to wait for other processes that keep code; then it is not kept.
PATIENCE = 60.0
#: Time and size of every source here. Code is of use as long as all are the same.
SOURCES = tuple((s.st_mtime, s.st_size) for s in (f.stat() for f in sorted(Path(__file__).parent.rglob("*.py"))))


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


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The kept code of one kernel.

    A kernel may be made of functions that are handed to whatever defines it (see `transa.kernels.training`). Numba tells such
    kernels apart by pickling these functions, which gives other bytes in every process. Here they go by their names, and the files
    that hold them are looked at as the files of this package are.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._parts = _parts(function)
        files = sorted({part.__code__.co_filename for part in (function, *self._parts)})
        stamp = SOURCES + tuple((s.st_mtime, s.st_size) for s in map(os.stat, files))
        base = self._impl.filename_base
        self._cache_file = CacheFile(cache_path=self._cache_path, filename_base=base, source_stamp=stamp)

    @property
    def index(self) -> Path:
        """Where the index of kept code stands."""
        return Path(self._cache_file._index_path)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), (code, *(f"{part.__module__}.{part.__qualname__}" for part in self._parts))


def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return the functions that were handed to the definition of a kernel, and to theirs."""
    found = []
    for cell in function.__closure__ or ():
        part = getattr(cell.cell_contents, "py_func", None)  # the Python function of a compiled one
        if part is not None:
            found += [part, *_parts(part)]
    return found


def kernel(*, variant: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit(cache=True)`` does, and keep the code as this module says, where a folder can be written.

    Parameters
    ----------
    variant
        Keeps the code of kernels apart that the same lines define.
    options
        Those of `numba.njit`.
    """

    def compile_when_called(function: Callable[..., Any]) -> Any:
        if variant is not None:
            function.__qualname__ = f"{function.__name__}.{variant}"
        compiled = njit(**options)(function)
        if not config.DISABLE_JIT:
            with suppress(RuntimeError):  # no folder can be written
                compiled._cache = KernelCache(function)
        return compiled

    return compile_when_called


def is_kept(compiled: Any) -> bool:
    """Tell whether the code of a kernel has been kept on this machine before, so that it need not be compiled."""
    cache = getattr(compiled, "_cache", None)
    return config.DISABLE_JIT or (isinstance(cache, KernelCache) and cache.index.exists())


def is_compiled(kernel: str, score: str) -> bool:
    """Tell whether a large kernel (gradient_phase, count_better, best_answers) has been compiled on this machine for a score."""
    if kernel == "gradient_phase":
        from transa.kernels.scores import RowScore, find_score
        from transa.kernels.training import compiled_phases

        found = find_score(score)
        return not isinstance(found, RowScore) or is_kept(compiled_phases(found)[0])
    from transa.kernels import ranking

    return is_kept(getattr(ranking, kernel))
