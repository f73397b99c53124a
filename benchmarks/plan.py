"""What `transa train --plan` says beside the peak of memory that training has: generated graphs of several sizes, two workers.

    python benchmarks/plan.py                       # all sizes, about four minutes on one core
    python benchmarks/plan.py --size small          # one of them; the record keeps the others

The peak is the proportional set size of all processes together (shared pages count once), without that of torchrun itself.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from record import load, save
from scale import Watched, generate, training

RECORD = "benchmark_plan"
#: Entities, relations, triples, k.
SIZES = {
    "small": (20_000, 200, 100_000, 64),
    "middle": (200_000, 500, 400_000, 128),
    "large": (800_000, 1_000, 800_000, 128),
}


def measure(size: tuple[int, int, int, int], workers: int = 2) -> dict[str, Any]:
    """Train one epoch on a generated graph; return what was planned and what was taken."""
    entities, relations, triples, dim = size
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        generate(work / "text", entities, relations, triples)
        Watched("convert", str(work / "text"), str(work / "graph"), "--memory", "1GB")
        shared = ("--workers", str(workers))
        planned = json.loads(Watched(*training(work / "graph", work / "run", dim, 64, 1, *shared, "--plan")).output)
        trained = Watched(*training(work / "graph", work / "run", dim, 64, 1, *shared))
    planned_bytes, peak = planned["bytes_in_all"], trained.peak - trained.of_first
    sizes = {"entities": entities, "triples": triples, "dim": dim, "workers": workers, "torchrun": trained.of_first}
    return {**sizes, "planned": planned_bytes, "peak": peak, "ratio": round(planned_bytes / peak, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, help="only this one")
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    found = load(RECORD).get("sizes", {})
    for name in [given.size] if given.size else SIZES:
        found[name] = measure(SIZES[name])
        print(name, json.dumps(found[name]), flush=True)
    if not given.no_record:
        print(save(RECORD, started, sizes={name: found[name] for name in SIZES if name in found}))


if __name__ == "__main__":
    main()
