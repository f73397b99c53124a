"""How long a command takes that asks a small run one thing or trains one epoch, from its start to its end, beside ``import torch``;
and how long the first training takes on a machine that has compiled no kernel yet.

python benchmarks/starting.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import save

REPEATS = 7
#: A run that is trained each time.
NEW = "trained-anew"
TRIPLE = ("virus", "causes", "disease_or_syndrome")
TRAIN = ("train", "umls", "--recipe", "paper", "--set", "epochs=20", "--out")


def commands(folder: Path) -> dict[str, list[str]]:
    """Train a small run, and return what is measured."""
    transa, run, triples = [sys.executable, "-m", "transa"], str(folder / "run"), folder / "triples.tsv"
    triples.write_text("\t".join(TRIPLE) + "\n")
    subprocess.run([*transa, *TRAIN, run], check=True, capture_output=True)
    return {
        "import torch": [sys.executable, "-c", "import torch"],
        "predict": [*transa, "predict", run, "--head", TRIPLE[0], "--relation", TRIPLE[1]],
        "check": [*transa, "check", run, str(triples)],
        "explain": [*transa, "explain", run, *TRIPLE],
        "train": [*transa, "train", "umls", "--set", "epochs=1", "--out", str(folder / NEW)],
    }


def measured(command: list[str], **environment: str) -> tuple[float, float]:
    """Return the seconds of wall time and of processor time that a command takes."""
    if NEW in command[-1]:
        shutil.rmtree(command[-1], ignore_errors=True)
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | environment
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def main() -> None:
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        measuring = commands(Path(folder))
        for command in measuring.values():  # compiles kernels, and keeps the calibration
            measured(command)
        rounds = [{name: measured(command) for name, command in measuring.items()} for _ in range(REPEATS)]
        first = measured(measuring["train"], NUMBA_CACHE_DIR=str(Path(folder) / "kernels"))
    figures = {}
    for place, kind in enumerate(("wall", "processor")):
        least = {name: min(each[name][place] for each in rounds) for name in measuring}
        torch = least.pop("import torch")
        figures[kind] = {
            "import_torch_seconds": torch,
            "seconds": least,
            "ratio_to_import_torch": {name: seconds / torch for name, seconds in least.items()},
            "seconds_of_the_first_training": first[place],
        }
    print(save("benchmark_starting", started, train=" ".join(TRAIN[:-1]), repeats=REPEATS, **figures).read_text())


if __name__ == "__main__":
    main()
