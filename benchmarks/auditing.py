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
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from record import load, save

import transa
from transa.data import KnowledgeGraph
from transa.data.constraints import Constraints, mine_constraints
from transa.data.graph import Triples
from transa.evaluation.measures import roc_auc
from transa.inference import Trained
from transa.inference.audit import Ranked, ranked
from transa.inference.plausibility import Standing

#: Shares of train: random tails, tails of the right role, second answers to functional relations; and of functional relations' facts.
SHARES = {"random": 0.02, "role": 0.02, "functional": 0.01}
OF_FUNCTIONAL = 0.05
#: Which relations get second answers: as many one-answer heads, and so many heads.
ONE_ANSWER, HEADS = 0.95, 20
#: How each graph is trained.
TRAINING = {
    "umls": ("umls", "softmax", {"epochs": 40}),
    "nell186": (None, "modern", {"epochs": 20, "dim": 100, "margin": 3.0, "learning_rate": 0.3, "schedule": "linear"}),
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


def precision_and_area(kinds: npt.NDArray[np.int64], kind: int | None) -> dict[str, Any]:
    """Return which share of the first 100 is wrong, and the area under the curve; `kinds` in the order of the ranking, 0 is right."""
    some = kinds if kind is None else kinds[(kinds == 0) | (kinds == kind)]
    wrong = some > 0
    area = roc_auc(np.where(wrong, 1, -1).astype(np.int8), -np.arange(len(some), dtype=float))
    return {"wrong": int(wrong.sum()), "precision@100": float(wrong[:100].mean()), "auc": area}


def judged(order: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the figures of a ranking of the training facts, given the kind of each, for all kinds and for each."""
    found = {"all": precision_and_area(order, None)}
    for number, kind in enumerate(SHARES, start=1):
        if (order == number).sum() >= 10:
            found[kind] = precision_and_area(order, number)
    return found


def in_conflict(found: Ranked, rules: Constraints) -> npt.NDArray[np.bool_]:
    """Tell which claims are one of several known tails of a head by a functional relation."""
    triples, known = found.claims.triples, found.claims.known
    rows = known & np.isin(triples[:, 1], list(rules.functional))
    questions = triples[:, 0].astype(np.int64) * (int(triples[:, 1].max()) + 1) + triples[:, 1]
    several, times = np.unique(questions[rows], return_counts=True)
    return rows & np.isin(questions, several[times > 1])


def measure(name: str, seed: int, runs: Path | None, before: dict[str, Any]) -> dict[str, Any]:
    clean = graph_of(name)
    graph, wrong = noisy(clean, seed)
    opened = runs is not None and (runs / f"{name}_{seed}").exists()
    begun = time.perf_counter()
    trained = trained_on(name, graph, seed, runs)
    training = before.get("training", {}).get("seconds") if opened else round(time.perf_counter() - begun, 1)
    entities, relations = len(graph.entities), len(graph.relations)

    def keys(triples: Triples) -> npt.NDArray[np.int64]:
        return (triples[:, 0].astype(np.int64) * relations + triples[:, 1]) * entities + triples[:, 2]

    def kinds_of(triples: Triples) -> npt.NDArray[np.int64]:
        kinds = np.zeros(len(triples), np.int64)
        for number, some in enumerate(wrong.values(), start=1):
            kinds[np.isin(keys(triples), keys(some))] = number
        return kinds

    train = np.unique(trained.graph.train, axis=0)
    margins = trained.margins(train, trained.scores(train))
    figures: dict[str, Any] = {
        "graph": repr(graph),
        "wrong": {kind: len(rows) for kind, rows in wrong.items()},
        "training": {"recipe": TRAINING[name][1], **TRAINING[name][2], "seconds": training},
        "discover --errors": judged(kinds_of(train[np.argsort(margins, kind="stable")])),
    }
    given = Constraints(functional=dict.fromkeys(functional_of(clean).tolist(), 0.98))
    standing: Standing | None = None
    for label, rules in (
        ("audit, mined", mine_constraints(graph)),
        ("audit, functional given", mine_constraints(graph) | given),
    ):
        begun = time.perf_counter()
        found = ranked(trained, rules, standing=standing)
        standing = found.standing
        order = found.claims.triples[found.order]
        conflict = in_conflict(found, rules)[found.order]
        figures[label] = {
            **judged(kinds_of(order)),
            "given_up": precision_of(kinds_of(order[found.given_up[found.order]])),
            "functional_conflicts": precision_of(kinds_of(order[conflict])),
            "functional_conflicts_by_errors": precision_of(
                kinds_of(order[conflict][np.argsort(trained.margins(order[conflict], trained.scores(order[conflict])))])
            ),
            "functional_relations": len(rules.functional),
            "implications": len(rules.implications),
            "solved": vars(found.solved),
            "seconds": round(time.perf_counter() - begun, 1),
        }
    return figures


def precision_of(kinds: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return how many facts there are, and which share of all and of the first 100 is wrong."""
    wrong = kinds > 0
    some = len(wrong) > 0
    return {
        "facts": len(wrong),
        "precision": float(wrong.mean()) if some else None,
        "precision@100": float(wrong[:100].mean()) if some else None,
    }


def main() -> None:
    started, given = time.time(), sys.argv[1:]
    seed = int(given[given.index("--seed") + 1]) if "--seed" in given else 0
    runs = Path(given[given.index("--runs") + 1]) if "--runs" in given else None
    record = "benchmark_auditing" if seed == 0 else f"benchmark_auditing_seed{seed}"
    kept = {name: found for name, found in load(record).items() if name in TRAINING}
    for name in [name for name in given if name in TRAINING] or list(TRAINING):
        kept[name] = measure(name, seed, runs, kept.get(name, {}))
        for label, found in kept[name].items():
            print(name, label, found, flush=True)
        print(save(record, started, shares=SHARES, of_functional=OF_FUNCTIONAL, seed=seed, **kept), flush=True)


if __name__ == "__main__":
    main()
