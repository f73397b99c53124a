"""Training, evaluating, classifying, predicting, keeping and loading, again and again in one process: nothing may grow.

    python reliability/soak.py --minutes 60

Memory, open files and threads are written down after each pass over all models. What comes after the first fifth of the time (and
after two passes) counts: its last quarter may hold no more open files and threads than its first, and no more than 5 % and 16 MB more
memory. Otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import record
from transa.data import load
from transa.estimators import ESTIMATORS, load_model

#: What memory may grow by between the first and the last quarter: a share, and MB beside it.
SHARE, MEGABYTES = 0.05, 16
#: Passes over all models that are warm-up in any case.
WARM_PASSES = 2
#: Passes that have to follow before anything can be said.
LEAST = 4


def main() -> int:
    """Soak, print what was measured, write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--model", action="append", choices=sorted(ESTIMATORS), help="by default all; repeatable")
    parser.add_argument("--no-record", action="store_true")
    asked = parser.parse_args()
    started = time.time()
    samples: list[dict[str, float]] = []
    while time.time() - started < 60 * asked.minutes:
        for name in asked.model or ESTIMATORS:
            work(name)
        gc.collect()
        samples.append({"minutes": round((time.time() - started) / 60, 2), **measure()})
        print(
            f"{samples[-1]['minutes']:7.2f} min, pass {len(samples)}: {samples[-1]['megabytes']:.0f} MB, "
            f"{samples[-1]['files']} files, {samples[-1]['threads']} threads",
            flush=True,
        )
    warm = max(WARM_PASSES, sum(sample["minutes"] < asked.minutes / 5 for sample in samples))
    verdict = judge(samples[warm:])
    print(verdict["says"])
    if not asked.no_record:
        figures = {"minutes": asked.minutes, "passes": len(samples), "warm_passes": warm, "verdict": verdict}
        print(record.save("reliability_soak", started, **figures, samples=samples))
    return 0 if verdict["flat"] else 1


def work(name: str) -> None:
    """Do with one model what people do."""
    graph = load("nations")
    model = ESTIMATORS[name](dim=8, epochs=2, validate_every=1, validate_sample=50).fit(graph)
    model.evaluate(graph, limit=50).summary()
    model.classify(graph).summary()
    model.predict(head=graph.entities[0], relation=graph.relations[0])
    with TemporaryDirectory() as place:
        model.save(Path(place) / "run")
        load_model(Path(place) / "run").predict(tail=graph.entities[0], relation=graph.relations[0])


def measure() -> dict[str, float]:
    """Return the resident memory in MB, and the numbers of open files and of threads."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "megabytes": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def judge(samples: list[dict[str, float]]) -> dict[str, object]:
    """Compare the last quarter of the samples with the first."""
    if len(samples) < LEAST:
        return {"flat": False, "says": f"too short: {len(samples)} passes after warm-up, {LEAST} are needed"}
    quarter = len(samples) // 4
    first, last = samples[:quarter], samples[-quarter:]
    before, after = (median(sample["megabytes"] for sample in some) for some in (first, last))
    grown = {
        name: max(sample[name] for sample in last) - max(sample[name] for sample in first)
        for name in ("files", "threads")
    }
    flat = after - before <= SHARE * before + MEGABYTES and not any(more > 0 for more in grown.values())
    says = (
        f"{'flat' if flat else 'NOT FLAT'}: memory {before:.0f} -> {after:.0f} MB, "
        f"open files {grown['files']:+.0f}, threads {grown['threads']:+.0f}"
    )
    return {"flat": flat, "megabytes_first": before, "megabytes_last": after, **grown, "says": says}


if __name__ == "__main__":
    sys.exit(main())
