"""An epoch of softmax over all entities: TransA with a diagonal metric on FB15k-237, against PyKEEN's LCWA and plain torch.

    TRANSA_DATA=... python benchmarks/softmax.py

Each asks every question of the training triples once an epoch, with all its right answers, tails and heads. PyKEEN trains DistMult (it
has no TransA, and DistMult takes less work) with inverse triples, cross-entropy and Adagrad, by the fastest of its batch sizes. Some
batches of an epoch are timed, and the time of an epoch follows. Plain torch is the objective as one would write it: autograd on matrix
products. The matrix-product rate of the machine is that of square products by torch.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import warnings
from typing import ClassVar

import numpy as np
from record import save

DATASET, DIM, BATCH = "fb15k-237", 128, 512
PYKEEN_BATCHES = (32, 128, 512)  # it makes arrays of batch x entities x dimension: 4,096 would take 30 GB
#: Batches of the peers that are timed, after one that is not.
TIMED = 5

#: Run in a process of its own, so that the peak memory is that of this training alone.
MEMORY = """
import transa
from transa.training import Trainer, recipe_from
graph = transa.load("fb15k")
Trainer(graph, recipe_from({recipe})).fit()
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024)
"""


def recipe(epochs: int, **more: object) -> dict[str, object]:
    return {
        "model": "transa",
        "metric": "diagonal",
        "metric_update": "gradient",
        "metric_learning_rate": 0.1,
        "dim": DIM,
        "loss": "softmax",
        "negatives": "all",
        "optimizer": "adagrad",
        "learning_rate": 0.1,
        "batch_size": BATCH,
        "init_range": 0.01,
        "epochs": epochs,
        **more,
    }


def product_rate() -> float:
    """Return the machine's rate of matrix products, in GFLOP/s."""
    import torch

    one = torch.rand(2048, 2048)
    torch.mm(one, one)
    rates = []
    for _ in range(10):
        started = time.perf_counter()
        torch.mm(one, one)
        rates.append(2 * 2048**3 / (time.perf_counter() - started) / 1e9)
    return float(np.median(rates))


def ours() -> dict[str, float]:
    import transa
    from transa.training import Trainer, recipe_from

    graph = transa.load(DATASET)
    trainer = Trainer(graph, recipe_from(recipe(3)))
    stamps: list[float] = []
    trainer.fit(lambda progress: stamps.append(progress.seconds))
    queries = trainer.engine.queries  # type: ignore[attr-defined]
    relations = [len(np.unique(batch.relations)) + len(batch) for batch in queries.epoch(1)]
    work = 6.0 * sum(relations) * len(graph.entities) * DIM
    seconds = float(min(np.diff(stamps)))
    return {"seconds_per_epoch": seconds, "gigaflops": work / seconds / 1e9, "questions": len(queries)}


def plain_torch() -> dict[str, float]:
    """Return the time of an epoch of the same objective by autograd."""
    import torch

    import transa
    from transa.training import recipe_from
    from transa.training.query_batches import QueryBatches

    graph = transa.load(DATASET)
    queries = QueryBatches(graph, recipe_from(recipe(1)), heads=True)
    shape = len(graph.relations), DIM
    tables = [torch.randn(len(graph.entities), DIM) * 0.01, torch.randn(shape) * 0.01, torch.ones(shape)]
    entities, vectors, weights = (table.requires_grad_() for table in tables)
    optimizer = torch.optim.Adagrad(tables, lr=0.1)
    times = []
    for batch in queries.epoch(1):
        started = time.perf_counter()
        fixed, relations = torch.from_numpy(batch.fixed), torch.from_numpy(batch.relations)
        sign = torch.from_numpy(np.where(batch.at_head, -1, 1).astype(np.float32))[:, None]
        moved, weight = entities[fixed] + sign * vectors[relations], weights[relations]
        scores = 2 * (weight * moved) @ entities.T - weight @ entities.square().T
        rows = torch.repeat_interleave(torch.from_numpy(np.diff(batch.offsets)))
        loss = -torch.log_softmax(scores, 1)[rows, torch.from_numpy(batch.targets)].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - started)
        if len(times) > TIMED:
            break
    return {"seconds_per_epoch": float(np.mean(times[1:])) * -(-len(queries) // BATCH)}


def pykeen() -> dict[str, object]:
    import torch
    from pykeen.models import DistMult
    from pykeen.training import LCWATrainingLoop
    from pykeen.triples import TriplesFactory

    from transa.data.registry import locate

    class Timed(torch.optim.Adagrad):
        """Notes when steps are taken, and stops training after some of them."""

        stamps: ClassVar[
            list[float]
        ] = []  # of the class, since PyKEEN makes an optimiser of its own like the one it is given

        def step(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            self.stamps.append(time.perf_counter())
            if len(self.stamps) > TIMED:
                raise InterruptedError
            return super().step(*args, **kwargs)  # type: ignore[arg-type]

    factory = TriplesFactory.from_path(str(locate(DATASET) / "train.txt"), create_inverse_triples=True)
    pairs = len(np.unique(factory.mapped_triples[:, :2].numpy(), axis=0))
    measured = {}
    for batch in PYKEEN_BATCHES:
        model = DistMult(triples_factory=factory, embedding_dim=DIM, loss="crossentropy", random_seed=0)
        optimizer = Timed(model.parameters(), lr=0.1)
        loop = LCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer)
        Timed.stamps.clear()
        with contextlib.suppress(InterruptedError):
            loop.train(triples_factory=factory, num_epochs=1, batch_size=batch, use_tqdm=False)
        measured[batch] = float(np.mean(np.diff(Timed.stamps))) * -(-pairs // batch)
    best = min(measured, key=measured.__getitem__)
    return {"seconds_per_epoch": measured[best], "batch_size": best, "questions": pairs, "all_batches": measured}


def memory() -> float:
    code = MEMORY.format(recipe=recipe(1, sampled_entities=None))
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) / 1e9


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    started = time.time()
    rate = product_rate()
    ours_, torch_, pykeen_ = ours(), plain_torch(), pykeen()
    peak = memory()
    ratios = {
        "ratio_to_pykeen": float(pykeen_["seconds_per_epoch"]) / ours_["seconds_per_epoch"],  # type: ignore[arg-type]
        "ratio_to_torch": torch_["seconds_per_epoch"] / ours_["seconds_per_epoch"],
        "share_of_product_rate": ours_["gigaflops"] / rate,
    }
    print(
        f"{DATASET}: {ours_['seconds_per_epoch']:.1f} s an epoch ({ours_['gigaflops']:.0f} of {rate:.0f} GFLOP/s); "
        f"PyKEEN {pykeen_['seconds_per_epoch']:.1f} s ({ratios['ratio_to_pykeen']:.1f} times), "
        f"torch {torch_['seconds_per_epoch']:.1f} s ({ratios['ratio_to_torch']:.1f} times); fb15k peak {peak:.2f} GB"
    )
    settings = {"dataset": DATASET, "dim": DIM, "batch_size": BATCH, "gigaflops_of_machine": rate}
    print(
        save(
            "benchmark_softmax",
            started,
            settings=settings,
            ours=ours_,
            torch=torch_,
            pykeen=pykeen_,
            **ratios,
            fb15k_peak_gigabytes=peak,
        )
    )
