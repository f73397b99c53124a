"""Reading: FB15K against PyKEEN in the same run, and ten million generated triples.

TRANSA_DATA=... python benchmarks/reading.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from record import save

REPEATS = 5
TRIPLES, ENTITIES, RELATIONS, SEED = 10_000_000, 1_000_000, 500, 0

#: Run in a process of its own, so that the peak memory is that of reading alone.
READ_BIG = """
import sys, time
import transa
started = time.perf_counter()
graph = transa.load(sys.argv[1])
seconds = time.perf_counter() - started
graph.training_facts.tails
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
print(len(graph), len(graph.entities), seconds, peak)
"""


def seconds(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def fb15k() -> dict[str, object]:
    from pykeen.triples import TriplesFactory

    import transa
    from transa.data.registry import locate

    train = str(locate("fb15k") / "train.txt")
    ours, theirs = [], []
    transa.load(train), TriplesFactory.from_path(train)  # imports and the first touch of the file
    for _ in range(REPEATS):  # in turn, so that a noisy moment hits both
        ours.append(seconds(lambda: transa.load(train)))
        theirs.append(seconds(lambda: TriplesFactory.from_path(train)))
    return {
        "file": "FB15K/train.txt (483,142 triples)",
        "transa_seconds": statistics.median(ours),
        "pykeen_seconds": statistics.median(theirs),
        "ratio": statistics.median(theirs) / statistics.median(ours),
        "repeats": REPEATS,
    }


def ten_million() -> dict[str, object]:
    random = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.tsv"
        with path.open("w") as file:
            for _ in range(10):
                size = TRIPLES // 10
                heads, tails = random.integers(0, ENTITIES, (2, size)).tolist()
                relations = random.integers(0, RELATIONS, size).tolist()
                rows = zip(heads, relations, tails, strict=True)
                file.write("".join(f"entity_{h}\trelation_{r}\tentity_{t}\n" for h, r, t in rows))
        megabytes = path.stat().st_size / 1e6
        output = subprocess.run(
            [sys.executable, "-c", READ_BIG, path], capture_output=True, text=True, check=True
        ).stdout
    triples, entities, took, peak = output.split()
    return {
        "triples": int(triples),
        "entities": int(entities),
        "seed": SEED,
        "file_megabytes": megabytes,
        "seconds": float(took),
        "peak_memory_gigabytes": float(peak) / 1e9,
    }


if __name__ == "__main__":
    started = time.time()
    small = fb15k()
    print(
        "FB15K   transa {transa_seconds:.3f} s, PyKEEN {pykeen_seconds:.3f} s: {ratio:.1f} times faster".format(**small)
    )
    big = ten_million()
    print("10M     {seconds:.1f} s, peak memory {peak_memory_gigabytes:.2f} GB".format(**big))
    print(save("benchmark_reading", started, fb15k=small, ten_million=big))
