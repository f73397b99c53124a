"""What a search for settings is worth: `transa tune` beside the default recipe, on valid and, once, on test.

python benchmarks/tuning.py --minutes 10 umls kinship
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import load, save

import transa
from transa.estimators import estimator_for
from transa.inference import Trained
from transa.training import Options, Recipe


def trained(graph: transa.KnowledgeGraph, recipe: Recipe | None, options: Options) -> dict[str, Any]:
    """Train by a recipe, or by the default, and return its figures."""
    started = time.time()
    estimator = transa.TransA(options=options) if recipe is None else estimator_for(recipe, options)
    trainer = estimator.trainer(graph)
    model = Trained(trainer.fit(), graph, trainer.recipe)
    found = estimator._fitted(model).evaluate().summary()["both"]
    return {
        "valid_mrr_without_rules": trainer.best,
        "test_mrr": found["mrr"],
        "test_hits@10": found["hits@10"],
        "with_rules": trainer.recipe.with_rules,
        "seconds": time.time() - started,
        "recipe": trainer.recipe.model_dump(exclude_defaults=True),
    }


def compared(name: str, minutes: float, threads: int) -> dict[str, Any]:
    graph, options = transa.load(name), Options(threads=threads)
    default = trained(graph, None, options)
    with tempfile.TemporaryDirectory() as folder:
        tuned = transa.tune(graph, minutes=minutes, folder=Path(folder) / "study", options=options, callback=print)
    assert tuned.default is not None
    return {
        "default": default,
        "tuned": trained(graph, tuned.recipe, options),
        "search": {
            "minutes": minutes,
            "threads": threads,
            "trials": dict(Counter(each.state for each in tuned.attempts)),
            "valid_mrr_of_the_first_trial": tuned.default.score,
            "valid_mrr_of_the_best": tuned.best.score,
            "best_way": tuned.best.way,
            "importance": tuned.importance,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    started = time.time()
    figures = load("benchmark_tuning").get("datasets", {})
    for name in given.datasets:
        figures[name] = compared(name, given.minutes, given.threads)
        print(save("benchmark_tuning", started, datasets=figures).read_text())


if __name__ == "__main__":
    main()
