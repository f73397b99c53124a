"""Evaluation speed: exact ranks of FB15K's whole test split against PyKEEN's evaluator in the same run, and a million entities.

    TRANSA_DATA=... python benchmarks/ranking.py

FB15K: k=200, both sides, raw and filtered ranks of all 59,071 test triples, after a warm-up that loads the kernels; vectors after 20
epochs of training; the best of two times. PyKEEN: filtered ranks only, on a sample of 500 test triples with the same TransE vectors,
the fastest of its batch sizes. Peak memory is that of a process of its own (data, model and evaluation). Operations: 3 k for L1 and 6 k
for the full metric per pair of query and entity, of which there are 67,016 x 14,951.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings

import numpy as np
from record import save

DIM, EPOCHS, SAMPLE = 200, 20, 500
BATCHES = (16, 64, 256)
MODELS = {
    "transe": {
        "norm": 1,
        "entity_norm": "unit",
        "relation_norm": "unit",
        "learning_rate": 0.002,
        "margin": 3.2,
        "dim": DIM,
    },
    "transa": {},
    "adaptive_metric": {"dim": DIM, "learning_rate": 0.002, "margin": 3.2, "metric_scale": "trace"},
}

PEAK = """
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
"""

EVALUATE = (
    PEAK
    + """
import json, sys, time
import transa
from transa.evaluation import evaluate
from transa.training import RunFolder
folder = RunFolder(sys.argv[1])
model, graph = folder.model(), folder.graph()
evaluate(model, graph, limit=50)
times = []
for _ in range(2):
    started = time.perf_counter()
    found = evaluate(model, graph)
    times.append(time.perf_counter() - started)
seconds = min(times)
print(json.dumps({"seconds": seconds, "all_seconds": times, "rescored": found.found.rescored, "peak_memory_gigabytes": peak() / 1e9,
    "queries": found.found.queries, "both_filtered": found.summary()["both"]}))
"""
)

MILLION = (
    PEAK
    + """
import json, sys, time
import numpy as np, torch
from transa.data import KnownFacts
from transa.evaluation import link_prediction
from transa.models import build
name, entities = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(0)
model = build(name, entities, 10, 100).initialise(0)
if name == "transa":
    a = random.random((10, 100, 100), dtype=np.float32)
    model.relation["metric"] = torch.from_numpy(a @ a.transpose(0, 2, 1) / 100 + np.eye(100, dtype=np.float32))
triples = np.stack([random.integers(0, high, 500) for high in (entities, 10, entities)], axis=1).astype(np.int32)
known = KnownFacts(triples, entities, 10)
link_prediction(model, triples[:20], known)
before = peak()
started = time.perf_counter()
found = link_prediction(model, triples, known)
print(json.dumps({"entities": entities, "queries": found.queries, "seconds": time.perf_counter() - started,
    "table_gigabytes": entities * 400 / 1e9, "peak_memory_gigabytes": peak() / 1e9, "rescored": found.rescored}))
"""
)


def alone(code: str, *arguments: object) -> dict[str, object]:
    """Run code in a process of its own."""
    output = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(output.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def train(folder: str) -> None:
    from transa import load
    from transa.training import RunFolder, Trainer, load_recipe

    graph = load("fb15k")
    for name, settings in MODELS.items():
        recipe = load_recipe(
            name, "paper" if name == "transa" else None, "fb15k", {**settings, "epochs": EPOCHS, "validate_every": 0}
        )
        Trainer(graph, recipe, None, RunFolder(f"{folder}/{name}"), "fb15k").fit()


def pykeen(folder: str) -> dict[str, object]:
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import TransE
    from pykeen.triples import CoreTriplesFactory

    from transa.evaluation import evaluate
    from transa.training import RunFolder

    run = RunFolder(f"{folder}/transe")
    ours, graph = run.model(), run.graph()
    sizes = {"num_entities": len(graph.entities), "num_relations": len(graph.relations)}
    mapped = {split: torch.from_numpy(graph.triples(split).astype(np.int64)) for split in ("train", "valid", "test")}  # type: ignore[arg-type]
    theirs = TransE(
        triples_factory=CoreTriplesFactory(mapped["train"], **sizes),
        embedding_dim=DIM,
        scoring_fct_norm=1,
        random_seed=0,
    )
    with torch.no_grad():
        for representation, table in (
            (theirs.entity_representations[0], ours.entity.vector),
            (theirs.relation_representations[0], ours.relation.vector),
        ):
            representation._embeddings.weight.copy_(table)  # type: ignore[union-attr,operator]
    mine = evaluate(ours, graph, limit=SAMPLE)
    sample = torch.from_numpy(mine.found.triples.astype(np.int64))
    best, metrics = None, None
    for batch in BATCHES:
        started = time.perf_counter()
        metrics = RankBasedEvaluator(filtered=True).evaluate(
            theirs,
            sample,
            batch_size=batch,
            additional_filter_triples=[mapped["train"], mapped["valid"], mapped["test"]],
            use_tqdm=False,
        )
        seconds = time.perf_counter() - started
        if best is None or seconds < best[0]:
            best = (seconds, batch)
    assert best is not None and metrics is not None
    names = {"mr": "both.realistic.arithmetic_mean_rank", "mrr": "both.realistic.inverse_harmonic_mean_rank"}
    return {
        "triples": SAMPLE,
        "seconds": best[0],
        "batch_size": best[1],
        "seconds_per_triple": best[0] / SAMPLE,
        "theirs": {name: metrics.get_metric(key) for name, key in names.items()},
        "ours": {name: mine.summary()["both"][name] for name in names},
    }


if __name__ == "__main__":
    import tempfile

    warnings.filterwarnings("ignore")
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        train(folder)
        results = {name: alone(EVALUATE, f"{folder}/{name}") for name in MODELS}
        theirs = pykeen(folder)
    per_triple = results["transe"]["seconds"] / 59_071  # type: ignore[operator]
    ratio = theirs["seconds_per_triple"] / per_triple  # type: ignore[operator]
    price = results["transa"]["seconds"] / results["transe"]["seconds"]  # type: ignore[operator]
    for name, found in results.items():
        print(
            f"fb15k {name}: {found['seconds']:.1f} s, rescored {found['rescored']:.3%}, peak {found['peak_memory_gigabytes']:.2f} GB"
        )
    print(
        f"PyKEEN: {theirs['seconds_per_triple'] * 59_071:.0f} s for as many triples, {ratio:.0f} times TransE's; "
        f"TransA costs {price:.2f} TransE"
    )
    million = {
        name: [alone(MILLION, name, size) for size in (250_000, 500_000, 1_000_000)] for name in ("transe", "transa")
    }
    for name, rows in million.items():
        for row in rows:
            print(
                f"{name}, {row['entities']:,} entities, {row['queries']:,} queries: {row['seconds']:.2f} s, "
                f"peak {row['peak_memory_gigabytes']:.2f} GB"
            )
    print(
        save(
            "benchmark_ranking",
            started,
            fb15k=results,
            pykeen=theirs,
            ratio_to_pykeen=ratio,
            transa_to_transe=price,
            million=million,
        )
    )
