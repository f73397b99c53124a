"""Broken files for every reader and for run folders: what is not taken must end in an error of the package, soon, in little memory.

    python reliability/fuzz.py --inputs 1000000 --seed 0

An input is a function of seed, target and number, so that it can be made again: ``--only TARGET --first NUMBER --inputs 1``. Readers
run in a process of their own, which is watched: one that dies, or is silent for five seconds, has failed at a known input.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import record
from reliability.targets import SHARES, Target, targets

#: The longest an input may take, in seconds.
SECONDS = 5.0
#: How much the resident memory of the process may grow over that after the whole files were read, in MB.
MEGABYTES = 256
#: Failures of a target after which it is given up.
ENOUGH = 20

Report = dict[str, Any]
#: A target and the numbers of its inputs, from the first to before the last.
Job = tuple[str, int, int]


def main() -> int:
    """Fuzz, print what was found, write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all, over all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(SHARES), help="this target; repeatable")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input of each target")
    parser.add_argument("--add", action="store_true", help="add to the record instead of replacing it")
    parser.add_argument("--no-record", action="store_true")
    asked = parser.parse_args()
    started = time.time()
    shares = {name: share for name, share in SHARES.items() if not asked.only or name in asked.only}
    numbers = {name: max(1, round(asked.inputs * share / sum(shares.values()))) for name, share in shares.items()}
    found: dict[str, Report] = {}
    for report in fuzz([(name, asked.first, asked.first + number) for name, number in numbers.items()], asked.seed):
        merge(found, report)
        print(
            f"{report['target']:<18} {report['inputs']:>9,} inputs, {report['taken']:>9,} taken, {len(report['failures'])} failures, "
            f"slowest {report['slowest_seconds']:.2f} s, memory +{report['grown_megabytes']} MB, {report['seconds']:.0f} s",
            flush=True,
        )
    failures = [f"{name}: {each}" for name, report in found.items() for each in report["failures"]]
    print("\n".join(failures) or "no failure")
    if not asked.no_record:
        run = {
            "seed": asked.seed,
            "first": asked.first,
            "wall_seconds": round(time.time() - started, 1),
            "targets": found,
        }
        runs = [*(record.load("reliability_fuzz").get("runs", []) if asked.add else []), run]
        total = sum(report["inputs"] for each in runs for report in each["targets"].values())
        bounds = {"seconds": SECONDS, "megabytes": MEGABYTES}
        print(record.save("reliability_fuzz", started, inputs=total, bounds=bounds, runs=runs))
    return 1 if failures else 0


def merge(found: dict[str, Report], report: Report) -> None:
    """Add a report to those of the same target."""
    former = found.setdefault(report["target"], dict(report))
    if former["first"] != report["first"]:
        for name in ("inputs", "taken", "failures", "seconds"):
            former[name] = former[name] + report[name]
        for name in ("slowest_seconds", "grown_megabytes"):
            former[name] = max(former[name], report[name])


def fuzz(jobs: list[Job], seed: int) -> Iterator[Report]:
    """Feed targets their inputs in a process that is watched; one that dies or hangs goes on after the input at fault."""
    context = mp.get_context("spawn")  # a process that is forked could not use threads
    while jobs:
        at: Synchronized[int] = context.Value("q", -1)
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_worker, args=(jobs, seed, at, there))
        process.start()
        there.close()
        since, last = time.monotonic(), -1
        while jobs:
            if here.poll(0.2):
                try:
                    yield here.recv()
                except EOFError:
                    break
                jobs = jobs[1:]
                since = time.monotonic()
            if at.value != last:
                last, since = at.value, time.monotonic()
            elif time.monotonic() - since > (60 if last < 0 else 2 * SECONDS):  # on a busy machine all takes longer
                process.kill()
                break
        process.join()
        if jobs:  # it did not come to the end
            name, first, stop = jobs[0]
            wrong = max(at.value, first)
            why = "hangs" if process.exitcode == -9 else f"the process died with code {process.exitcode}"
            yield {**_report(name, first), "inputs": wrong + 1 - first, "failures": [f"input {wrong}: {why}"]}
            jobs = [*([(name, wrong + 1, stop)] if wrong + 1 < stop else []), *jobs[1:]]


def _worker(jobs: list[Job], seed: int, at: Synchronized[int], pipe: Any) -> None:
    warnings.simplefilter("error")
    for name, first, stop in jobs:
        pipe.send(inputs_of(targets()[name], seed, first, stop, at))
        at.value = -1


def inputs_of(target: Target, seed: int, first: int, stop: int, at: Any = None) -> Report:
    """Feed a target some inputs in this process, `at` telling others which one it is at."""
    report = _report(target.name, first)
    started = time.perf_counter()
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as place:
        folder = Path(place)
        target.prepare(folder)
        try:
            target.read(folder)
        except Exception as error:
            report["failures"].append(f"the whole files are not read: {_told(error)}")
            return report
        before = _peak()
        for number in range(first, stop):
            if at is not None:
                at.value = number
            began = time.process_time()
            name, content = target.input(seed, number)
            try:
                report["taken"] += target.accepts(folder, name, content)
            except Exception as error:
                report["failures"].append(f"input {number}: {name}: {_told(error)}")
            seconds, grown = time.process_time() - began, _peak() - before
            if seconds > SECONDS:
                report["failures"].append(f"input {number}: {name}: took {seconds:.1f} s")
            if grown > max(MEGABYTES, report["grown_megabytes"]):
                report["failures"].append(f"input {number}: {name}: memory grew by {grown} MB")
            report["slowest_seconds"] = max(report["slowest_seconds"], round(seconds, 3))
            report["grown_megabytes"] = max(report["grown_megabytes"], grown)
            report["inputs"] += 1
            if len(report["failures"]) >= ENOUGH:
                break
    report["seconds"] = round(time.perf_counter() - started, 1)
    return report


def _told(error: Exception) -> str:
    """Return an error with the place it comes from."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"


def _report(name: str, first: int) -> Report:
    nothing = {"inputs": 0, "taken": 0, "slowest_seconds": 0.0, "grown_megabytes": 0, "seconds": 0.0}
    return {"target": name, "first": first, **nothing, "failures": []}


def _peak() -> int:
    """Return the largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1 << 20)


if __name__ == "__main__":
    sys.exit(main())
