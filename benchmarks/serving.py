"""How many questions a server answers in a second, joined and one at a time, and what it takes to answer 50 clients for minutes.

    TRANSA_DATA=... python benchmarks/serving.py [--seconds 30] [--minutes 5] [--clients 50] [--runs FOLDER]

FB15K, k=200, full metric: TransA by the `paper` recipe after 20 epochs, as in `benchmarks/predicting.py`. Every request holds one
question with ten answers and probabilities; questions are drawn from the facts of test, half of them for heads. The server is a process
of its own, and the clients are coroutines of this one, each with a connection that stays open, over a loopback address.

One at a time: one client that waits for each answer. Not joined: all clients, while the server answers each question by itself
(`Limits(joined=1)`). Joined: all clients, as the server is. The three take turns after a warm-up in which every relation has been
asked. An answer must be the one that `transa predict` gives: the same entities, scores to 9 digits, probabilities to 4. (These rest on
single-precision products, which round differently in larger batches.)

Beside the throughput stands the time of processors that the server uses for a question, which other work on the machine does not
change.

Then all clients ask for some minutes. Statuses other than 200, 429 and 503 are errors. Memory, as the server tells it, is flat if its
median in the last quarter is at most 5 % and 16 MB above that in the second; the first is warm-up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from ranking import DIM, EPOCHS, MODELS
from record import save

from transa import load
from transa.inference import Question, Trained, answer
from transa.training import RunFolder, Trainer, load_recipe

TOP, QUESTIONS, COMPARED = 10, 2_000, 200
#: What memory may grow by: a share, and bytes beside it.
SHARE, BYTES = 0.05, 16_000_000


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the number of its process."""

    host: str
    port: int
    process: int

    def processor_seconds(self) -> float:
        """How long the server has used a processor."""
        used = psutil.Process(self.process).cpu_times()
        return float(used.user + used.system)


def serve(run: Path, joined: int) -> None:
    """Serve a run in this process until it is told to stop; what `transa serve` does, with another limit."""
    from transa.server import serving
    from transa.server.limits import Limits
    from transa.server.runs import open_runs

    limits = Limits(joined=joined)
    serving.serve(open_runs([run]), serving.Address(port=0), limits, started=lambda url: print(url, flush=True))


@contextmanager
def server(run: Path, joined: int) -> Iterator[Address]:
    command = [sys.executable, __file__, "--serve", str(run), "--joined", str(joined)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().strip().removeprefix("http://").rstrip("/").split(":")
        try:
            yield Address(host, int(port), process.pid)
        finally:
            process.terminate()


def trained_run(folder: Path) -> Path:
    run = folder / "transa"
    if not (run / "weights.safetensors").exists():
        settings = {**MODELS["transa"], "epochs": EPOCHS, "validate_every": 0}
        recipe = load_recipe("transa", "paper", "fb15k", settings)
        Trainer(load("fb15k"), recipe, None, RunFolder(run), "fb15k").fit()
    return run


def questions(trained: Trained) -> list[Question]:
    graph = trained.graph
    rows = graph.test[np.random.default_rng(0).choice(len(graph.test), QUESTIONS, replace=False)].tolist()
    entities, relations = graph.entities, graph.relations
    return [
        Question(entities[h], relations[r]) if place % 2 else Question(None, relations[r], entities[t])
        for place, (h, r, t) in enumerate(rows)
    ]


class Client:
    """A connection that stays open."""

    def __init__(self, address: Address) -> None:
        self.address = address

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.address.host, self.address.port)

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        sizes = [line.split(":")[1] for line in lines if line.lower().startswith("content-length:")]
        return int(lines[0].split()[1]), await self.reader.readexactly(int(sizes[0]))

    def close(self) -> None:
        self.writer.close()


class Load:
    """Clients that ask for some seconds, and what came of it."""

    def __init__(self, address: Address, bodies: list[bytes]) -> None:
        self.address, self.bodies = address, bodies
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.answers: dict[int, bytes] = {}
        self.memory: list[float] = []

    async def client(self, number: int, until: float) -> None:
        client, place = Client(self.address), number
        await client.open()
        while time.perf_counter() < until:
            which = place % len(self.bodies)
            place += 37
            started = time.perf_counter()
            status, content = await client.ask("POST", "/api/v1/runs/transa/predict", self.bodies[which])
            self.times.append(time.perf_counter() - started)
            self.statuses[status] += 1
            if status == 200 and which < COMPARED:
                self.answers[which] = content
            elif status != 200:
                await asyncio.sleep(1)
        client.close()

    async def watch(self, until: float) -> None:
        client = Client(self.address)
        await client.open()
        while time.perf_counter() < until:
            _, content = await client.ask("GET", "/metrics")
            self.memory.append(figure(content, "transa_memory_bytes"))
            await asyncio.sleep(2)
        client.close()

    async def run(self, clients: int, seconds: float) -> dict[str, Any]:
        before, used = await self.counts(), self.address.processor_seconds()
        started = time.perf_counter()
        until = started + seconds
        await asyncio.gather(self.watch(until), *(self.client(number, until) for number in range(clients)))
        spent = time.perf_counter() - started
        passes, asked = (after - was for after, was in zip(await self.counts(), before, strict=True))
        served = self.statuses[200]
        return {
            "clients": clients,
            "seconds": spent,
            "answered": served,
            "per_second": served / spent,
            "p50_milliseconds": 1000 * float(np.percentile(self.times, 50)),
            "p99_milliseconds": 1000 * float(np.percentile(self.times, 99)),
            "statuses": dict(self.statuses),
            "questions_in_a_pass": asked / max(passes, 1),
            "processor_milliseconds": 1000 * (self.address.processor_seconds() - used) / max(served, 1),
        }

    async def counts(self) -> tuple[float, float]:
        client = Client(self.address)
        await client.open()
        _, content = await client.ask("GET", "/metrics")
        client.close()
        return figure(content, "transa_passes"), figure(content, "transa_questions")


