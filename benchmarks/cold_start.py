"""Entities that nobody has seen, placed by their texts: the filtered MRR of their triples.

    python benchmarks/cold_start.py wn18rr --words [--encoder FOLDER] [--maps RUN]

A tenth of the entities is held out by seed, with all their triples. `--words` trains the model whose entities are the sum of their
words; with a sentence encoder, its vectors count beside the words as well. Its settings are chosen on entities that are held out of the
remaining graph once more, by another seed; `--choose` ends there, before anything is measured on those held out first. `--maps`
measures maps from TF-IDF, and from the encoder, into the space of a model of the graph without these entities (plain, weighted by the
metrics, and trained by the loss), which is trained here if the folder holds none. Written after every step; the record keeps what was
done before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from record import load, save

import transa
from transa.data import KnowledgeGraph, KnownFacts
from transa.data.alignment import aligned
from transa.data.graph import SPLITS
from transa.data.selecting import only
from transa.data.splitting import hold_out_entities
from transa.data.text_vectors import SentenceEncoder, TextEncoder, TfIdf, Vectors, entity_texts
from transa.evaluation import link_prediction
from transa.evaluation.popularity import by_popularity
from transa.inference import NewTexts, Trained, extend, texts
from transa.inference.placement import grown_model
from transa.inference.text_map import learn_text_map
from transa.inference.word_map import learn_word_map
from transa.models import Model
from transa.training import Options, RunFolder, Trainer, load_recipe, text_engine

SHARE, SEED, SAMPLE = 0.1, 0, 2000
#: Maps: whether errors are weighted by the metrics, and epochs down the loss (not of words, whose map has a closed form).
WAYS = {"plain": (False, 0), "weighted": (True, 0), "trained": (True, 6)}
#: What a record keeps.
STEPS = ("frequency", "encoding", "chosen_words", "joint_words", "chosen_encoder", "joint_encoder", "tfidf", "encoder")
#: What is tried on valid for the joint model, in this order, beside what `JOINT` has.
MORE = {"epochs": 5, "dim": 256, "entity_dropout": 0.5, "sampled_entities": 6000}
TRIED: dict[str, tuple[dict[str, Any], ...]] = {
    "words": (
        {"epochs": 3},
        {"epochs": 6},
        {"epochs": 3, "own_vectors": True},
        MORE,
        MORE | {"neighbour_candidates": 8},
    ),
    "encoder": (
        {"epochs": 3},
        {"epochs": 6},
        {"epochs": 3, "dim": 256, "entity_dropout": 0.2},
        MORE,
        MORE | {"neighbour_candidates": 8},
    ),
}
BASE = {"dim": 200, "epochs": 20}
JOINT: dict[str, Any] = {
    "entity_texts": True,
    "entity_norm": "unit",
    "dim": 128,
    "temperature": 8.0,
    "learning_rate": 0.1,
    "label_smoothing": 0.1,
    "dropout": 0.0,
    "entity_dropout": 0.0,
    "biases": False,
    "sampled_entities": 2000,
    "batch_size": 1024,
    "validate_every": 0,
    "patience": 0,
}


class Questions:
    """The triples of entities that the base graph lacks, of relations that it has, under the ids of the grown graph."""

    def __init__(self, graph: KnowledgeGraph, base: KnowledgeGraph) -> None:
        left = np.array([relation in base.relations for relation in graph.relations])
        graph = only(graph, {split: left[graph.triples(split)[:, 1]] for split in SPLITS})
        new = sorted(set(graph.entities) - set(base.entities))
        self.base, self.old = base, len(base.entities)
        self.entities = base.entities.followed_by(graph.entities.take([graph.entities.id(key) for key in new]))
        self.grown = KnowledgeGraph(self.entities, base.relations, base.train)
        whole = aligned(graph, self.entities, base.relations)
        every = np.concatenate([whole.train, whole.valid, whole.test])
        self.facts = KnownFacts(every, len(self.entities), len(base.relations))
        self.all = every[(every[:, [0, 2]] >= self.old).any(axis=1)]
        chosen = np.random.default_rng(SEED).permutation(len(self.all))[:SAMPLE]
        self.sample = np.ascontiguousarray(self.all[chosen])
        told = entity_texts(self.entities)
        self.texts = {key: told[self.old + place] for place, key in enumerate(new)}
        self.told = told

    def figures(self, model: Model) -> dict[str, float]:
        """Rank the sample, both sides, filtered."""
        found = link_prediction(model, self.sample, self.facts).summary()
        return {
            "mrr": found["both"]["mrr"],
            "head_mrr": found["head"]["mrr"],
            "tail_mrr": found["tail"]["mrr"],
            "hits@10": found["both"]["hits@10"],
        }

    def by_frequency(self) -> dict[str, float]:
        """Rank by how often an entity is the answer in train, for the relation and side."""
        train = KnownFacts(self.base.train, len(self.entities), len(self.base.relations))
        return {"mrr": by_popularity(train, self.sample, self.facts).summary()["both"]["mrr"]}


def base_model(name: str, base: KnowledgeGraph, run: Path) -> Trained:
    """Open the run, or train it."""
    if not RunFolder(run).holds("weights.safetensors"):
        Trainer(base, load_recipe("transa", "softmax", name, BASE), Options(threads=1), RunFolder(run)).fit()
    return Trained.open(run)


def maps(questions: Questions, one: Trained, encoder: TextEncoder | None, ways: list[str]) -> dict[str, Any]:
    """Measure the maps from words, or from an encoder's vectors."""
    old, told = questions.old, questions.told
    vectors = None if encoder is None else encoder.encode(told)
    found: dict[str, Any] = {}
    for label in ways:
        weighted, epochs = WAYS[label]
        begun = time.process_time()
        if vectors is not None:
            placed = learn_text_map(one, vectors[:old], weighted=weighted, epochs=epochs).place(vectors[old:])
        elif epochs:
            continue
        else:
            words = TfIdf.learn(told[:old])
            placed = learn_word_map(one, words, told[:old], weighted=weighted).place(told[old:])
        spent = time.process_time() - begun
        model = grown_model(one.model, questions.grown, np.empty((0, 3), np.int32), old)
        for table, rows in placed.items():
            model.entity[table][old:] = rows.to(model.entity[table])
        found[label] = {**questions.figures(model), "cpu_seconds": round(spent, 1)}
        print(label, found[label], flush=True)
    return found


