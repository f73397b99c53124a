"""The ten best answers: exact under the full metric, what that costs beside TransE's L1, and both against brute force.

    TRANSA_DATA=... python benchmarks/predicting.py [--queries 1000] [--entities 1000000] [--runs FOLDER]

FB15K, k=200: 1,000 questions about facts drawn at random, half of them for heads and half for tails, through the one function that
`transa predict` uses, with vectors after 20 epochs of training (TransA by the `paper` recipe). The two models take turns in one
process; a turn is timed with a ranker that has seen the relations, and once from nothing, eigenpairs of the metrics included.
Generated: 1,000,000 entities, k=100, 10 relations with random positive definite metrics.

Right is what brute force says: all scores by NumPy in double precision; those too close to the tenth for rounding to be trusted are
summed again term by term; of equal scores the lowest id comes first. Ids must be the same and scores agree to 12 digits, also where a
tenth of the entities have the vector of another one, so that there are ties. Brute force in time: torch, in single precision, on a
sample.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ranking import DIM, EPOCHS, MODELS
from record import save

from transa import load
from transa.evaluation.queries import SIDES
from transa.evaluation.ranking import Ranker
from transa.inference.search import best
from transa.models import Model, build
from transa.models.base import Rows
from transa.training import RunFolder, Trainer, load_recipe

#: Answers, turns of each model, and the questions of a sample.
TOP, TURNS, SAMPLE = 10, 7, 20
NAMES = ("transe", "transa")
#: Relative difference of two sums in double precision that could have been rounded to either order.
CLOSE = 1e-10
#: Entities that brute force takes at a time.
STEP = 1 << 16

Asked = dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


def questions(triples: npt.NDArray[Any], number: int) -> Asked:
    """Return the given entity and relation of as many questions for heads as for tails."""
    rows = triples[np.random.default_rng(0).choice(len(triples), number, replace=len(triples) < number)].astype(
        np.int64
    )
    half = number // 2
    return {"head": (rows[:half, 2], rows[:half, 1]), "tail": (rows[half:, 0], rows[half:, 1])}


def answers(ranker: Ranker, asked: Asked) -> dict[str, Found]:
    return {side: best(ranker, side, *asked[side], TOP) for side in SIDES}


def seconds_of(ranker: Ranker, asked: Asked) -> float:
    started = time.perf_counter()
    answers(ranker, asked)
    return time.perf_counter() - started


def translated(model: Model, side: str, fixed: int, relation: int) -> npt.NDArray[np.float64]:
    sign = 1.0 if side == "tail" else -1.0
    return (model.entity.vector[fixed].double() + sign * model.relation.vector[relation].double()).numpy()


def brute(model: Model, side: str, fixed: int, relation: int) -> tuple[list[int], list[float]]:
    """Return the best answers to one question from all scores."""
    query, entities = translated(model, side, fixed, relation), model.entity.vector.numpy()
    metric = model.relation.metric[relation].double().numpy() if "metric" in model.relation else None
    scores = np.empty(len(entities))
    for begin in range(0, len(entities), STEP):
        e = np.abs(query - entities[begin : begin + STEP].astype(np.float64))
        scores[begin : begin + STEP] = e.sum(1) if metric is None else ((e @ metric) * e).sum(1)
    limit = np.partition(scores, TOP - 1)[TOP - 1]
    near = np.flatnonzero(scores <= limit + CLOSE * abs(limit))
    e = np.abs(query - entities[near].astype(np.float64))
    precise = np.zeros(len(near))
    if metric is None:
        for column in e.T:
            precise += column
    else:
        bent = np.zeros_like(e)
        for i in range(e.shape[1]):
            bent += e[:, i : i + 1] * metric[i]
        for i in range(e.shape[1]):
            precise += e[:, i] * bent[:, i]
    order = np.lexsort((near, precise))[:TOP]
    return near[order].tolist(), precise[order].tolist()


def check(model: Model, asked: Asked, found: dict[str, Found], sample: int) -> int:
    """Compare answers with brute force and return how many questions were compared."""
    compared = 0
    for side in SIDES:
        for row in range(min(sample // 2, len(asked[side][0]))):
            fixed, relation = (int(each[row]) for each in asked[side])
            ids, scores = brute(model, side, fixed, relation)
            same = found[side][0][row].tolist() == ids and np.allclose(found[side][1][row], scores, rtol=1e-12, atol=0)
            assert same, f"{side} of ({fixed}, {relation}): {found[side][0][row]}, by brute force {ids}"
            compared += 1
    return compared


def brute_seconds(model: Model, asked: Asked) -> float:
    """Time brute force in single precision by torch for the first of the questions, and return the seconds of one."""
    entities = model.entity.vector
    metrics = model.relation.metric if "metric" in model.relation else None
    started = time.perf_counter()
    for side in SIDES:
        for row in range(SAMPLE // 2):
            fixed, relation = (int(each[row]) for each in asked[side])
            query = torch.from_numpy(translated(model, side, fixed, relation)).float()
            parts = []
            for begin in range(0, len(entities), STEP):
                e = (query - entities[begin : begin + STEP]).abs()
                parts.append(e.sum(1) if metrics is None else ((e @ metrics[relation]) * e).sum(1))
            torch.topk(torch.cat(parts), TOP, largest=False)
    return (time.perf_counter() - started) / (2 * (SAMPLE // 2))


def twinned(model: Model) -> Model:
    """Return the model with a tenth of its entities at the place of another one."""
    random = np.random.default_rng(1)
    twin = copy(model)
    vectors = model.entity.vector.clone()
    moved = random.choice(len(vectors), len(vectors) // 10, replace=False)
    vectors[moved] = vectors[random.integers(0, len(vectors), len(moved))]
    twin.entity = Rows({**model.entity, "vector": vectors})
    return twin


def measure(models: dict[str, Model], asked: Asked, sample: int, turns: int) -> dict[str, Any]:
    """Time the models in turns, compare them with brute force, and return the figures."""
    size = sum(len(fixed) for fixed, _ in asked.values())
    rankers = {name: Ranker(model) for name, model in models.items()}
    for ranker in rankers.values():  # compiles
        best(ranker, "tail", asked["tail"][0][:2], asked["tail"][1][:2], TOP)
    cold = {name: seconds_of(Ranker(model), asked) for name, model in models.items()}
    found = {name: answers(ranker, asked) for name, ranker in rankers.items()}
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(turns):
        for name, ranker in rankers.items():
            times[name].append(seconds_of(ranker, asked))
    figures: dict[str, Any] = {"queries": size, "entities": models["transe"].num_entities, "top": TOP}
    for name, model in models.items():
        seconds = statistics.median(times[name])
        whole = brute_seconds(model, asked) * size
        figures[name] = {
            "seconds": seconds,
            "all_seconds": times[name],
            "seconds_from_nothing": cold[name],
            "brute_force_seconds": whole,
            "brute_force_sample": 2 * (SAMPLE // 2),
            "ratio_to_brute_force": whole / seconds,
            "compared": check(model, asked, found[name], sample),
        }
    pairs = zip(times["transa"], times["transe"], strict=True)
    figures["ratio"] = statistics.median(full / plain for full, plain in pairs)
    figures["ratio_from_nothing"] = cold["transa"] / cold["transe"]
    return figures


def fb15k(folder: Path, queries: int, turns: int) -> dict[str, Any]:
    graph = load("fb15k")
    for name in NAMES:
        if not (folder / name / "weights.safetensors").exists():
            settings = {**MODELS[name], "epochs": EPOCHS, "validate_every": 0}
            recipe = load_recipe(name, "paper" if name == "transa" else None, "fb15k", settings)
            Trainer(graph, recipe, None, RunFolder(folder / name), "fb15k").fit()
    models = {name: RunFolder(folder / name).model() for name in NAMES}
    asked = questions(np.concatenate([graph.train, graph.valid, graph.test]), queries)
    figures = measure(models, asked, queries, turns)
    for name, model in models.items():
        twin = twinned(model)
        figures[name]["compared_with_ties"] = check(twin, asked, answers(Ranker(twin), asked), queries // 5)
    distinct = len(np.unique(np.concatenate([relations for _, relations in asked.values()])))
    return {"dim": DIM, "epochs": EPOCHS, "relations_asked": distinct, **figures}


def generated(entities: int, queries: int, turns: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    models = {name: build(name, entities, 10, 100).initialise(0) for name in NAMES}
    a = random.random((10, 100, 100), dtype=np.float32)
    metrics = a @ a.transpose(0, 2, 1) / 100 + np.eye(100, dtype=np.float32)
    models["transa"].relation["metric"] = torch.from_numpy(metrics)
    triples = np.stack([random.integers(0, high, queries) for high in (entities, 10, entities)], axis=1)
    return {"dim": 100, **measure(models, questions(triples, queries), SAMPLE, turns)}


def show(title: str, found: dict[str, Any]) -> None:
    print(f"{title}: {found['queries']:,} questions, {found['entities']:,} entities, k={found['dim']}")
    for name in NAMES:
        part = found[name]
        print(
            f"  {name}: {part['seconds']:.2f} s ({part['seconds_from_nothing']:.2f} s from nothing), brute force "
            f"{part['brute_force_seconds']:.0f} s ({part['ratio_to_brute_force']:.0f} times); {part['compared']} compared, all the same"
        )
    print(f"  full metric over L1: {found['ratio']:.2f} ({found['ratio_from_nothing']:.2f} from nothing)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--runs", type=Path, help="where trained models are kept and found again")
    given = parser.parse_args()
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        known = fb15k(given.runs or Path(folder), given.queries, given.turns)
    show("FB15K", known)
    million = generated(given.entities, given.queries, min(given.turns, 3))
    show("generated", million)
    print(save("benchmark_predicting", started, fb15k=known, generated=million))


if __name__ == "__main__":
    main()
