"""How far the paper's own objective gets: learning curves of the `paper` recipe under several settings, on valid.

    python benchmarks/paper_curves.py [wn11 wn18 fb13 fb15k] [--picture docs/images/paper_curves.png]

The paper prints the learning rate, the margin, C and k, but not the epochs, lambda (the scale of W_r) or whether the learning rate
falls. Each setting is trained to its end, with seed 0. Figures are the accuracy on valid (WN11, FB13), or filtered Hits@10 of 3,000
valid triples, both sides. The test split is not looked at.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import load, save

import transa
from transa.evaluation import accuracy, link_prediction
from transa.training import Options, Trainer
from transa.training.progress import Progress
from transa.training.recipe_files import load_recipe

#: Points of a curve, and valid triples that are ranked for each.
POINTS, RANKED = 10, 3000
#: What the paper prints in Tables 2 and 4 (Hits@10 filtered, accuracy), in percent.
PRINTED = {"wn11": 83.2, "fb13": 87.3, "wn18": 94.3, "fb15k": 80.4}
TITLES = {
    "wn11": "WN11, accuracy on valid (%)",
    "fb13": "FB13, accuracy on valid (%)",
    "wn18": "WN18, Hits@10 on valid (%)",
    "fb15k": "FB15K, Hits@10 on valid (%)",
}
#: Settings that the record shows.
SHOWN = (
    "learning_rate", "schedule", "margin", "metric_trace", "metric_every", "candidates", "epochs", "batch_size", "dim", "penalty",
)  # fmt: skip
#: Negatives of any entity, and W_r anew after every epoch.
PLAIN = {"candidates": "all", "metric_every": 1}
#: Settings by dataset; an empty one is the recipe as it is.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "wn11": {
        "constant 0.02, trace 0.05": {"schedule": "constant", "learning_rate": 0.02, "metric_trace": 0.05},
        "falling from 0.05, trace 0.05": {"learning_rate": 0.05, "metric_trace": 0.05},
        "falling from 0.05, trace 0.2": {"learning_rate": 0.05, "metric_trace": 0.2},
        "the same, 3 times the epochs": {"learning_rate": 0.05, "metric_trace": 0.2, "epochs": 600},
    },
    "wn18": {
        "constant 0.01": {"schedule": "constant", "learning_rate": 0.01, "epochs": 500},
        "falling from 0.02": {"learning_rate": 0.02, "epochs": 500},
        "falling from 0.02, 3 times the epochs": {"learning_rate": 0.02, "epochs": 1500},
    },
    "fb13": {
        "constant 0.002": PLAIN | {"schedule": "constant", "learning_rate": 0.002, "epochs": 100},
        "falling from 0.01": PLAIN | {"learning_rate": 0.01, "epochs": 200},
        "falling from 0.004": PLAIN | {"learning_rate": 0.004, "epochs": 200},
        "falling from 0.01, trace 0.02": PLAIN | {"learning_rate": 0.01, "metric_trace": 0.02, "epochs": 60},
        "falling from 0.01, typed negatives": PLAIN | {"candidates": "typed", "learning_rate": 0.01, "epochs": 100},
        "the same, W_r after every 10th epoch": {
            "candidates": "typed",
            "metric_every": 10,
            "learning_rate": 0.01,
            "epochs": 100,
        },
    },
    "fb15k": {
        "constant 0.002": {"schedule": "constant", "learning_rate": 0.002, "epochs": 200},
        "constant 0.002, 4 times the epochs": {"schedule": "constant", "learning_rate": 0.002, "epochs": 800},
        "falling from 0.004": {"learning_rate": 0.004, "epochs": 200},
        "falling from 0.01, trace 0.02": {"learning_rate": 0.01, "metric_trace": 0.02, "epochs": 200},
    },
}


def curve(graph: transa.KnowledgeGraph, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Train, and return the figure on valid after every tenth of the epochs."""
    recipe = load_recipe("transa", "paper", name, {"schedule": "linear"} | settings | {"validate_every": 0})
    trainer = Trainer(graph, recipe, Options(threads=1))
    some = np.random.default_rng(0).permutation(len(graph.valid))[:RANKED]
    known = graph.known("train", "valid")
    every = max(1, recipe.epochs // POINTS)
    points: list[tuple[int, float]] = []

    def figure() -> float:
        if graph.valid_labels is not None:
            return accuracy(trainer.model, graph.valid, graph.valid_labels)
        return float(link_prediction(trainer.model, graph.valid[some], known).summary()["both"]["hits@10"])

    def note(progress: Progress) -> None:
        if progress.epoch % every == 0:
            points.append((progress.epoch, round(100 * figure(), 2)))

    before = time.process_time()
    trainer.fit(note)
    return {
        "settings": recipe.model_dump(include=set(SHOWN)),
        "epochs, percent": points,
        "cpu_seconds": round(time.process_time() - before, 1),
    }


def draw(curves: dict[str, Any], path: Path) -> None:
    """Draw the curves of each dataset, with what the paper prints."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.5 * len(curves), 4.2), squeeze=False)
    for axis, (name, found) in zip(axes[0], curves.items(), strict=True):
        for label, one in found.items():
            epochs, percents = zip(*one["epochs, percent"], strict=True)
            axis.plot(epochs, percents, marker="o", markersize=3, label=label)
        axis.axhline(PRINTED[name], color="black", linestyle="--", label="printed (test)")
        axis.set_title(TITLES[name])
        axis.set_xlabel("epoch")
        axis.legend(fontsize=6, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="*", default=list(SETTINGS))
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--again", action="store_true", help="train what has a curve in the record too")
    given = parser.parse_args()
    started = time.time()
    curves = load("benchmark_paper_curves").get("datasets", {})
    for name in given.datasets:
        graph = transa.load(name)
        found = curves.setdefault(name, {})
        for label, settings in SETTINGS[name].items():
            if label not in found or given.again:
                found[label] = curve(graph, name, settings)
                print(name, label, found[label], flush=True)
                save("benchmark_paper_curves", started, printed=PRINTED, datasets=curves)
    if given.picture:
        draw(curves, given.picture)


if __name__ == "__main__":
    main()
