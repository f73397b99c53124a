"""Training speed of TransH, TransR, SE, NTN and RESCAL against PyKEEN in the same run, with the same sizes and optimiser.

    TRANSA_DATA=... python benchmarks/models.py

Both train on the same part of FB15K's training triples: k = 50 (NTN with 2 slices), batches of 1,024, one bern negative, margin
ranking, Adagrad. Figures are those of the epochs after the first, in which kernels are loaded; both take turns, and the ratio is that
of the medians. Soft constraints are on for ours where the model has them, as PyKEEN's regulariser of TransH is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from record import save

TRIPLES, DIM, BATCH, RATE, TURNS = 30_000, 50, 1024, 0.01, 3
#: By our name: our options, PyKEEN's class and its options, multiplications of a score as the models state them.
MODELS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "transh": ({"norm": 2}, "TransH", {"scoring_fct_norm": 2}),
    "transr": ({"norm": 1, "relation_dim": DIM}, "TransR", {"relation_dim": DIM, "scoring_fct_norm": 1}),
    "se": ({"norm": 1}, "SE", {"scoring_fct_norm": 1}),
    "ntn": ({"hidden": 2}, "NTN", {"num_slices": 2}),
    "rescal": ({}, "RESCAL", {}),
}


def ours(name: str, graph: Any) -> Callable[[], float]:
    """Return what trains one epoch and tells how long it took."""
    from transa.training import recipe_from
    from transa.training.engine import choose_engine
    from transa.training.trainer import start_model

    options = {"dim": DIM, "batch": BATCH, "optimizer": "adagrad", "rate": RATE, "entity_norm": "ball"}
    recipe = recipe_from({"model": name, **options, **MODELS[name][0]})
    engine = choose_engine(start_model(graph, recipe), graph, recipe)
    rounds = iter(range(1, recipe.rounds + 1))
    return timed(lambda: engine.round(next(rounds)))


def pykeen(name: str, graph: Any) -> Callable[[], float]:
    import pykeen.models
    import torch
    from pykeen.losses import MarginRankingLoss
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    triples = torch.from_numpy(graph.train.astype(np.int64))
    factory = CoreTriplesFactory(triples, len(graph.entities), len(graph.relations))
    _, kind, options = MODELS[name]
    loss = MarginRankingLoss(margin=1.0)
    made = getattr(pykeen.models, kind)
    model = made(triples_factory=factory, embedding_dim=DIM, loss=loss, random_seed=0, **options)
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adagrad(model.parameters(), lr=RATE),
        negative_sampler="bernoulli",
        negative_sampler_kwargs={"num_negs_per_pos": 1},
    )
    return timed(lambda: loop.train(triples_factory=factory, num_epochs=1, batch_size=BATCH, use_tqdm=False))


def timed(epoch: Callable[[], Any]) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        epoch()
        return time.perf_counter() - started

    return run


def sample() -> Any:
    """Return FB15K with some of its training triples, the same every time."""
    import transa
    from transa.data import KnowledgeGraph

    graph = transa.load("fb15k")
    rows = np.sort(np.random.default_rng(0).choice(len(graph.train), TRIPLES, replace=False))
    return KnowledgeGraph.from_ids(graph.train[rows], entities=graph.entities, relations=graph.relations)


def compare(name: str, graph: Any) -> dict[str, object]:
    from transa.models import MODELS as OURS

    mine, theirs = ours(name, graph), pykeen(name, graph)
    mine(), theirs()
    seconds = [(mine(), theirs()) for _ in range(TURNS)]
    ours_median, theirs_median = (median(column) for column in zip(*seconds, strict=True))
    ratio = theirs_median / ours_median
    print(f"{name}: {TRIPLES / ours_median:,.0f} triples/s, PyKEEN {TRIPLES / theirs_median:,.0f}: {ratio:.1f} times")
    return {
        "multiplications_per_triple": OURS[name].cost,
        "triples_per_second": TRIPLES / ours_median,
        "pykeen_triples_per_second": TRIPLES / theirs_median,
        "ratio": ratio,
        "seconds": seconds,
    }


if __name__ == "__main__":
    import sys

    warnings.filterwarnings("ignore")
    started = time.time()
    graph = sample()
    results = {name: compare(name, graph) for name in sys.argv[1:] or MODELS}
    settings = {"dim": DIM, "batch": BATCH, "triples": TRIPLES, "options": {n: MODELS[n][0] for n in MODELS}}
    print(save("benchmark_models", started, settings=settings, **results))
