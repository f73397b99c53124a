"""New entities without a new training: entities are held out, added by `extend`, and compared with training on everything.

    python benchmarks/extending.py [umls wn18 …]

Held-out entities keep no triple in the graph that is trained on. `extend` then gets their training triples, and what is measured is
the filtered MRR of the test triples they stand in, beside that of a model trained on the whole graph, and of a random order.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from record import save

import transa
from transa.data import KnowledgeGraph, KnownFacts
from transa.evaluation import link_prediction
from transa.inference import Trained, extend
from transa.training import Trainer, load_recipe

#: Share of the entities that is held out, and epochs of training.
HELD = 0.05
SETTINGS: dict[str, dict[str, Any]] = {
    "umls": {"epochs": 100},
    "wn18": {"epochs": 20, "validate_every": 0, "patience": 0},
}


def moved(rows: npt.NDArray[Any], ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return np.stack([ids[rows[:, 0]], rows[:, 1], ids[rows[:, 2]]], axis=1).astype(np.int32)


def measure(name: str) -> dict[str, Any]:
    graph = transa.load(name)
    size = len(graph.entities)
    held = np.sort(np.random.default_rng(0).choice(size, max(5, int(HELD * size)), replace=False))
    rest = np.setdiff1d(np.arange(size), held)
    # As `extend` numbers them: the old ones first. A held-out entity without training triples cannot be added.
    mine = [np.isin(rows[:, [0, 2]], held).any(axis=1) for rows in (graph.train, graph.valid, graph.test)]
    known = np.intersect1d(held, graph.train[mine[0]][:, [0, 2]])
    known = known[np.argsort([graph.entities[i] for i in known])]
    ids = np.full(size, -1)
    ids[rest], ids[known] = np.arange(len(rest)), len(rest) + np.arange(len(known))
    splits = [
        moved(rows[~chosen], ids) for rows, chosen in zip((graph.train, graph.valid, graph.test), mine, strict=True)
    ]
    base = KnowledgeGraph.from_ids(*splits, entities=[graph.entities[i] for i in rest], relations=graph.relations)
    recipe = load_recipe("transa", None, name, SETTINGS.get(name, {}))
    begun = time.perf_counter()
    one = Trained(Trainer(base, recipe).fit(), base, recipe)
    base_seconds = time.perf_counter() - begun
    news = [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in graph.train[mine[0]].tolist()]
    every = moved(np.concatenate([graph.train, graph.valid, graph.test]), ids)
    every = every[(every >= 0).all(axis=1)]
    facts = KnownFacts(every, len(rest) + len(known), len(graph.relations))
    asked = graph.test[mine[2]]
    asked = asked[(moved(asked, ids) >= 0).all(axis=1)]
    figures: dict[str, Any] = {
        "entities": size,
        "held_out": len(known),
        "new_triples": len(news),
        "test_triples": len(asked),
        "training_seconds_without_them": round(base_seconds, 1),
        "random_mrr": float(np.mean(1 / np.arange(1, size + 1))),
    }
    for label, options in (("start_only", {"steps": 0}), ("extend", {}), ("extend_refine_5", {"refine": 5})):
        begun = time.perf_counter()
        grown = extend(one, news, **options).trained
        seconds = time.perf_counter() - begun
        found = link_prediction(grown.model, moved(asked, ids), facts).summary()["both"]
        figures[label] = {"mrr": found["mrr"], "hits@10": found["hits@10"], "seconds": round(seconds, 2)}
    begun = time.perf_counter()
    full = Trainer(graph, recipe).fit()
    seconds = time.perf_counter() - begun
    found = link_prediction(full, asked, graph.known()).summary()["both"]
    figures["trained_on_all"] = {"mrr": found["mrr"], "hits@10": found["hits@10"], "seconds": round(seconds, 1)}
    return figures


def main() -> None:
    started = time.time()
    figures = {name: measure(name) for name in sys.argv[1:] or ["umls", "wn18"]}
    for name, found in figures.items():
        print(name, found)
    print(save("benchmark_extending", started, held_out_share=HELD, **figures))


if __name__ == "__main__":
    main()
