"""Implications given beforehand on NELL-sports and NELL-location: TransA alone, and trained on what follows from train as well.

    python benchmarks/implications.py

The rules are those of Wang, Wang, Guo (IJCAI 2015). "With implications": train is closed under them before training, and nothing else
changes. Both rows are ranked among the same entities with the same facts filtered, those of the original train and test. Neither graph
has a validation split, so the recipe is used as it is.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import save

import transa
from transa.data import KnowledgeGraph
from transa.data.constraints import Constraints, Implication
from transa.evaluation import link_prediction
from transa.inference import Trained
from transa.inference.claims import claims_of
from transa.training import Trainer, load_recipe

#: Body, head, and whether the head is inverted.
RULES = {
    "NELL-sports": [
        ("athleteledsportsteam", "athleteplaysforteam", False),
        ("athleteplaysforteam", "personbelongstoorganization", False),
        ("coachesteam", "personbelongstoorganization", False),
    ],
    "NELL-location": [
        ("citycapitalofcountry", "citylocatedincountry", False),
        ("statehascapital", "citylocatedinstate", True),
    ],
}
#: As printed elsewhere: filtered MRR, Hits@1 and Hits@10 in percent.
PUBLISHED = {
    "NELL-sports": {"SimplE": (0.230, 18.4, 32.4), "SimplE+": (0.404, 33.9, 50.8), "TransINT": (0.450, 37.6, 56.2)},
    "NELL-location": {"SimplE": (0.190, 13.0, 31.5), "SimplE+": (0.440, 43.0, 45.0), "TransINT": (0.550, 51.2, 61.1)},
}
SEEDS = (0, 1, 2)


def closed(graph: KnowledgeGraph, rules: tuple[Implication, ...]) -> KnowledgeGraph:
    """Return the graph with everything in train that follows from train."""
    alone = replace(graph, test=graph.test[:0])
    recipe = load_recipe("transa", "softmax", None, {"epochs": 1, "dim": 2})
    untrained = Trained(Trainer(alone, recipe).fit(), alone, calibrated=False, loop_prior=False)
    return replace(graph, train=claims_of(untrained, Constraints(implications=rules)).triples)


def measure(name: str) -> dict[str, Any]:
    graph = transa.load(Path(os.environ["TRANSA_DATA"], name))
    ids = {graph.relations[i].removeprefix("concept:"): i for i in range(len(graph.relations))}
    rules = tuple(Implication(ids[body], ids[head], inverse) for body, head, inverse in RULES[name])
    more = closed(graph, rules)
    follows = more.known("train").contains(graph.test)
    found: dict[str, Any] = {
        "graph": repr(graph),
        "train_closed": len(more.train),
        "test_in_train": float(graph.training_facts.contains(graph.test).mean()),
        "test_that_follows": float(follows.mean()),
        "published": PUBLISHED[name],
    }
    for label, one in (("TransA", graph), ("TransA with implications", more)):
        rows = []
        for seed in SEEDS:
            recipe = load_recipe("transa", "softmax", None, {"seed": seed, "validate_every": 0, "patience": 0})
            model = Trainer(one, recipe).fit()
            rows.append(link_prediction(model, graph.test, graph.known()).summary()["both"])
        found[label] = {
            key: {"mean": float(np.mean([row[key] for row in rows])), "std": float(np.std([row[key] for row in rows]))}
            for key in ("mrr", "hits@1", "hits@10")
        }
    return found


def main() -> None:
    started = time.time()
    figures = {name: measure(name) for name in RULES}
    for name, found in figures.items():
        for key, value in found.items():
            print(name, key, value)
    print(save("benchmark_implications", started, recipe="softmax", seeds=SEEDS, **figures))


if __name__ == "__main__":
    main()
