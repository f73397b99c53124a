"""Kill training at random moments, go on each time, and compare the end with a run that nobody killed: every table, bit by bit.

    python reliability/crash.py                           # UMLS and WN18, 50 kills each
    python reliability/crash.py --dataset umls --kills 10 --seed 3

Each kill is a SIGKILL to a process that runs the very command ``transa train``. Every third one is aimed at a checkpoint being written:
when its temporary name appears the process is halted, and killed if the name is still there. The others come at a moment drawn evenly
from the time an undisturbed run takes, so that some hit the start, before there is a checkpoint. After every kill all files of the run
folder are read. A run that ends is compared, and another is begun, until there were as many kills as asked for.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from transa.storage import leftovers
from transa.training import RunFolder
from transa.training.run import WRITTEN

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from record import save

COMMON = ["--model", "transa", "--recipe", "modern", "--checkpoint-epochs", "1", "--set", "validate_sample=200"]
#: What is trained: some seconds each, with everything that a run can write.
TRAINED = {
    "umls": ["--set", "epochs=40", "--set", "validate_every=5", "--set", "negatives=8"],
    "wn18": ["--set", "epochs=12", "--set", "validate_every=4", "--set", "dim=20", "--set", "negatives=4"],
}
OTHERS = [name for name in WRITTEN if name != "checkpoint.safetensors"]
TENSORS = ("checkpoint.safetensors", "best.safetensors", "weights.safetensors")


def run_command(arguments: list[str], log: Path) -> None:
    """Be the process of one command."""
    from transa.cli import main

    with log.open("ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["transa", *arguments]
    main()


def _state(process: int) -> str:
    """Return the letter by which the system tells the state of a process: T for halted; X where there is none any more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


