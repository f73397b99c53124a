"""Cutting a graph: nothing is lost, nothing leaks, and nothing is tested that was never trained on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transa import InputError, KnowledgeGraph, load, split_graph

Row = tuple[int, int, int]


@st.composite
def graphs(draw: st.DrawFn) -> KnowledgeGraph:
    entities, relations = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    row = st.tuples(st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1))
    rows = draw(st.lists(row, max_size=80))
    return KnowledgeGraph.from_ids(np.array(rows).reshape(-1, 3).astype(int), entities=entities, relations=relations)


@st.composite
def fractions(draw: st.DrawFn) -> tuple[float, float, float]:
    parts = draw(st.lists(st.integers(0, 10), min_size=3, max_size=3).filter(any))
    return tuple(part / sum(parts) for part in parts)  # type: ignore[return-value]


def rows(triples: np.ndarray) -> list[Row]:
    return list(map(tuple, triples.tolist()))


def complete(entities: int, relations: int = 1) -> KnowledgeGraph:
    """A graph with every triple there can be: many more than its entities need in train."""
    return KnowledgeGraph.from_ids(
        [(h, r, t) for h in range(entities) for r in range(relations) for t in range(entities)]
    )


# ---------------------------------------------------------------------- what holds for any graph


@given(graph=graphs(), parts=fractions(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_valid_and_test_hold_nothing_that_train_lacks(
    graph: KnowledgeGraph, parts: tuple[float, float, float], seed: int
) -> None:
    cut = split_graph(graph, parts, seed)
    entities, relations = set(cut.train[:, [0, 2]].ravel().tolist()), set(cut.train[:, 1].tolist())
    for head, relation, tail in rows(cut.valid) + rows(cut.test):
        assert {head, tail} <= entities
        assert relation in relations


@given(graph=graphs(), parts=fractions(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_every_distinct_triple_is_in_exactly_one_split(
    graph: KnowledgeGraph, parts: tuple[float, float, float], seed: int
) -> None:
    cut = split_graph(graph, parts, seed)
    together = rows(cut.train) + rows(cut.valid) + rows(cut.test)
    assert sorted(together) == sorted(set(rows(graph.train)))
    assert cut.entities == graph.entities
    assert cut.relations == graph.relations


@given(graph=graphs(), parts=fractions(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_sizes_are_as_asked_or_a_note_says_why_not(
    graph: KnowledgeGraph, parts: tuple[float, float, float], seed: int
) -> None:
    cut = split_graph(graph, parts, seed)
    distinct = len(set(rows(graph.train)))
    asked = [round(part * distinct) for part in parts[1:]]
    given_ = [len(cut.valid), len(cut.test)]
    smaller = [note for note in cut.notes if "instead of" in note]
    if smaller:
        assert sum(given_) < sum(asked)
        assert all(mine <= wanted for mine, wanted in zip(given_, asked, strict=True))
        assert f"{given_[0]} and {given_[1]} triples instead of {asked[0]} and {asked[1]}" in smaller[0]
    else:
        assert given_ == asked
    dropped = len(graph.train) - distinct
    assert any(f"{dropped} repeated triples dropped" in note for note in cut.notes) == bool(dropped)


@given(graph=graphs(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_the_same_seed_gives_the_same_split_in_the_order_of_the_source(graph: KnowledgeGraph, seed: int) -> None:
    cut = split_graph(graph, (0.6, 0.2, 0.2), seed)
    assert split_graph(graph, (0.6, 0.2, 0.2), seed) == cut
    first_seen = list(dict.fromkeys(rows(graph.train)))
    for split in (cut.train, cut.valid, cut.test):
        positions = [first_seen.index(row) for row in rows(split)]
        assert positions == sorted(positions)


# ---------------------------------------------------------------------- particular graphs


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [
        ((0.8, 0.1, 0.1), (80, 10, 10)),
        ((0.7, 0.2, 0.1), (70, 20, 10)),
        ((0.5, 0.5, 0), (50, 50, 0)),
        ((0.5, 0, 0.5), (50, 0, 50)),
        ((1, 0, 0), (100, 0, 0)),
        ([0.9, 0.05, 0.05], (90, 5, 5)),
        (np.array([0.9, 0.05, 0.05]), (90, 5, 5)),
    ],
)
def test_a_dense_graph_is_cut_as_asked(parts: tuple[float, float, float], sizes: tuple[int, int, int]) -> None:
    cut = split_graph(complete(10), parts)
    assert (len(cut.train), len(cut.valid), len(cut.test)) == sizes
    assert cut.notes == ()


def test_another_seed_gives_another_split() -> None:
    graph = complete(10)
    assert split_graph(graph, seed=1) != split_graph(graph, seed=2)


def test_each_triple_comes_into_test_about_as_often_as_asked() -> None:
    graph = complete(10)
    counts: np.ndarray = np.zeros(100)
    for seed in range(300):
        test = split_graph(graph, (0.5, 0, 0.5), seed).test
        counts[test[:, 0] * 10 + test[:, 2]] += 1
    off_diagonal = counts.reshape(10, 10)[~np.eye(10, dtype=bool)]
    assert abs(off_diagonal - 150).max() < 6 * np.sqrt(300 / 4)


def test_a_graph_that_needs_all_its_triples_stays_whole() -> None:
    # In a star, each triple is the only one of its tail.
    star = KnowledgeGraph.from_ids([(0, 0, tail) for tail in range(1, 21)])
    cut = split_graph(star, (0.5, 0.25, 0.25))
    assert (len(cut.train), len(cut.valid), len(cut.test)) == (20, 0, 0)
    assert cut.notes == (
        "valid and test hold 0 and 0 triples instead of 5 and 5: "
        "the others are needed in train, so that each entity and relation occurs there",
    )


def test_what_can_be_given_is_shared_out_in_proportion() -> None:
    # One of the four triples of each tail is needed, and one of each relation: at least 56 of 80 are free where 80 are asked for.
    graph = KnowledgeGraph.from_ids([(0, relation, tail) for tail in range(1, 21) for relation in range(4)])
    cut = split_graph(graph, (0, 0.75, 0.25))
    assert len(cut.notes) == 1
    assert len(cut.train) >= 20
    assert len(cut.valid) + len(cut.test) >= 56 - 1
    assert abs(len(cut.valid) - 3 * len(cut.test)) <= 3


def test_repeated_triples_are_dropped_with_a_note() -> None:
    graph = complete(10)
    doubled = KnowledgeGraph.from_ids(np.concatenate([graph.train, graph.train[:7]]), entities=10, relations=1)
    cut = split_graph(doubled.with_notes("an earlier note"))
    assert cut.notes == ("an earlier note", "7 repeated triples dropped before splitting")
    assert cut == split_graph(graph)


def test_a_graph_without_triples_is_cut_into_nothing() -> None:
    cut = split_graph(KnowledgeGraph.from_ids([]))
    assert len(cut) == 0
    assert cut.notes == ()


def test_empty_splits_with_labels_do_not_stand_in_the_way() -> None:
    graph = KnowledgeGraph.from_ids(complete(10).train, [], [], valid_labels=[], test_labels=[])
    cut = split_graph(graph)
    assert (len(cut.valid), len(cut.test)) == (10, 10)
    assert cut.labels("valid") is None


# ---------------------------------------------------------------------- what cannot be done


@pytest.mark.parametrize(
    "parts",
    [(0.8, 0.1), (0.8, 0.1, 0.05, 0.05), (0.8, 0.1, 0.2), (0, 0, 0), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5), ()],
)
def test_wrong_fractions_are_an_error(parts: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="three fractions"):
        split_graph(complete(4), parts)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_graph_with_splits_is_an_error(split: str) -> None:
    graph = KnowledgeGraph.from_ids([[0, 0, 1]], **{split: [[1, 0, 0]]})
    with pytest.raises(InputError, match="already"):
        split_graph(graph)


def test_a_dataset_with_splits_is_an_error() -> None:
    with pytest.raises(InputError, match="already"):
        load("nations", split=(0.8, 0.1, 0.1))


def test_a_negative_seed_is_an_error() -> None:
    with pytest.raises(InputError, match=r"seed.*-1"):
        split_graph(complete(4), seed=-1)
