"""Test triples with entities that train has not seen: their filtered MRR with texts, beside without.

    python benchmarks/unseen.py wn18rr [--encoder FOLDER --vectors FILE]

The model whose entities are sums of their words, with the settings that `benchmarks/cold_start.py` chose on held-out entities, is
trained on the whole graph. Its unseen entities are then ranked where their texts put them, and once more at the mean of all entities,
which is all that is known of them without texts. The order by frequency stands beside both.
"""

from __future__ import annotations

import argparse
import time
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cold_start import JOINT, Remembering
from record import load, save

import transa
from transa.data import KnownFacts
from transa.data.text_vectors import entity_texts
from transa.evaluation import link_prediction
from transa.evaluation.popularity import by_popularity
from transa.models import Model, Rows
from transa.training import Options, Trainer, load_recipe, text_engine


def without_texts(model: Model, unseen: np.ndarray[Any, Any]) -> Model:
    """Return the model with unseen entities at the mean of the others."""
    plain = copy(model)
    plain.entity = Rows({name: table.clone() for name, table in model.entity.items()})
    for table in plain.entity.values():
        table[unseen] = table[np.setdiff1d(np.arange(len(table)), unseen)].mean(0)
    return plain


def main() -> None:
    started = time.time()
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--vectors", type=Path)
    options = parser.parse_args()
    graph, record = transa.load(options.name), f"benchmark_unseen_{options.name}"
    unseen = np.setdiff1d(np.arange(len(graph.entities)), graph.train[:, [0, 2]])
    rows = graph.test[np.isin(graph.test[:, [0, 2]], unseen).any(axis=1)]
    known = graph.known()
    train = KnownFacts(graph.train, len(graph.entities), len(graph.relations))
    kept = load(record)
    figures: dict[str, Any] = {name: kept[name] for name in ("words", "encoder") if name in kept}
    figures |= {"entities": len(unseen), "triples": len(rows)}
    figures["frequency"] = {"mrr": by_popularity(train, rows, known).summary()["both"]["mrr"]}
    label, settings = "words", dict(JOINT)
    if options.encoder:
        label, settings["text_encoder"] = "encoder", str(options.encoder)
        Remembering.remember(options.encoder, entity_texts(graph.entities), options.vectors)
        text_engine.SentenceEncoder = Remembering  # type: ignore[misc]
    settings |= load(f"benchmark_cold_start_{options.name}")[f"chosen_{label}"]["settings"]
    begun = time.process_time()
    recipe = load_recipe("transa", "softmax", options.name, settings)
    model = Trainer(graph, recipe, Options(threads=1)).fit()
    seconds = round(time.process_time() - begun, 1)
    models = {"with_texts": model, "without": without_texts(model, unseen)}
    found = {name: link_prediction(each, rows, known).summary()["both"] for name, each in models.items()}
    figures[label] = {
        "settings": {name: value for name, value in settings.items() if name != "text_encoder"},
        "cpu_seconds": seconds,
        **{name: {key: each[key] for key in ("mrr", "hits@10", "mr")} for name, each in found.items()},
    }
    print(figures)
    save(record, started, seed=recipe.seed, **figures)


if __name__ == "__main__":
    main()
