"""Compiled kernels on disk: several processes at once, files that are damaged, a disk that is full."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.caching import Cache, IndexDataCacheFile

from transa.kernels.cache import SOURCES, CacheFile, KernelCache

SOURCE = """
from transa.kernels.cache import kernel

@kernel()
def total(values):
    result = values[0] * 0
    for value in values:
        result += value
    return result + {more}
"""
KINDS = ("int32", "int64", "float32", "float64")


def write(folder: Path, more: int) -> Path:
    path = folder / "kernels_of_test.py"
    path.write_text(SOURCE.format(more=more))
    return path


def fresh(path: Path) -> Any:
    """Return the kernel as another process would see it: nothing compiled in memory."""
    spec = importlib.util.spec_from_file_location("kernels_of_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.total


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


AT_ONCE = """
import multiprocessing, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from kernels_of_test import total

kinds = sys.argv[2:]
fork = multiprocessing.get_context("fork")
together = fork.Barrier(len(kinds))

def work(kind):
    together.wait()
    assert total(np.arange(4, dtype=kind)) == 6

workers = [fork.Process(target=work, args=(kind,)) for kind in kinds]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert [worker.exitcode for worker in workers] == [0] * len(kinds)
for kind in kinds:
    assert total(np.arange(4, dtype=kind)) == 6, kind
print(sum(total.stats.cache_hits.values()))
"""


def test_numba_has_what_is_replaced_in_it(tmp_path: Path) -> None:
    """Kernels that this module could not keep would be kept as numba does, without a word: a new version of numba is tried here."""
    cache = fresh(write(tmp_path, 0))._cache
    assert type(cache) is KernelCache
    kept = cache._cache_file
    assert type(kept) is CacheFile
    assert kept._source_stamp[: len(SOURCES)] == SOURCES
    assert {"_index_key"} <= vars(Cache).keys()
    assert {"_py_func", "_impl", "_cache_path"} <= vars(cache).keys()
    replaced = {"save", "load", "_load_index"}
    used = {"_data_name", "_save_data", "_save_index"}
    assert replaced | used <= vars(IndexDataCacheFile).keys()
    assert {"_index_path", "_source_stamp"} <= vars(IndexDataCacheFile(str(tmp_path), "name", ())).keys()


def test_processes_that_compile_at_once_all_keep_their_code(tmp_path: Path) -> None:
    write(tmp_path, 0)
    command = [sys.executable, "-c", AT_ONCE, str(tmp_path), *KINDS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(KINDS)  # of what the others compiled, nothing was lost


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_file_is_compiled_anew(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, 0)
    kernel = fresh(path)
    assert kernel(np.arange(4)) == 6
    (damaged,) = Path(kernel.stats.cache_path).glob(f"*.{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:20])
    again = fresh(path)
    assert again(np.arange(4)) == 6
    assert hits(again) == 0
    third = fresh(path)
    assert third(np.arange(4)) == 6
    assert hits(third) == 1


def test_code_of_an_earlier_version_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 0)
    assert fresh(path)(np.arange(4)) == 6

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = write(tmp_path, 100)
    with monkeypatch.context() as patch:
        patch.setattr(CacheFile, "_save_data", full)
        assert fresh(path)(np.arange(4)) == 106  # what cannot be kept is no error
    assert fresh(path)(np.arange(4)) == 106


def test_where_no_folder_can_be_written_kernels_run_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core.caching import FunctionCache

    def nowhere(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(FunctionCache, "__init__", nowhere)
    assert fresh(write(tmp_path, 0))(np.arange(4)) == 6
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_change_in_any_source_of_a_kernel_makes_what_was_kept_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of other files are compiled into kernels, and numba looks at the kernel's own file alone."""
    path = write(tmp_path, 0)
    values = np.ones(3)
    assert fresh(path)(values) == 3
    again = fresh(path)
    assert again(values) == 3
    assert hits(again) == 1
    monkeypatch.setattr("transa.kernels.cache.SOURCES", ((0.0, 0),))
    changed = fresh(path)
    assert changed(values) == 3
    assert hits(changed) == 0


TRAINING = """
import hashlib, sys
import transa
from transa.training import Trainer, recipe_from

graph = transa.load("nations")
for model, norm in (("transe", 1), ("transh", 1), ("transh", 2)):
    trained = Trainer(graph, recipe_from({"model": model, "norm": norm, "dim": 50, "epochs": 2})).fit()
    print(hashlib.sha256(b"".join(table.numpy().tobytes() for table in trained.tensors().values())).hexdigest())
"""


@pytest.mark.slow
def test_code_from_the_disk_gives_the_bits_of_code_just_compiled(tmp_path: Path) -> None:
    def train() -> str:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", TRAINING], env=environment, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return done.stdout

    compiled = train()
    assert len(compiled.splitlines()) == 3
    assert train() == compiled
