"""What the type penalty is worth: the same vectors ranked with it and without it.

    python benchmarks/type_penalty.py nell186 fb15k [--models transe transa]

NELL186: accuracy of triple classification. FB15K: filtered MRR of a sample of test triples, with the schema of its relations. The
penalty is learned on valid. Settings are those of `benchmarks/smoothness.py`. The record keeps what is not named.
"""

from __future__ import annotations

import argparse
import os
import time
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import load, save
from smoothness import SAMPLE, SETTINGS

import transa
from transa.data import KnowledgeGraph
from transa.evaluation import classify, link_prediction
from transa.models import Model
from transa.training import Options, Trainer, load_recipe

SEEDS = (0, 1, 2)


def figure(graph: KnowledgeGraph, model: Model) -> float:
    """Return the accuracy, or the filtered MRR, on test."""
    if graph.valid_labels is not None:
        return float(classify(model, graph, "test", calibration=None).summary()["accuracy"])
    chosen = np.random.default_rng(0).permutation(len(graph.test))[:SAMPLE]
    return float(link_prediction(model, graph.test[np.sort(chosen)], graph.known()).summary()["both"]["mrr"])


def study(graph: KnowledgeGraph, name: str, model: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    """Return the figures with and without the penalty for each seed."""
    found: dict[str, Any] = {"without": [], "with": [], "zero": []}
    for seed in seeds:
        settings = {**SETTINGS[name], "seed": seed, "type_penalty": True}
        trained = Trainer(graph, load_recipe(model, None, None, settings), Options(threads=1)).fit()
        plain = copy(trained)
        plain.penalty = None
        found["with"].append(figure(graph, trained))
        found["without"].append(figure(graph, plain))
        weights = np.zeros(1) if trained.penalty is None else trained.penalty.weights
        found["zero"].append(float((weights == 0).mean()))
        print(name, model, seed, {label: values[-1] for label, values in found.items()}, flush=True)
    return found


def main() -> None:
    started = time.time()
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+", choices=sorted(SETTINGS))
    parser.add_argument("--models", nargs="+", default=["transe", "transa"])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    options = parser.parse_args()
    figures = {name: load("benchmark_type_penalty").get(name, {}) for name in SETTINGS}
    for name in options.names:
        graph = transa.load(Path(os.environ["TRANSA_DATA"], "NELL186") if name == "nell186" else name)
        for model in options.models:
            figures[name][model] = study(graph, name, model, tuple(options.seeds))
            save("benchmark_type_penalty", started, settings=SETTINGS, sample=SAMPLE, **figures)


if __name__ == "__main__":
    main()
