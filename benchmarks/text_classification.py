"""Triple classification with texts: a model, the words of names and glosses, and both together.

    python benchmarks/text_classification.py wn11 [fb13]

For each relation, a logistic regression on the labelled triples of valid puts together the score of a model, the score of the model
whose entities are the sum of their words, and how alike the texts of head and tail are. Its strength is chosen on valid by
cross-validation. Nothing is chosen on test; all combinations are reported.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from record import save
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import transa
from transa.data import KnowledgeGraph
from transa.data.relations import by_relation
from transa.data.text_vectors import TfIdf, entity_texts
from transa.evaluation.scores import finite_scores
from transa.training import Options, Recipe, Trainer, load_recipe, recipe_from

Floats = npt.NDArray[np.float64]

BASE = {"wn11": "authors", "fb13": "modern"}
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
SUBSETS = {
    "model": ("model",),
    "words": ("words",),
    "alike": ("cosine", "shared"),
    "words and alike": ("words", "cosine", "shared"),
    "model and alike": ("model", "cosine", "shared"),
    "all": ("model", "words", "cosine", "shared"),
}


def trained(graph: KnowledgeGraph, recipe: Recipe) -> Any:
    begun = time.process_time()
    model = Trainer(graph, recipe, Options(threads=1)).fit()
    print(recipe.model, recipe.entity_texts, round(time.process_time() - begun, 1), "s of CPU", flush=True)
    return model


def features(graph: KnowledgeGraph, models: dict[str, Any]) -> dict[str, dict[str, Floats]]:
    """Return the numbers of each labelled triple of valid and test."""
    texts = entity_texts(graph.entities)
    weights = TfIdf.learn(texts, dimensions=0).weights(texts)
    found: dict[str, dict[str, Floats]] = {}
    for split in ("valid", "test"):
        rows = graph.triples(split)  # type: ignore[arg-type]
        heads, tails = weights[rows[:, 0]], weights[rows[:, 2]]
        cosine = np.asarray(heads.multiply(tails).sum(axis=1)).ravel().astype(np.float64)
        both = np.asarray((heads > 0).multiply(tails > 0).sum(axis=1)).ravel().astype(np.float64)
        found[split] = {"cosine": cosine, "shared": np.log1p(both)}
        found[split] |= {name: finite_scores(model, rows) for name, model in models.items()}
    return found


def accuracy(graph: KnowledgeGraph, numbers: dict[str, dict[str, Floats]], chosen: tuple[str, ...]) -> float:
    """Learn a logistic regression for each relation on valid, and return the accuracy on test."""
    valid, test = (np.stack([numbers[split][name] for name in chosen], axis=1) for split in ("valid", "test"))
    learned = dict(by_relation(graph.valid))
    assert graph.valid_labels is not None and graph.test_labels is not None
    right = 0
    for relation, rows in by_relation(graph.test):
        regression = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=5, cv=5, max_iter=1000))
        regression.fit(valid[learned[relation]], graph.valid_labels[learned[relation]])
        right += int((regression.predict(test[rows]) == graph.test_labels[rows]).sum())
    return right / len(graph.test)


def main() -> None:
    started = time.time()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or ["wn11"]:
        graph = transa.load(name)
        models = {
            "words": trained(graph, recipe_from(JOINT)),
            "model": trained(graph, load_recipe("transa", BASE[name], name, {})),
        }
        numbers = features(graph, models)
        found = {label: accuracy(graph, numbers, chosen) for label, chosen in SUBSETS.items()}
        print(name, found, flush=True)
        print(save(f"benchmark_text_classification_{name}", started, base=BASE[name], joint=JOINT, accuracy=found))


if __name__ == "__main__":
    main()
