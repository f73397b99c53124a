"""Training speed of TransH, TransR, SE, NTN and RESCAL against PyKEEN in the same run, with the same sizes and optimiser.

    TRANSA_DATA=... python benchmarks/models.py

Both train on the same part of FB15K's training triples: k = 50 (NTN with 2 slices), batches of 1,024, one bern negative, margin
ranking, Adagrad. They take turns, epoch by epoch, in processes of their own, PyKEEN with one thread for each processor and with a
single one, of which the faster counts. The first epoch, in which kernels are loaded, does not count; figures are medians of the others.
Soft constraints are on for ours where the model has them, as PyKEEN's regulariser of TransH is.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TRIPLES, DIM, BATCH, RATE, TURNS = 30_000, 50, 1024, 0.01, 5
#: By our name: our options, PyKEEN's class and its options.
MODELS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "transh": ({"norm": 2}, "TransH", {"scoring_fct_norm": 2}),
    "transr": ({"norm": 1, "relation_dim": DIM}, "TransR", {"relation_dim": DIM, "scoring_fct_norm": 1}),
    "se": ({"norm": 1}, "SE", {"scoring_fct_norm": 1}),
    "ntn": ({"hidden": 2}, "NTN", {"num_slices": 2}),
    "rescal": ({}, "RESCAL", {}),
}


def ours(name: str, file: str, entities: int, relations: int, threads: int) -> Callable[[], Any]:
    """Return what trains one epoch."""
    from transa.data import KnowledgeGraph
    from transa.kernels.threads import set_threads
    from transa.training import recipe_from
    from transa.training.engine import choose_engine
    from transa.training.trainer import start_model

    set_threads(threads or None)
    names = [[str(i) for i in range(count)] for count in (entities, relations)]
    graph = KnowledgeGraph.from_ids(np.load(file), entities=names[0], relations=names[1])
    options = {"dim": DIM, "batch_size": BATCH, "optimizer": "adagrad", "learning_rate": RATE, "entity_norm": "ball"}
    recipe = recipe_from({"model": name, **options, **MODELS[name][0]})
    engine = choose_engine(start_model(graph, recipe), graph, recipe)
    epochs = iter(range(1, recipe.epochs + 1))
    return lambda: engine.train_epoch(next(epochs))


def pykeen(name: str, file: str, entities: int, relations: int, threads: int) -> Callable[[], Any]:
    import logging

    import pykeen.models
    import torch
    from pykeen.losses import MarginRankingLoss
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    logging.disable()
    if threads:
        torch.set_num_threads(threads)
    factory = CoreTriplesFactory(torch.from_numpy(np.load(file).astype(np.int64)), entities, relations)
    _, kind, options = MODELS[name]
    made = getattr(pykeen.models, kind)
    loss = MarginRankingLoss(margin=1.0)
    model = made(triples_factory=factory, embedding_dim=DIM, loss=loss, random_seed=0, **options)
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adagrad(model.parameters(), lr=RATE),
        negative_sampler="bernoulli",
        negative_sampler_kwargs={"num_negs_per_pos": 1},
    )
    return lambda: loop.train(triples_factory=factory, num_epochs=1, batch_size=BATCH, use_tqdm=False)


class Runner:
    """A process that trains one epoch whenever it is asked, and sleeps otherwise."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, __file__, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def epoch(self) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def answer(system: str, *arguments: str) -> None:
    name, file, *numbers = arguments
    train = (ours if system == "ours" else pykeen)(name, file, *map(int, numbers))
    for _ in sys.stdin:
        started = time.perf_counter()
        train()
        print(time.perf_counter() - started, flush=True)


def compare(name: str, arguments: tuple[object, ...]) -> dict[str, object]:
    from transa.models import MODELS as OURS

    systems = {"transa": ("ours", 0), "pykeen": ("pykeen", 0), "pykeen, one thread": ("pykeen", 1)}
    runners = {key: Runner(system, name, *arguments, threads) for key, (system, threads) in systems.items()}
    turns = [{key: runner.epoch() for key, runner in runners.items()} for _ in range(1 + TURNS)]
    for runner in runners.values():
        runner.close()
    speeds = {key: TRIPLES / median(turn[key] for turn in turns[1:]) for key in runners}
    ratio = speeds["transa"] / max(speeds["pykeen"], speeds["pykeen, one thread"])
    print(
        f"{name}: "
        + ", ".join(f"{key} {speed:,.0f}" for key, speed in speeds.items())
        + f" triples/s: {ratio:.1f} times"
    )
    return {
        "multiplications_per_triple": OURS[name].cost,
        "triples_per_second": speeds,
        "ratio": ratio,
        "seconds": turns,
    }


def main() -> None:
    from record import save

    import transa

    started = time.time()
    graph = transa.load("fb15k")
    rows = np.sort(np.random.default_rng(0).choice(len(graph.train), TRIPLES, replace=False))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.npy"
        np.save(file, graph.train[rows])
        arguments = (file, len(graph.entities), len(graph.relations))
        results = {name: compare(name, arguments) for name in MODELS}
    settings = {"dim": DIM, "batch_size": BATCH, "triples": TRIPLES, "options": {n: MODELS[n][0] for n in MODELS}}
    print(save("benchmark_models", started, settings=settings, **results))


if __name__ == "__main__":
    answer(*sys.argv[1:]) if len(sys.argv) > 1 else main()
