"""What a search for settings is worth: `transa tune` beside the default recipe, on valid with several seeds and, once, on test.

The default is what `transa train` would use: the graph's own recipe, or the general one. Where that trains for longer than the search
may take, `--epochs` and `--dim` give both trainings, by the default and by what was found, the same smaller size. Figures on valid are
without rules, since the weights of rules are learned there; the test split is looked at with seed 0 alone, with rules if the recipe has
them.

python benchmarks/tuning.py umls kinship --minutes 10
python benchmarks/tuning.py fb15k-237 --minutes 10 --epochs 12 --dim 128 --seeds 1 --study studies (or its three steps one by one)
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import load, save

import transa
from transa.estimators import estimator_for
from transa.evaluation import link_prediction
from transa.inference import Trained
from transa.training import Options, Recipe, Trainer, load_recipe, recipe_from
from transa.tuning.study import StudyFolder


def trained(
    graph: transa.KnowledgeGraph, recipe: Recipe | None, options: Options, size: dict[str, int], seeds: int
) -> dict[str, Any]:
    """Train by a recipe, or by the default, and return its figures; `size` bounds it where a recipe in full takes too long."""
    if size:
        recipe = recipe or load_recipe("transa", None, graph.name)
        recipe = recipe_from(recipe.model_dump() | size | {"validate_every": max(1, size["epochs"] // 4)})
    started, used = time.time(), time.process_time()
    estimator = transa.TransA(options=options) if recipe is None else estimator_for(recipe, options)
    trainer = estimator.trainer(graph)
    model = trainer.fit(print)
    seconds, used = time.time() - started, time.process_time() - used
    fitted = estimator._fitted(Trained(model, graph, trainer.recipe))
    found = fitted.evaluate().summary()["both"]
    valid = []
    for seed in range(seeds):
        alone = recipe_from(trainer.recipe.model_dump() | {"seed": seed, "with_rules": False})
        one = model if alone == trainer.recipe else Trainer(graph, alone, options).fit()
        valid.append(link_prediction(one, graph.valid, graph.known("train", "valid")).summary()["both"]["mrr"])
    return {
        "valid_mrr_by_seed": valid,
        "valid_mrr": statistics.mean(valid),
        "valid_mrr_spread": statistics.stdev(valid) if seeds > 1 else None,
        "test_mrr": found["mrr"],
        "test_hits@10": found["hits@10"],
        "with_rules": trainer.recipe.with_rules,
        "seconds": seconds,
        "processor_seconds": used,
        "recipe": trainer.recipe.model_dump(exclude_defaults=True),
    }


def searched(graph: transa.KnowledgeGraph, minutes: float, folder: Path, options: Options) -> dict[str, Any]:
    used = time.process_time()
    resume = folder.exists()
    transa.tune(graph, minutes=minutes, folder=folder, resume=resume, options=options, callback=print)
    used = time.process_time() - used
    return {"minutes": minutes, "resumed": resume, "processor_seconds": used, "threads": options.threads}


def outcome(study: StudyFolder) -> dict[str, Any]:
    tuned = study.tuned()
    assert tuned.default is not None
    return {
        "short_vectors": study.beginning().short,
        "trials": dict(Counter(each.state for each in tuned.attempts)),
        "repetitions": sum(each.seed > 0 for each in tuned.attempts),
        "valid_mrr_of_the_default": tuned.default.score,
        "runs_of_the_default": tuned.default.runs,
        "valid_mrr_of_the_best": tuned.best.score,
        "runs_of_the_best": tuned.best.runs,
        "best_way": tuned.best.way,
        "importance": tuned.importance,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--epochs", type=int, help="of both trainings; by default those of the recipes")
    parser.add_argument("--dim", type=int, help="likewise")
    parser.add_argument("--seeds", type=int, default=3, help="of both trainings, on valid")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--study", type=Path, help="keeps the search, so that the steps can be taken one by one")
    parser.add_argument("--steps", nargs="+", default=["default", "search", "tuned"])
    given = parser.parse_args()
    started = time.time()
    options = Options(threads=given.threads)
    size = {name: value for name in ("epochs", "dim") if (value := getattr(given, name))}
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.datasets:
            graph, folder = transa.load(name), (given.study or Path(temporary)) / name
            found = load("benchmark_tuning").get("datasets", {}).get(name, {})
            found["size"] = size
            if "default" in given.steps:
                found["default"] = trained(graph, None, options, size, given.seeds)
            if "search" in given.steps:
                found["search"] = searched(graph, given.minutes, folder, options)
                found["search"] |= outcome(StudyFolder(folder))
            if "tuned" in given.steps:
                found["search"] |= outcome(StudyFolder(folder))
                best = StudyFolder(folder).tuned().recipe
                found["tuned"] = trained(graph, best, options, size, given.seeds)
            # read again: another graph may have been measured meanwhile
            figures = load("benchmark_tuning").get("datasets", {}) | {name: found}
            print(save("benchmark_tuning", started, datasets=figures).read_text())


if __name__ == "__main__":
    main()