def choose(
    name: str, base: KnowledgeGraph, label: str, encoder: dict[str, str], tried: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Try settings of the joint model on entities that are held out of the base graph once more; yield what was best after each."""
    questions = Questions(base, hold_out_entities(base, SHARE, SEED + 1))
    for settings in TRIED[label]:
        if settings not in [each["settings"] for each in tried]:
            tried = [*tried, {"settings": settings, **joint(name, questions, settings | encoder)}]
            yield {"tried": tried, "settings": max(tried, key=lambda each: each["mrr"])["settings"]}


def joint(name: str, questions: Questions, settings: dict[str, Any]) -> dict[str, Any]:
    """Train words and relations on the base graph, and place the others by their texts."""
    recipe = load_recipe("transa", "softmax", name, {**JOINT, **settings})
    begun = time.process_time()
    model = Trainer(questions.base, recipe, Options(threads=1)).fit()
    spent = time.process_time() - begun
    begun = time.process_time()
    grown = extend(Trained(model, questions.base, recipe), texts=NewTexts(questions.texts)).trained
    placed = time.process_time() - begun
    return {**questions.figures(grown.model), "cpu_seconds": round(spent, 1), "cpu_seconds_to_place": round(placed, 1)}


class Remembering(SentenceEncoder):
    """A sentence encoder that reads each text once, and keeps all vectors in a file beside the folder."""

    said: ClassVar[dict[str, Vectors]] = {}

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder

    def encode(self, texts: Sequence[str]) -> Vectors:
        new = sorted({text for text in texts if text not in self.said})
        if new:
            self.said.update(zip(new, SentenceEncoder(self.folder).encode(new), strict=True))
        return np.stack([self.said[text] for text in texts])

    @classmethod
    def remember(cls, folder: Path, told: list[str], file: Path) -> float:
        """Read texts, and return the seconds of CPU that took; 0 where an earlier run wrote the file."""
        begun = time.process_time()
        known = file.exists()
        if not known:
            np.save(file, cls(folder).encode(told))
        cls.said.update(zip(told, np.load(file), strict=True))
        return 0.0 if known else time.process_time() - begun


def main() -> None:
    started = time.time()
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--maps", type=Path, metavar="RUN")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="which maps")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--choose", action="store_true", help="only choose settings, on valid")
    parser.add_argument("--vectors", type=Path, help="where the encoder's vectors are kept, by entity id")
    options = parser.parse_args()
    torch.set_num_threads(1)
    graph = transa.load(options.name)
    questions = Questions(graph, hold_out_entities(graph, SHARE, SEED))
    record = f"benchmark_cold_start_{options.name}"
    before = load(record)
    kept = {name: before[name] for name in STEPS if name in before and before["seed"] == SEED}
    figures: dict[str, Any] = {
        **kept,
        "entities": len(questions.entities),
        "unseen": len(questions.entities) - questions.old,
        "triples": len(questions.all),
        "sampled": len(questions.sample),
        "seed": SEED,
        "settings": {"base": BASE, "joint": JOINT},
    }

    def keep(label: str, found: dict[str, Any]) -> None:
        figures[label] = found
        print(label, found["tried"][-1] if "tried" in found else found, flush=True)
        save(record, started, **figures)

    if "frequency" not in figures and not options.choose:
        keep("frequency", questions.by_frequency())
    if options.encoder:
        file = options.vectors or Path(f"{options.name}_vectors.npy")
        seconds = Remembering.remember(options.encoder, entity_texts(graph.entities), file)
        if seconds:
            keep("encoding", {"texts": len(graph.entities), "cpu_seconds": round(seconds, 1)})
        text_engine.SentenceEncoder = texts.SentenceEncoder = Remembering  # type: ignore[misc]
    ways = {"words": {}} if options.words else {}
    ways |= {"encoder": {"text_encoder": str(options.encoder)}} if options.encoder else {}
    for label, encoder in ways.items():
        before = figures.get(f"chosen_{label}", {})
        for chosen in choose(options.name, questions.base, label, encoder, before.get("tried", [])):
            keep(f"chosen_{label}", chosen)
        settings = figures[f"chosen_{label}"]["settings"]
        if not options.choose and (f"joint_{label}" not in figures or settings != before.get("settings")):
            keep(f"joint_{label}", joint(options.name, questions, settings | encoder))
    if options.maps:
        one = base_model(options.name, questions.base, options.maps)
        keep("tfidf", maps(questions, one, None, options.ways))
        if options.encoder:
            keep("encoder", maps(questions, one, Remembering(options.encoder), options.ways))


if __name__ == "__main__":
    main()
