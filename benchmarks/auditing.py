"""Wrong facts put into a graph, and how many of the first that `audit` lists they are.

    python benchmarks/auditing.py [umls nell186 fb15k …] [--seed 0] [--runs FOLDER]

Wrong facts of three kinds go into train, none of them a fact of any split: a random tail (2 % of train); a tail that the relation has
elsewhere (2 %); a second answer to a functional relation (1 %, at most 5 % of the facts of functional relations). The model is
trained on all of it. Each kind is measured among the facts that were there before and those of this kind alone. With `--runs`, trained
models are kept in a folder, and taken from there.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import transa
from transa.data import KnowledgeGraph
from transa.data.graph import Triples
from transa.inference import Trained

#: Shares of train: random tails, tails of the right role, second answers to functional relations; and of functional relations' facts.
SHARES = {"random": 0.02, "role": 0.02, "functional": 0.01}
OF_FUNCTIONAL = 0.05
#: Which relations get second answers: as many one-answer heads, and so many heads.
ONE_ANSWER, HEADS = 0.95, 20
#: How each graph is trained.
TRAINING = {
    "umls": ("umls", "softmax", {"epochs": 40}),
    "nell186": (None, "modern", {"epochs": 40, "dim": 100}),
    "fb15k": (None, "modern", {"epochs": 20, "dim": 100}),
}


def graph_of(name: str) -> KnowledgeGraph:
    return transa.load(Path(os.environ["TRANSA_DATA"], "NELL186") if name == "nell186" else name)


def functional_of(graph: KnowledgeGraph) -> npt.NDArray[np.int64]:
    """Return the relations whose heads nearly all have one tail."""
    facts, size = graph.training_facts, len(graph.relations)
    relations = facts.tails.queries % size
    heads = np.bincount(relations, minlength=size)
    single = np.bincount(relations, weights=np.diff(facts.tails.offsets) == 1, minlength=size)
    return np.flatnonzero((single > ONE_ANSWER * heads) & (heads >= HEADS))


def noisy(graph: KnowledgeGraph, seed: int) -> tuple[KnowledgeGraph, dict[str, Triples]]:
    """Return the graph with wrong facts in train, and these by their kind."""
    random, facts = np.random.default_rng(seed), graph.known()
    train = np.unique(graph.train, axis=0)
    functional = functional_of(graph)
    single = train[np.isin(train[:, 1], functional)]
    counts = {kind: int(share * len(train)) for kind, share in SHARES.items()}
    counts["functional"] = min(counts["functional"], int(OF_FUNCTIONAL * len(single)))
    tails = {relation: np.unique(train[train[:, 1] == relation, 2]) for relation in np.unique(train[:, 1]).tolist()}
    wrong: dict[str, Triples] = {}
    taken = {tuple(row) for row in train.tolist()}
    for kind, count in counts.items():
        pool, found = single if kind == "functional" else train, []
        for _ in range(100 * count):  # a relation may have no other tail
            if len(found) == count:
                break
            head, relation, _ = pool[random.integers(len(pool))].tolist()
            tail = int(random.integers(len(graph.entities)) if kind == "random" else random.choice(tails[relation]))
            row = (head, relation, tail)
            if head != tail and row not in taken and not facts.contains(np.array([row], np.int32))[0]:
                taken.add(row)
                found.append(row)
        wrong[kind] = np.array(found, np.int32).reshape(-1, 3)
    rows = np.concatenate([train, *wrong.values()])
    return replace(graph, train=rows[random.permutation(len(rows))], name=None), wrong


def trained_on(name: str, graph: KnowledgeGraph, seed: int, runs: Path | None) -> Trained:
    """Train quickly, or open what was trained before."""
    from transa.training import load_recipe

    folder = None if runs is None else runs / f"{name}_{seed}"
    if folder is not None and folder.exists():
        return Trained.open(folder)
    dataset, recipe, settings = TRAINING[name]
    chosen = load_recipe("transa", recipe, dataset, {"validate_every": 0, "patience": 0, **settings})
    model = transa.TransA(recipe=chosen).fit(graph)
    if folder is not None:
        model.save(folder)
    return model.trained_