class Crashes:
    """Runs of one command in a folder, killed and resumed.

    Parameters
    ----------
    dataset
        What to train on.
    work
        Where to keep the runs.
    chance
        Draws the moments.
    more
        Further options of the command.
    """

    def __init__(self, dataset: str, work: Path, chance: random.Random, more: list[str]) -> None:
        self.work = work
        self.chance = chance
        self.arguments = ["train", dataset, *COMMON, *TRAINED[dataset], *more]
        self.log = work / f"{dataset}.log"
        self.processes = multiprocessing.get_context("forkserver")  # what is imported once is there in each process
        self.processes.set_forkserver_preload(["transa.cli", "transa.training", "transa.training.row_engine"])
        self.whole = work / f"{dataset}-whole"
        for name in ("compiling", "whole"):  # the first compiles kernels, which takes time that no later one needs
            started = time.monotonic()
            self._finish(work / f"{dataset}-{name}")
            self.seconds = time.monotonic() - started
        self.found: Counter[str] = Counter()
        self.attempts = 0

    def make(self, kills: int) -> dict[str, Any]:
        """Kill as often as asked for; return what was met."""
        runs = 0
        while self.found["kills"] < kills:
            runs += 1
            folder = self.work / f"run-{runs}"
            epoch_before = -1
            while self.found["kills"] < kills and self._killed(folder, kind := self._kind()):
                self.found["kills"] += 1
                self.found[f"aimed at {kind}"] += 1
                epoch_now = self._read_all(folder)
                if epoch_now < epoch_before:
                    raise SystemExit(f"{folder}: the checkpoint went back from epoch {epoch_before} to {epoch_now}")
                epoch_before = epoch_now
            self._finish(folder)
            self._compare(folder)
        return {"runs": runs, "seconds of an undisturbed run": round(self.seconds, 1), **self.found}

    def _kind(self) -> str:
        self.attempts += 1
        return "a checkpoint being written" if self.attempts % 3 == 1 else "any moment"

    def _start(self, folder: Path) -> Any:
        resume = ["--resume"] if (folder / "config.json").exists() else []
        arguments = [*self.arguments, "--out", str(folder), *resume]
        process = self.processes.Process(target=run_command, args=(arguments, self.log))
        process.start()
        return process

    def _killed(self, folder: Path, kind: str) -> bool:
        """Start or resume the run and kill it; False if it came to its end before."""
        process = self._start(folder)
        if kind == "any moment":
            process.join(self.chance.uniform(0, self.seconds))
        else:
            self._wait_for_checkpoint(process, folder, self.chance.randrange(10))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode not in (0, -signal.SIGKILL):
            raise SystemExit(f"{folder}: exit code {process.exitcode}\n{self.log.read_text()}")
        return bool(process.exitcode)

    def _wait_for_checkpoint(self, process: Any, folder: Path, skipped: int) -> None:
        """Return with the process halted while it writes a checkpoint, after it has written some, or when it has ended."""
        seen: set[Path] = set()
        while process.is_alive():
            new = set(leftovers(folder, "checkpoint.safetensors")) - seen
            seen |= new
            if new and len(seen) > skipped:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGSTOP)
                while _state(process.pid) not in "TZX":
                    time.sleep(0.0003)
                if any(path.exists() for path in new):
                    return
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.0003)  # writing takes longer, and the process needs the processor

    def _finish(self, folder: Path) -> None:
        process = self._start(folder)
        process.join()
        if process.exitcode:
            raise SystemExit(f"{folder}: exit code {process.exitcode}\n{self.log.read_text()}")

    def _read_all(self, folder: Path) -> int:
        """Read every file; return the epoch of the checkpoint, or -1."""
        if not (folder / "config.json").exists():
            self.found["found no run yet"] += 1
            return -1
        run = RunFolder(folder)
        run.recipe()
        self.found["found a checkpoint half written"] += bool(leftovers(folder, "checkpoint.safetensors"))
        self.found["found another file half written"] += any(leftovers(folder, name) for name in OTHERS)
        if not run.holds("checkpoint.safetensors"):
            self.found["found no checkpoint yet"] += 1
            return -1
        run.graph()
        for name in TENSORS:
            if run.holds(name):
                run.read_tensors(name)
        if run.holds("log.jsonl"):
            [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]
        if run.holds("metrics.json"):
            run.read_json("metrics.json")
        return int(run.read_tensors("checkpoint.safetensors")[1]["epoch"])

    def _compare(self, folder: Path) -> None:
        """Hold the run against the undisturbed one."""
        one, other = RunFolder(folder), RunFolder(self.whole)
        for name in TENSORS:
            mine, its = one.read_tensors(name)[0], other.read_tensors(name)[0]
            if mine.keys() != its.keys() or not all(torch.equal(mine[key], its[key]) for key in its):
                raise SystemExit(f"{folder / name}: differs from that of the undisturbed run")
        epochs = [
            [(row["epoch"], row["loss"], row["validation"]) for row in map(json.loads, lines)]
            for lines in ((path / "log.jsonl").read_text("utf-8").splitlines() for path in (folder, self.whole))
        ]
        if epochs[0] != epochs[1]:
            raise SystemExit(f"{folder}: the log differs from that of the undisturbed run")
        expected = {name for name in WRITTEN if (self.whole / name).exists()} | {".lock"}
        if left := {entry.name for entry in folder.iterdir()} - expected:
            raise SystemExit(f"{folder}: left behind: {', '.join(sorted(left))}")
        self.found["runs identical to the undisturbed one"] += 1


def main() -> None:
    """Crash, and keep a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", action="append", choices=sorted(TRAINED), help="repeatable; by default all")
    parser.add_argument("--kills", type=int, default=50, help="for each dataset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="as of transa train")
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")  # who is killed leaves semaphores behind
    started = time.time()
    more = [word for setting in given.set for word in ("--set", setting)]
    found = {}
    for dataset in given.dataset or list(TRAINED):
        with tempfile.TemporaryDirectory() as work:
            found[dataset] = Crashes(dataset, Path(work), random.Random(given.seed), more).make(given.kills)
    print(json.dumps(found, indent=2))
    if not given.no_record:
        print(save("reliability_crash", started, kills=given.kills, seed=given.seed, datasets=found))


if __name__ == "__main__":
    main()
