"""The baselines without a model, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from transa.data import KnowledgeGraph
from transa.evaluation import classify, evaluate
from transa.evaluation.popularity import by_popularity
from transa.models import build


def some_graph(seed: int) -> KnowledgeGraph:
    random = np.random.default_rng(seed)
    rows = np.stack([random.integers(0, 12, 90), random.integers(0, 3, 90), random.integers(0, 12, 90) ** 2 // 12], 1)
    return KnowledgeGraph.from_ids(rows[:60], rows[60:70], rows[70:], entities=14, relations=4)


def counted(graph: KnowledgeGraph, triple: np.ndarray, side: int, known: set[tuple[int, ...]]) -> tuple[int, ...]:
    """Better, equal, known better, known equal and known entities, one by one."""
    train = {tuple(row) for row in graph.train.tolist()}
    popularity = [
        sum(row[1] == triple[1] and row[side] == entity for row in train) for entity in range(len(graph.entities))
    ]
    found = [0] * 5
    for entity in range(len(graph.entities)):
        if entity == triple[side]:
            continue
        other = triple.copy()
        other[side] = entity
        marks = (popularity[entity] > popularity[triple[side]], popularity[entity] == popularity[triple[side]])
        held = tuple(other.tolist()) in known
        for place, mark in enumerate((*marks, *(mark and held for mark in marks), held)):
            found[place] += mark
    return tuple(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("splits", [("train", "valid", "test"), ("train",)])
def test_popularity_is_that_of_brute_force(seed: int, splits: tuple[str, ...]) -> None:
    graph = some_graph(seed)
    known = graph.known(*splits)  # type: ignore[arg-type]
    held = {tuple(row) for split in splits for row in graph.triples(split).tolist()}  # type: ignore[arg-type]
    found = by_popularity(graph.training_facts, graph.test, known)
    for row, triple in enumerate(graph.test):
        for column, side in enumerate((0, 2)):
            expected = counted(graph, triple, side, held)
            counts = (found.better, found.equal, found.known_better, found.known_equal, found.known)
            assert tuple(int(each[row, column]) for each in counts) == expected


def test_an_evaluation_has_popularity_beside_every_figure() -> None:
    graph = some_graph(0)
    found = evaluate(build("transe", 14, 4, 2).initialise(0), graph)
    report = found.report()
    ranks = by_popularity(graph.training_facts, graph.test, graph.known()).ranks()
    assert report["popularity"]["both"]["filtered"]["mrr"] == pytest.approx(float((1 / ranks).mean()))
    assert report["popularity"]["tail"]["filtered"]["hits@3"] == pytest.approx(float((ranks[:, 1] <= 3).mean()))
    for some in (*report["categories"].values(), *report["relations"].values()):
        assert set(some["popularity"]["both"]["filtered"]) == set(some["both"]["filtered"])


def test_a_classification_has_the_share_of_the_relation_beside_the_accuracy() -> None:
    rows = [[i, i % 2, i + 1] for i in range(8)]
    labels = [1, -1, 1, -1, 1, -1, 1, 1]  # of relation 0 all are true, of relation 1 one of four
    graph = KnowledgeGraph.from_ids(
        rows, rows, [*rows[:6], [0, 2, 1]], valid_labels=labels, test_labels=[1, 1, 1, -1, -1, -1, -1], relations=3
    )
    found = classify(build("transe", 9, 3, 2).initialise(0), graph).summary()
    assert found["by_share"] == pytest.approx(4 / 7)  # relation 2 is not in valid, where most triples are true
    assert [found["relations"][name]["by_share"] for name in "012"] == pytest.approx([2 / 3, 2 / 3, 0.0])
