"""SSE: what types are worth. Base models, with the Laplacian term and with locally linear embedding.

    python benchmarks/smoothness.py nell186 [transe se sme_linear transa]
    python benchmarks/smoothness.py fb15k [transe transa]

NELL186 has labels: accuracy of triple classification. FB15K: filtered MRR, with the types of its entities. The weight of the term is
chosen on valid with seed 0; then there are three seeds. Written after every model, so that a run that was stopped leaves what it has.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import save

import transa
from transa.data import KnowledgeGraph
from transa.evaluation import classify, link_prediction
from transa.training import Trainer, load_recipe

SEEDS = (0, 1, 2)
WEIGHTS = (0.1, 0.5, 2.0)
KINDS = ("laplacian", "lle")
SETTINGS: dict[str, dict[str, Any]] = {
    "nell186": {"dim": 50, "epochs": 40, "validate_every": 0, "patience": 0},
    "fb15k": {"dim": 50, "epochs": 10, "validate_every": 0, "patience": 0},
}
MODELS = {"nell186": ("transe", "se", "sme_linear", "transa"), "fb15k": ("transe", "transa")}


def measure(graph: KnowledgeGraph, name: str, model: str, split: Any, **settings: Any) -> float:
    """Train and return the accuracy, or the filtered MRR, on a split."""
    recipe = load_recipe(model, None, None, {**SETTINGS[name], **settings})
    found = Trainer(graph, recipe).fit()
    if graph.valid_labels is None:
        rows = graph.triples(split)[:5000] if split == "valid" else graph.triples(split)
        return float(link_prediction(found, rows, graph.known()).summary()["both"]["mrr"])
    return float(classify(found, graph, split, calibration=None).summary()["accuracy"])


def study(graph: KnowledgeGraph, name: str, model: str) -> dict[str, Any]:
    """Return the figures of a model without and with both terms."""
    base = [measure(graph, name, model, "test", seed=seed) for seed in SEEDS]
    figures: dict[str, Any] = {"base": base, "base_valid": measure(graph, name, model, "valid", seed=0)}
    for kind in KINDS:
        tried = {w: measure(graph, name, model, "valid", seed=0, smoothness=kind, smoothness_weight=w) for w in WEIGHTS}
        weight = max(tried, key=tried.__getitem__)
        found = [measure(graph, name, model, "test", seed=s, smoothness=kind, smoothness_weight=weight) for s in SEEDS]
        gain = np.subtract(found, base)
        figures[kind] = {
            "valid": tried,
            "weight": weight,
            "test": found,
            "gain": {"mean": float(gain.mean()), "least": float(gain.min()), "most": float(gain.max())},
        }
    return figures


def main() -> None:
    started = time.time()
    name, *models = sys.argv[1:]
    graph = transa.load(Path(os.environ["TRANSA_DATA"], "NELL186") if name == "nell186" else name)
    figures: dict[str, Any] = {}
    for model in models or MODELS[name]:
        figures[model] = study(graph, name, model)
        print(model, figures[model], flush=True)
        measure_of = "accuracy" if graph.valid_labels is not None else "mrr"
        save(f"benchmark_smoothness_{name}", started, measure=measure_of, settings=SETTINGS[name], **figures)


if __name__ == "__main__":
    main()
