"""Triple classification with texts: a model, the words of names and glosses, and both together.

    python benchmarks/text_classification.py wn11 [fb13] [--runs FOLDER]

A logistic regression on the labelled triples of valid, for each relation near that of all (`transa.evaluation.context`), puts together
how a triple stands among the answers to its questions by a model, the same by the model whose entities are the sum of their words, and
how alike the texts of head and tail are. Which of them count is chosen on valid, by cross-validation; what the others have on test is
reported beside it. `--runs` keeps both models.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import save

import transa
from transa.data import KnowledgeGraph
from transa.data.graph import Labels, Triples
from transa.data.text_vectors import TfIdf, entity_texts
from transa.evaluation.context import ContextRegression, context_columns
from transa.evaluation.measures import Values
from transa.evaluation.scores import finite_scores
from transa.inference import Trained
from transa.models.loop_prior import barred_triples
from transa.training import Options, Recipe, RunFolder, Trainer, load_recipe, recipe_from

BASE = {"wn11": "softmax", "fb13": "modern"}
JOINT: dict[str, Any] = {
    "model": "transa",
    "metric": "signed",
    "metric_update": "gradient",
    "metric_learning_rate": 0.1,
    "directional": True,
    "loss": "softmax",
    "negatives": "all",
    "sampled_entities": 1500,
    "answers_at_once": 16,
    "entity_texts": True,
    "entity_norm": "unit",
    "dim": 100,
    "temperature": 8.0,
    "optimizer": "adagrad",
    "learning_rate": 0.1,
    "schedule": "linear",
    "label_smoothing": 0.1,
    "init_range": 0.02,
    "batch_size": 1024,
    "epochs": 3,
}
#: What the regression sees.
WAYS = {
    "model": ("model",),
    "words": ("words",),
    "words and alike": ("words", "alike"),
    "model and words": ("model", "words"),
    "model, words and alike": ("model", "words", "alike"),
}
FOLDS = 10


def trained(graph: KnowledgeGraph, recipe: Recipe, folder: Path | None) -> Any:
    """Open the run, or train it."""
    if folder is not None and RunFolder(folder).holds("weights.safetensors"):
        return Trained.open(folder).model
    begun = time.process_time()
    model = Trainer(graph, recipe, Options(threads=1), None if folder is None else RunFolder(folder)).fit()
    print(recipe.model, recipe.entity_texts, round(time.process_time() - begun, 1), "s of CPU", flush=True)
    return model


def alike(graph: KnowledgeGraph, triples: Triples) -> Values:
    """Return how alike the texts of heads and tails are: the cosine of their words, and the logarithm of how many they share."""
    texts = entity_texts(graph.entities)
    weights = TfIdf.learn(texts).weights(texts)
    heads, tails = weights[triples[:, 0]], weights[triples[:, 2]]
    cosine = np.asarray(heads.multiply(tails).sum(axis=1)).ravel()
    shared = np.asarray((heads > 0).multiply(tails > 0).sum(axis=1)).ravel()
    return np.column_stack([cosine, np.log1p(shared)]).astype(np.float64)


def columns_of(graph: KnowledgeGraph, models: dict[str, Any], triples: Triples) -> dict[str, Values]:
    """Return what each way to look at triples says of them."""
    found = {name: context_columns(model, triples, finite_scores(model, triples)) for name, model in models.items()}
    return {**found, "alike": alike(graph, triples)}


class Judge:
    """Learns from labelled triples, and counts what it gets right; loops that the model bars are false."""

    def __init__(self, columns: dict[str, Values], triples: Triples, labels: Labels, barred: Any) -> None:
        self.columns, self.triples, self.labels, self.barred = columns, triples, labels, barred

    def right(self, way: str, learned: Any, asked: Judge, rows: Any) -> int:
        """Learn on some rows, and count the right decisions on rows of another or the same."""
        mine, theirs = (np.concatenate([each.columns[part] for part in WAYS[way]], axis=1) for each in (self, asked))
        fitted = ContextRegression.fit(mine[learned], self.triples[learned], self.labels[learned])
        true = (fitted.log_odds(theirs[rows], asked.triples[rows]) > 0) & ~asked.barred[rows]
        return int((true == (asked.labels[rows] == 1)).sum())

    def left_out(self, way: str) -> float:
        """Return the accuracy on rows that are left out in turn."""
        part = np.random.default_rng(0).permutation(len(self.triples)) % FOLDS
        right = sum(self.right(way, (part != fold) & ~self.barred, self, part == fold) for fold in range(FOLDS))
        return right / len(self.triples)

    def accuracy(self, way: str, test: Judge) -> float:
        """Return the accuracy on test."""
        return self.right(way, ~self.barred, test, slice(None)) / len(test.triples)


def main() -> None:
    started = time.time()
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+", choices=list(BASE))
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    for name in options.names:
        graph = transa.load(name)
        recipes = {"model": load_recipe("transa", BASE[name], name, {}), "words": recipe_from(JOINT)}
        runs = {way: None if options.runs is None else options.runs / f"{name}_{way}" for way in recipes}
        models = {way: trained(graph, recipe, runs[way]) for way, recipe in recipes.items()}
        assert graph.valid_labels is not None and graph.test_labels is not None
        valid, test = (
            Judge(columns_of(graph, models, rows), rows, labels, barred_triples(models["model"], rows))
            for rows, labels in ((graph.valid, graph.valid_labels), (graph.test, graph.test_labels))
        )
        left_out = {way: valid.left_out(way) for way in WAYS}
        print(name, "valid", left_out, flush=True)
        found = {way: valid.accuracy(way, test) for way in WAYS}
        print(name, "test", found, flush=True)
        chosen = max(left_out, key=left_out.__getitem__)
        figures = {"valid": left_out, "chosen": chosen, "accuracy": found}
        print(save(f"benchmark_text_classification_{name}", started, base=BASE[name], joint=JOINT, **figures))


if __name__ == "__main__":
    main()