def figure(text: bytes, name: str) -> float:
    return next(float(line.split()[1]) for line in text.decode().splitlines() if line.startswith(f"{name} "))


def wait_until_ready(address: Address) -> float:
    """Return after how many seconds the server was ready."""

    async def ready() -> bool:
        client = Client(address)
        await client.open()
        status, _ = await client.ask("GET", "/ready")
        client.close()
        return status == 200

    started = time.perf_counter()
    while not asyncio.run(ready()):
        time.sleep(0.05)
    return time.perf_counter() - started


async def warm_up(address: Address, bodies: list[bytes]) -> None:
    """Ask all questions once."""
    client = Client(address)
    await client.open()
    for body in bodies:
        status, _ = await client.ask("POST", "/api/v1/runs/transa/predict", body)
        assert status == 200, status
    client.close()


def compare(trained: Trained, asked: list[Question], found: dict[int, bytes]) -> float:
    """Hold answers to those of the function behind `transa predict`, one question at a time.

    Return the largest relative difference of a probability.
    """
    largest = 0.0
    for which, content in found.items():
        (alone,) = answer(trained, [asked[which]], top=TOP)
        (given,) = json.loads(content)["questions"]
        assert [each["key"] for each in given["answers"]] == [each.key for each in alone], asked[which]
        for each, other in zip(given["answers"], alone, strict=True):
            assert np.isclose(each["score"], other.score, rtol=1e-9, atol=0)
            assert (each["probability"] is None) == (other.probability is None)
            if other.probability is not None:
                largest = max(largest, abs(each["probability"] - other.probability) / other.probability)
    assert largest < 1e-4, largest
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0, help="of the long load")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--serve", type=Path)
    parser.add_argument("--joined", type=int, default=256)
    asked = parser.parse_args()
    if asked.serve is not None:
        serve(asked.serve, asked.joined)
        return
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        run = trained_run(asked.runs or Path(folder))
        trained = Trained.open(run)
        _ = trained.confidence  # is kept in the folder, where the servers find it
        every = questions(trained)
        bodies = [json.dumps({"questions": [vars(each)], "top": TOP}).encode() for each in every]
        modes = {"one at a time": (1, 1), "not joined": (asked.clients, 1), "joined": (asked.clients, asked.joined)}
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in modes}
        with server(run, 1) as alone, server(run, asked.joined) as joined:
            ready = [wait_until_ready(alone), wait_until_ready(joined)]
            parts = [every[at : at + 50] for at in range(0, QUESTIONS, 50)]
            many = [json.dumps({"questions": list(map(vars, part)), "top": TOP}).encode() for part in parts]
            for address in (alone, joined):
                asyncio.run(warm_up(address, many))
            for _ in range(asked.turns):
                for name, (clients, together) in modes.items():
                    load_ = Load(alone if together == 1 else joined, bodies)
                    turns[name].append(asyncio.run(load_.run(clients, asked.seconds)))
                    print(name, {key: value for key, value in turns[name][-1].items() if key != "statuses"}, flush=True)
                    compare(trained, every, dict(list(load_.answers.items())[:20]))
            long = Load(joined, bodies)
            minutes = asyncio.run(long.run(asked.clients, 60 * asked.minutes))
        quarter = max(1, len(long.memory) // 4)
        second, last = statistics.median(long.memory[quarter : 2 * quarter]), statistics.median(long.memory[-quarter:])
        minutes |= {
            "compared": len(long.answers),
            "largest_difference_of_a_probability": compare(trained, every, long.answers),
            "errors": sum(count for status, count in long.statuses.items() if status not in (200, 429, 503)),
            "memory_second_quarter": second,
            "memory_last_quarter": last,
            "memory_flat": last <= (1 + SHARE) * second + BYTES,
        }
    speed = {name: statistics.median(each["per_second"] for each in turns[name]) for name in modes}
    ratios = {name: speed["joined"] / speed[name] for name in ("one at a time", "not joined")}
    work = {name: statistics.median(each["processor_milliseconds"] for each in turns[name]) for name in modes}
    print(speed, ratios, minutes)
    figures = {"dim": DIM, "epochs": EPOCHS, "ready_seconds": ready, "per_second": speed, "joined_over": ratios}
    figures |= {"processor_milliseconds": work, "work_saved": work["not joined"] / work["joined"]}
    print(save("benchmark_serving", started, **figures, turns=turns, minutes=minutes))
    assert minutes["errors"] == 0 and minutes["memory_flat"]


if __name__ == "__main__":
    main()
