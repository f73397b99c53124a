"""Processes that are forked after kernels have run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

KERNEL = """
import numpy as np
from numba import prange
from transa.kernels.cache import kernel

@kernel(parallel=True, fastmath=True)
def sums(values):
    out = np.zeros(64, np.float32)
    for i in prange(64):
        for j in range(len(values)):
            out[i] += np.float32(values[j] / (i + 1))
    return out
"""

FORKS = """
import multiprocessing, os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import numpy as np
import numba
from kernel_of_test import sums

def work(size):
    return sums(np.arange(size, dtype=np.float32)).tobytes()

def forked(task):
    process = os.fork()
    if not process:
        os._exit(0 if task() else 1)
    return os.waitpid(process, 0)[1] == 0

expected = work(1000)
assert numba.get_num_threads() == 2
assert forked(lambda: work(1000) == expected), "forked"
assert forked(lambda: forked(lambda: work(1000) == expected)), "forked by a forked one"
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, [1000] * 4) == [expected] * 4
assert work(1000) == expected
print(numba.threading_layer())
"""

QUESTIONS = """
import multiprocessing, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import torch, transa

graph = transa.load("nations")

def trained():
    return transa.TransE(dim=4, epochs=2, recipe="paper").fit(graph)

model = trained()
few = [transa.Question(head, "embassy") for head in list(graph.entities)[:3]]
many = [transa.Question(head, relation) for head in graph.entities for relation in list(graph.relations)[:3]]

def answers(questions):
    return [list(map(vars, each)) for each in model.answer(questions)]

def work(_):
    again = trained().model_.entity.vector.tolist()
    large = torch.ones(400, 400) @ torch.ones(400, 400)  # torch as well may not wait for threads that are gone
    return answers(few), answers(many), again, float(large.sum())

expected = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(2)) == [expected] * 2

def refused(_):
    try:
        transa.TransE(dim=4, epochs=1, options=transa.Options(threads=2)).fit(graph)
    except transa.InputError as error:
        return str(error)

with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(refused, [0])[0])
"""


def run(program: str, *folders: Path) -> str:
    environment = os.environ | {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [*folders, *sys.path]))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_parallel_kernels_give_the_same_bits_in_forked_processes(tmp_path: Path) -> None:
    (tmp_path / "kernel_of_test.py").write_text(KERNEL)
    assert run(FORKS, tmp_path).strip() in ("omp", "tbb", "workqueue")


def test_a_model_is_asked_and_trained_in_forked_processes() -> None:
    assert "threads: expected 1 to 1, found 2 (a forked process keeps one" in run(QUESTIONS)
