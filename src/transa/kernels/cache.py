"""The cache of compiled kernels on disk.

Numba keeps compiled code beside its source, or in the user's cache if that folder cannot be written. Its cache has three faults:

- It ignores other processes. Two that compile at once for different types may both take the next free name, and the index of one then
  leads to the code of the other.
- It writes the index before the code. If a process is killed or another reads in between, it may find the code of an earlier version.
- It does not notice changes in functions of other files that a kernel is compiled with.

`kernel` keeps code as numba does, but one process writes at a time, the code before the index, and code is dropped when any source
file of the kernels changes.
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

from transa.kernels.forking import survive_forks

#: Seconds to wait for other processes that write to the cache; after that, code is not kept.
PATIENCE = 60.0
#: Time and size of every source file here. Cached code is valid as long as all are the same.
SOURCES = tuple((s.st_mtime, s.st_size) for s in (f.stat() for f in sorted(Path(__file__).parent.rglob("*.py"))))


class CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel: an index of types, and the code for each.

    Code that cannot be read counts as missing, and code that cannot be kept is compiled again the next time. Neither is an error.
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
    """The cache of one kernel.

    A kernel may call functions that were passed to the function that defines it (see `transa.kernels.training`). Numba identifies
    these by their pickled bytes, which differ in every process. This class identifies them by name and also watches the files that
    define them.
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
        """The path of the index of cached code."""
        return Path(self._cache_file._index_path)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), (code, *(f"{part.__module__}.{part.__qualname__}" for part in self._parts))


def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return the functions that a kernel calls through its closure, and those that they call in the same way."""
    found = []
    for cell in function.__closure__ or ():
        part = getattr(cell.cell_contents, "py_func", None)  # the Python function of a compiled one
        if part is not None:
            found += [part, *_parts(part)]
    return found


def kernel(*, variant: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function like ``numba.njit(cache=True)``, with the cache of this module if its folder can be written.

    Parameters
    ----------
    variant
        Tells kernels apart that the same lines of code define.
    options
        Options of `numba.njit`.
    """

    def compile_when_called(function: Callable[..., Any]) -> Any:
        if options.get("parallel") and not config.DISABLE_JIT:
            survive_forks()
        if variant is not None:
            function.__qualname__ = f"{function.__name__}.{variant}"
        compiled = njit(**options)(function)
        if not config.DISABLE_JIT:
            with suppress(RuntimeError):  # no folder can be written
                compiled._cache = KernelCache(function)
        return compiled

    return compile_when_called


def is_kept(compiled: Any) -> bool:
    """Tell whether the cache holds a kernel, so that it need not be compiled."""
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

    return is_kept(getattr(ranking, f"_{kernel}"))


def are_rules_compiled() -> bool:
    """Tell whether the kernels that mine rules and answer by them have been compiled on this machine."""
    from transa.kernels import chain_rules, constant_rules, rule_answers

    return all(map(is_kept, (chain_rules._count_chains, constant_rules._count_constants, rule_answers._answers)))
