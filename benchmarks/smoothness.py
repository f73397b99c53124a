"""SSE: what types are worth. Base models, with the Laplacian term and with locally linear embedding.

    python benchmarks/smoothness.py nell186 [transe se sme_linear transa]
    python benchmarks/smoothness.py fb15k [transe transa]

NELL186 has labels: accuracy of triple classification. FB15K: filtered MRR, with the types of its entities. The weight of the term is
chosen on valid with seed 0; then there are three seeds. Written after every model; the record keeps the models that are not named.
"""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from record import load, save

import transa
from transa.data import KnowledgeGraph
from transa.evaluation import classify, link_prediction
from transa.models import Model
from transa.training import Options, Trainer, load_recipe

SEEDS = (0, 1, 2)
WEIGHTS = (0.1, 0.5, 2.0)
#: Models that need more seconds for an epoch have fewer.
EPOCHS = {"se": 20, "sme_linear": 15}
#: How many triples of a split are ranked.
SAMPLE = 2_000
KINDS = ("laplacian", "lle")
SETTINGS: dict[str, dict[str, Any]] = {
    "nell186": {"dim": 50, "epochs": 40, "validate_every": 0, "patience": 0},
    "fb15k": {"dim": 50, "epochs": 10, "validate_every": 0, "patience": 0},
}
MODELS = {"nell186": ("transe", "se", "sme_linear", "transa"), "fb15k": ("transe", "transa")}


class Study:
    """Trains one model of a graph in several ways, each once, and measures it on both splits."""

    def __init__(self, graph: KnowledgeGraph, name: str, model: str) -> None:
        self.graph, self.model = graph, model
        self.settings = {**SETTINGS[name], "epochs": EPOCHS.get(model, SETTINGS[name]["epochs"])}

    @cache  # noqa: B019  (a study is short-lived)
    def measure(self, seed: int, kind: str = "none", weight: float = 0.0) -> dict[str, float]:
        """Train, and return the accuracy, or the filtered MRR, on valid and test."""
        types = {} if kind == "none" else {"smoothness": kind, "smoothness_weight": weight}
        recipe = load_recipe(self.model, None, None, {**self.settings, "seed": seed, **types})
        found = Trainer(self.graph, recipe, Options(threads=1)).fit()
        return {split: self._figure(found, split) for split in ("valid", "test")}

    def _figure(self, model: Model, split: Literal["valid", "test"]) -> float:
        if self.graph.valid_labels is not None:
            return float(classify(model, self.graph, split, calibration=None).summary()["accuracy"])
        rows = self.graph.triples(split)
        chosen = np.random.default_rng(0).permutation(len(rows))[:SAMPLE]
        return float(link_prediction(model, rows[np.sort(chosen)], self.graph.known()).summary()["both"]["mrr"])

    def figures(self) -> dict[str, Any]:
        """Return the figures without and with both terms."""
        base = [self.measure(seed) for seed in SEEDS]
        figures: dict[str, Any] = {"base": [each["test"] for each in base], "base_valid": base[0]["valid"]}
        figures["settings"] = self.settings
        for kind in KINDS:
            tried = {weight: self.measure(SEEDS[0], kind, weight)["valid"] for weight in WEIGHTS}
            weight = max(tried, key=tried.__getitem__)
            found = [self.measure(seed, kind, weight)["test"] for seed in SEEDS]
            gain = np.subtract(found, figures["base"])
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
    record = f"benchmark_smoothness_{name}"
    kept = load(record)
    figures = {model: kept[model] for model in MODELS[name] if model in kept}
    for model in models or MODELS[name]:
        begun = time.process_time()
        figures[model] = Study(graph, name, model).figures() | {"cpu_seconds": round(time.process_time() - begun, 1)}
        print(model, figures[model], flush=True)
        measure_of = "accuracy" if graph.valid_labels is not None else "mrr"
        save(record, started, measure=measure_of, settings=SETTINGS[name], **figures)


if __name__ == "__main__":
    main()
