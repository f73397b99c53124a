"""Kill workers of a training by two, and torchrun itself, at random moments; compare the end with a run that nobody killed.

    python reliability/elastic.py                 # 20 kills
    python reliability/elastic.py --kills 5 --seed 3

Each kill is a SIGKILL, three in four to a worker: torchrun notices, and starts both anew from the last checkpoint. The others are to
torchrun, whose workers end with it; the command is then given again with ``--resume``. A run that ends is compared, every table bit by
bit, and another is begun, until there were as many kills as asked for.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import torch

from transa.training import RunFolder

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from record import save

SETTINGS = (
    "epochs=30",
    "dim=16",
    "negatives=4",
    "optimizer=adam",
    "validate_every=10",
    "validate_sample=100",
    "seed=1",
)
TRAINED = ["umls", "--model", "transe", "--recipe", "modern", "--workers", "2", "--checkpoint-epochs", "1"]
#: Seconds that a run may take before it counts as hanging.
PATIENCE = 600.0


class Elastic:
    """Runs of one command by two workers, killed and resumed.

    Parameters
    ----------
    work
        Where to keep the runs.
    chance
        Draws the moments.
    """

    def __init__(self, work: Path, chance: random.Random) -> None:
        self.work = work
        self.chance = chance
        self.log = work / "log"
        self.found: Counter[str] = Counter()
        self.whole = work / "whole"
        for name in ("compiling", "whole"):
            started = time.monotonic()
            self._finish(work / name)
            self.seconds = time.monotonic() - started

    def make(self, kills: int) -> dict[str, Any]:
        """Kill as often as asked for; return what was met."""
        runs = 0
        while self.found["kills"] < kills:
            runs += 1
            folder = self.work / f"run-{runs}"
            while self.found["kills"] < kills and self._disturbed(folder, kills):
                pass
            self._finish(folder)
            self._compare(folder)
        return {"runs": runs, "seconds of an undisturbed run": round(self.seconds, 1), **self.found}

    def _start(self, folder: Path) -> psutil.Popen:
        resume = ["--resume"] if (folder / "config.json").exists() else []
        settings = [word for each in SETTINGS for word in ("--set", each)]
        command = [sys.executable, "-m", "transa", "train", *TRAINED, *settings, "--out", str(folder), *resume]
        with self.log.open("ab") as log:
            return psutil.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def _disturbed(self, folder: Path, kills: int) -> bool:
        """Start or resume the run and kill in it; False if it came to its end, True if it has to be resumed."""
        process = self._start(folder)
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            with suppress(psutil.TimeoutExpired):
                if process.wait(self.chance.uniform(1, self.seconds)) == 0:
                    return False
                self.found["torchrun gave up"] += 1
                return True
            if self.found["kills"] >= kills:
                continue  # let it end
            workers = [each for each in process.children() if "--sharded" in _words(each)]
            agent = not workers or self.chance.random() < 0.25
            with suppress(psutil.NoSuchProcess):
                (process if agent else self.chance.choice(workers)).kill()
                self.found["kills"] += 1
                self.found["kills of torchrun" if agent else "kills of a worker"] += 1
            if agent:
                process.wait(PATIENCE)
                psutil.wait_procs(workers, PATIENCE)  # they end with it
                return True
        raise SystemExit(f"{folder}: hangs\n{self.log.read_text()[-4000:]}")

    def _finish(self, folder: Path) -> None:
        if self._start(folder).wait(PATIENCE):
            raise SystemExit(f"{folder}: failed\n{self.log.read_text()[-4000:]}")

    def _compare(self, folder: Path) -> None:
        """Hold the run against the undisturbed one."""
        for kind in ("best", "weights"):
            mine, its = (RunFolder(run).read_tensors(f"{kind}.safetensors")[0] for run in (folder, self.whole))
            if mine.keys() != its.keys() or not all(torch.equal(mine[name], its[name]) for name in its):
                raise SystemExit(f"{folder}: {kind} differs from that of the undisturbed run")
        self.found["runs identical to the undisturbed one"] += 1


def _words(process: psutil.Process) -> list[str]:
    """Return the command line of a process; nothing if it is gone."""
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []


def main() -> None:
    """Kill, and keep a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    with tempfile.TemporaryDirectory() as work:
        found = Elastic(Path(work), random.Random(given.seed)).make(given.kills)
    print(json.dumps(found, indent=2))
    if not given.no_record:
        print(save("reliability_elastic", started, seed=given.seed, **found))


if __name__ == "__main__":
    main()
