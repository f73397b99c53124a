"""The general recipe beside settings that were searched for one graph, on valid.

    python benchmarks/general.py [--minutes 10] [--threads 1] [--run DIR] umls kinship nations nell186 fb15k-237 wn18rr

The general recipe knows nothing of the dataset: its trials and its training take so many minutes together. The tuned settings are those
of the package's file for the dataset (FB15k-237, WN18RR), those that the record has, those that ``benchmarks/tuning.py`` found in 10
minutes (UMLS, Kinship), or those that a search of as many minutes finds here; they are trained to their end. Both without rules.
Figures are filtered MRR on all valid triples, both sides; of NELL186, whose valid split is labelled, on the true ones. The test split
is not looked at. With --run, the tuned settings are those of a run folder, which is opened instead of being trained anew.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from record import load, save

import transa
from transa.evaluation import link_prediction
from transa.models import Model
from transa.training import Options, Recipe, RunFolder, Trainer, general_recipe
from transa.training.recipe import recipe_from
from transa.training.recipe_files import load_recipe

#: Datasets whose tuned settings are in the package.
IN_PACKAGE = ("fb15k-237", "wn18rr")


def graph_of(name: str) -> transa.KnowledgeGraph:
    if name != "nell186":
        return transa.load(name)
    graph = transa.load(Path(os.environ["TRANSA_DATA"], "NELL186"))
    return replace(graph, valid=graph.valid[graph.valid_labels == 1], valid_labels=None)


def tuned(name: str, graph: transa.KnowledgeGraph, minutes: float, options: Options) -> Recipe:
    """Return settings that were searched for a dataset."""
    if name in IN_PACKAGE:
        return load_recipe("transa", None, name)
    found_before = load("benchmark_general").get("datasets", {}).get(name)
    if found_before:
        return recipe_from({"model": "transa"} | found_before["tuned"]["recipe"])
    known = load("benchmark_tuning")["datasets"]
    if name in known:
        return recipe_from({"model": "transa"} | known[name]["tuned"]["recipe"] | {"with_rules": False})
    with tempfile.TemporaryDirectory() as folder:
        found = transa.tune(graph, minutes=minutes, folder=Path(folder) / "study", options=options)
    return recipe_from(found.recipe.model_dump() | {"with_rules": False})


def trained(graph: transa.KnowledgeGraph, recipe: Recipe, options: Options) -> dict[str, Any]:
    """Train by a recipe and return its figures on valid."""
    return figures_of(Trainer(graph, recipe, options).fit(), graph, recipe)


def figures_of(model: Model, graph: transa.KnowledgeGraph, recipe: Recipe) -> dict[str, Any]:
    """Return the figures of a trained model on valid."""
    found = link_prediction(model, graph.valid, graph.known("train", "valid")).summary()["both"]
    return {
        "valid_mrr": found["mrr"],
        "valid_hits@10": found["hits@10"],
        "recipe": recipe.model_dump(exclude_defaults=True),
    }


def compared(name: str, minutes: float, options: Options, run: Path | None) -> dict[str, Any]:
    """Return the figures of both on one graph."""
    graph = graph_of(name)
    if run is not None:
        opened = RunFolder(run)
        best = figures_of(opened.model(), graph, opened.recipe())
    started, before = time.time(), time.process_time()
    recipe = general_recipe(
        "transa",
        graph,
        {"with_rules": False},
        minutes=minutes,
        options=options,
        callback=lambda each: print(each.name, each.epochs, each.score),
    )
    general = trained(graph, recipe, options)
    general |= {"seconds": time.time() - started, "cpu_seconds": time.process_time() - before}
    if run is None:
        best = trained(graph, tuned(name, graph, minutes, options), options)
    return {
        "minutes": minutes,
        "threads": options.threads,
        "general": general,
        "tuned": best,
        "share": general["valid_mrr"] / best["valid_mrr"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--run", type=Path, metavar="DIR")
    given = parser.parse_args()
    started = time.time()
    figures = load("benchmark_general").get("datasets", {})
    for name in given.datasets:
        figures[name] = compared(name, given.minutes, Options(threads=given.threads), given.run)
        save("benchmark_general", started, datasets=figures)
        print(name, figures[name], flush=True)


if __name__ == "__main__":
    main()
