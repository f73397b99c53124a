"""Graphs in numbers: by hand, and the published numbers of the benchmarks."""

from __future__ import annotations

import json
import os
from functools import lru_cache

import numpy as np
import pytest

from transa import KnowledgeGraph, load
from transa.data import GraphStatistics
from transa.data.statistics import unseen_rows

needs_data = pytest.mark.skipif(not os.environ.get("TRANSA_DATA"), reason="TRANSA_DATA names no folder of datasets")


@pytest.fixture
def graph() -> KnowledgeGraph:
    """Seven entities, of which 6 is in no triple; knows and known_by are inverse."""
    return KnowledgeGraph.from_ids(
        train=[[0, 0, 1], [1, 0, 2], [0, 0, 1], [1, 1, 0], [2, 1, 1], [0, 2, 3]],
        valid=[[0, 0, 2], [0, 0, 4], [3, 3, 0]],
        test=[[2, 0, 3], [0, 0, 5], [1, 1, 0], [1, 1, 0], [2, 1, 1]],
        test_labels=[1, -1, 1, 1, -1],
        entities=7,
        relations=["knows", "known_by", "likes", "hates"],
    )


def test_sizes_by_hand(graph: KnowledgeGraph) -> None:
    found = graph.statistics()
    assert (found.entities, found.entities_in_triples, found.relations) == (7, 6, 4)
    assert found.triples == {"train": 6, "valid": 3, "test": 3}
    assert found.negatives == {"train": 0, "valid": 0, "test": 2}
    assert found.duplicates == {"train": 1, "valid": 0, "test": 1}
    assert found.atpe == 12 / 7


def test_unseen_rows_by_hand(graph: KnowledgeGraph) -> None:
    assert unseen_rows(graph, graph.valid).tolist() == [False, True, True]  # the entity 4; the relation "hates"
    assert unseen_rows(graph, graph.test).tolist() == [False, True, False, False, False]  # the entity 5
    assert graph.statistics().unseen == {"valid": 2, "test": 1}


def test_leaks_by_hand(graph: KnowledgeGraph) -> None:
    found = graph.statistics()
    assert [(pair.first, pair.second, pair.kind) for pair in found.related] == [(0, 1, "inverse")]
    assert found.leaked == 2  # (1, known_by, 0) twice, told by (0, knows, 1); a false triple gives nothing away


def test_to_dict_goes_through_json_and_names_relations(graph: KnowledgeGraph) -> None:
    found = graph.with_notes("a note").statistics().to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["entities"] == 7
    assert found["triples"] == {"train": 6, "valid": 3, "test": 3}
    assert found["leaked"] == {"test_triples": 2, "share": 2 / 3}
    assert found["per_relation"]["knows"] == {
        "triples": 2,
        "tails_per_head": 1.0,
        "heads_per_tail": 1.0,
        "category": "1-1",
    }
    assert found["per_relation"]["hates"]["triples"] == 0
    assert found["related_relations"] == [{"kind": "inverse", "relations": ["knows", "known_by"], "shares": [1.0, 1.0]}]
    assert found["notes"] == ["a note"]


def test_categories_in_to_dict_add_up() -> None:
    found = load("umls").statistics().to_dict()
    assert sum(category["relations"] for category in found["categories"].values()) == 46
    assert sum(category["triples"] for category in found["categories"].values()) == 5_216
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(("entities", "relations"), [(0, 0), (3, 0), (3, 2)])
def test_a_graph_without_triples(entities: int, relations: int) -> None:
    graph = KnowledgeGraph.from_ids([], entities=entities, relations=relations)
    found = graph.statistics().to_dict()
    assert (found["entities"], found["entities_in_triples"], found["relations"]) == (entities, 0, relations)
    assert found["atpe"] == 0
    assert found["leaked"] == {"test_triples": 0, "share": 0}
    assert json.loads(json.dumps(found)) == found


# ---------------------------------------------------------------------- the benchmarks


@lru_cache
def benchmark(name: str) -> GraphStatistics:
    return load(name).statistics()


#: Table 1 of the TransA paper; the entities of WN11 are those listed, of which 108 are in no triple.
TABLE_1 = {
    "wn18": (18, 40_943, 40_943, 141_442, 5_000, 5_000, 3.70),
    "fb15k": (1_345, 14_951, 14_951, 483_142, 50_000, 59_071, 39.61),
    "wn11": (11, 38_696, 38_588, 112_581, 2_609, 10_544, 3.25),
    "fb13": (13, 75_043, 75_043, 316_232, 5_908, 23_733, 4.61),
}


@needs_data
@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_of_the_paper(name: str) -> None:
    found = benchmark(name)
    splits = (found.triples["train"], found.triples["valid"], found.triples["test"])
    row = (found.relations, found.entities, found.entities_in_triples, *splits, round(found.atpe, 2))
    assert row == TABLE_1[name]
    assert json.loads(json.dumps(found.to_dict()))["triples"]["train"] == TABLE_1[name][3]


@needs_data
@pytest.mark.parametrize(("name", "repeated"), [("wn11", 2_220), ("wn18", 0), ("fb15k", 0), ("fb13", 0)])
def test_repeated_training_lines(name: str, repeated: int) -> None:
    assert benchmark(name).duplicates["train"] == repeated


@needs_data
@pytest.mark.parametrize(("name", "unseen"), [("fb15k-237", 28), ("wn18rr", 210), ("fb15k", 0), ("wn18", 0)])
def test_test_triples_with_something_unseen_are_kept(name: str, unseen: int) -> None:
    found = benchmark(name)
    assert found.unseen["test"] == unseen
    assert any(f"{unseen:,} test triples" in note for note in found.graph.notes) == bool(unseen)


@needs_data
@pytest.mark.parametrize(("name", "negatives"), [("wn11", (2_609, 10_544)), ("fb13", (5_908, 23_733))])
def test_false_triples_are_counted_apart(name: str, negatives: tuple[int, int]) -> None:
    found = benchmark(name)
    assert (found.negatives["valid"], found.negatives["test"]) == negatives


@needs_data
def test_wn11_has_entities_that_train_does_not() -> None:
    graph = benchmark("wn11").graph
    outside = set(np.unique(np.concatenate([graph.valid, graph.test])[:, [0, 2]]).tolist())
    assert len(outside - set(np.unique(graph.train[:, [0, 2]]).tolist())) == 394


@needs_data
@pytest.mark.parametrize(("name", "leaky"), [("wn18", True), ("fb15k", True), ("wn18rr", False), ("fb15k-237", False)])
def test_inverse_relations_leak_in_the_old_benchmarks_and_not_in_the_new(name: str, leaky: bool) -> None:
    found = benchmark(name)
    inverse = [pair for pair in found.related if pair.kind == "inverse" and pair.first != pair.second]
    assert bool(inverse) == leaky
    assert (found.leaked > 0.5 * found.triples["test"]) == leaky
