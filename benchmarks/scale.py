"""A generated graph of 5 M entities and 20 M triples: converted within a limit of memory, trained by two workers, ranked exactly.

    python benchmarks/scale.py                                             # as above, k = 128: about an hour
    python benchmarks/scale.py --entities 100000 --triples 500000 --no-record

Degrees follow a power law. What is measured: the peak of memory and the time of `transa convert --memory 2GB`; one epoch of
`transa train --workers 2` with its peak (proportional set size: shared pages count once) beside what `--plan` says; and exact ranks of
1,000 test triples by shard. On a part of that size: positives per CPU-second of the workers beside the compiled engine of a single
process, also at the size that DGL-KE publishes (d = 400, 200 negatives shared by a lane). DGL-KE takes all gradients, so there is a
figure without `negligible` as well. The time of an epoch is that from the first checkpoint to the last line of the log.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from record import save

#: What DGL-KE publishes for a core: positives a second.
DGL_KE = (6_000, 7_000)
SETTINGS = {
    "epochs": 1, "negatives": 64, "batch_size": 16384, "lane_negatives": "true", "optimizer": "adagrad_row",
    "loss": "self_adversarial", "margin": 12.0, "negligible": 0.01, "learning_rate": 0.1, "validate_every": 0, "lanes": 4,
}  # fmt: skip


def generate(folder: Path, entities: int, relations: int, triples: int, seed: int = 0) -> None:
    """Write text: a train file (zstd), and 1,000 triples for test, with degrees of a power law."""
    folder.mkdir()
    random = np.random.default_rng(seed)
    names = random.permutation(entities)
    for split, count in (("train", triples), ("test", 1000)):
        path = folder / f"{split}.tsv.zst"
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            for first in range(0, count, 1 << 20):
                size = min(1 << 20, count - first)
                # the rank of an entity is drawn with density 1 / rank^0.75
                ends = names[(entities * random.random((2, size)) ** 4).astype(np.int64)]
                if split == "train" and first < entities:  # every entity occurs
                    some = np.arange(first, min(first + size, entities))
                    ends[0, : len(some)] = some
                kinds = (relations * random.random(size) ** 2).astype(np.int64)
                rows = zip(ends[0].tolist(), kinds.tolist(), ends[1].tolist(), strict=True)
                file.write("".join(f"Q{h}\tP{r}\tQ{t}\n" for h, r, t in rows).encode())


class Watched:
    """A command, with its wall time, its CPU seconds and the peak of memory of its processes together."""

    def __init__(self, *words: str, threads: int = 1, run: Path | None = None, epochs: int = 1) -> None:
        self.run, self.epochs = run, epochs
        self.at_start = self.at_end = 0.0  # CPU seconds so far, when training begins and when the last epoch is done
        environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        started = time.monotonic()
        self.peak, self.of_first, self.cpu = 0, 0, {}  # of_first: what the command itself, or torchrun, has at the peak
        with tempfile.TemporaryFile("w+") as out:
            process = psutil.Popen([sys.executable, "-m", "transa", *words], stdout=out, env=environment)
            watcher = threading.Thread(target=self._watch, args=(process,))
            watcher.start()
            code = process.wait()
            watcher.join()
            out.seek(0)
            self.output = out.read()
        self.seconds = time.monotonic() - started
        if code:
            raise SystemExit(f"transa {' '.join(words)}: exit code {code}\n{self.output}")

    def _watch(self, process: psutil.Process) -> None:
        while True:
            total = first = 0
            try:
                for each in [process, *process.children(recursive=True)]:
                    try:
                        size = each.memory_full_info().pss
                        total, first = total + size, first or size
                        times = each.cpu_times()
                        self.cpu[each.pid] = times.user + times.system
                    except psutil.Error:
                        continue
            except psutil.Error:
                return
            if total > self.peak:
                self.peak, self.of_first = total, first
            if self.run is not None:
                so_far = sum(self.cpu.values())
                if not any((self.run / f"checkpoint.{kind}").exists() for kind in ("json", "safetensors")):
                    self.at_start = so_far
                elif not self.at_end and _lines(self.run / "log.jsonl") >= self.epochs:
                    self.at_end = so_far
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return
            time.sleep(0.2)

    def figures(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(sum(self.cpu.values()), 1),
            "peak_bytes": self.peak,
        }


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def training(graph: Path, out: Path, *more: str, **changed: Any) -> list[str]:
    settings = {**SETTINGS, **changed}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["train", str(graph), "--model", "transe", "--recipe", "modern", *words, "--out", str(out), "--json", *more]


def pace(graph: Path, out: Path, triples: int, *more: str, **changed: Any) -> dict[str, Any]:
    """Train; return what that took, and what an epoch took."""
    epochs = changed.get("epochs", SETTINGS["epochs"])
    found = Watched(*training(graph, out, *more, **changed), run=out, epochs=epochs)
    cpu = (found.at_end - found.at_start) / epochs
    rate = {"cpu_seconds_of_an_epoch": round(cpu, 1), "positives_per_cpu_second": round(triples / cpu)}
    return {**found.figures(), "epochs": epochs, **rate}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entities", type=int, default=5_000_000)
    parser.add_argument("--relations", type=int, default=1_000)
    parser.add_argument("--triples", type=int, default=20_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument(
        "--part", type=int, default=20, help="what is compared is measured on so small a part of the graph"
    )
    parser.add_argument("--work", type=Path, help="where to keep files; by default a temporary folder")
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    found: dict[str, Any] = {}

    sizes = {name: value for name, value in vars(given).items() if name not in ("work", "no_record")}

    def tell(what: str, figures: dict[str, Any]) -> None:
        found[what] = figures
        print(what, json.dumps(figures), flush=True)
        if not given.no_record:  # after every figure: the next may take long
            save("benchmark_scale", started, **sizes, dgl_ke_publishes=DGL_KE, figures=found)

    with tempfile.TemporaryDirectory(dir=given.work) as name:
        work, two, one = Path(name), ("--workers", "2"), ("--threads", "1")
        small = given.triples // given.part
        generate(work / "less", given.entities // given.part, given.relations, small)
        Watched("convert", str(work / "less"), str(work / "part"), "--memory", "2GB")
        for number, how in enumerate((two, one)):  # kernels are compiled for all that follows
            Watched(*training(work / "part", work / f"first-{number}", *how, dim=8))
        Watched("evaluate", str(work / "first-0"), "--no-rules", "--limit", "10", *two)
        generate(work / "text", given.entities, given.relations, given.triples)
        tell("convert", Watched("convert", str(work / "text"), str(work / "graph"), "--memory", "2GB").figures())
        words = training(work / "graph", work / "plan", *two, "--plan", dim=given.dim)
        tell("plan", json.loads(Watched(*words).output))
        tell("two workers", pace(work / "graph", work / "two", given.triples, *two, dim=given.dim))
        ranked = Watched("evaluate", str(work / "two"), "--no-rules", "--json", *two)
        tell("ranks of 1,000 triples", {**ranked.figures(), **json.loads(ranked.output)["both"]["filtered"]})
        of_part = f"{given.entities // given.part:,} entities"
        for what, changed in (
            (f"k = {given.dim}, 64 negatives", {"dim": given.dim, "epochs": 3}),
            ("d = 400, 200 negatives", {"dim": 400, "negatives": 200, "epochs": 3}),
            ("d = 400, 200 negatives, all gradients", {"dim": 400, "negatives": 200, "negligible": 0.0}),
        ):
            for who, how in (("two workers", two), ("one process", one)):
                out = work / f"run-{len(found)}"
                tell(f"{who}, {of_part}, {what}", pace(work / "part", out, small, *how, **changed))
                shutil.rmtree(out)


if __name__ == "__main__":
    main()
