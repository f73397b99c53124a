"""The index of known facts against sets and dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transa import InputError, KnowledgeGraph
from transa.data.facts import Answers, KnownFacts, distinct
from transa.data.relations import related_pairs

Rows = list[tuple[int, int, int]]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Many small calls wait for each other's threads where other programs want the processors too."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, Rows]:
    """Sizes of the vocabularies and triples, some of them repeated."""
    entities, relations = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    row = st.tuples(st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1))
    return entities, relations, draw(st.lists(row, max_size=60))


def array(rows: Rows) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def every_triple(entities: int, relations: int) -> Rows:
    return [(h, r, t) for h in range(entities) for r in range(relations) for t in range(entities)]


@given(graphs())
@settings(deadline=None)
def test_contains_tells_what_a_set_tells(graph: tuple[int, int, Rows]) -> None:
    entities, relations, rows = graph
    facts = KnownFacts(array(rows), entities, relations)
    asked = every_triple(entities, relations)
    expected = [row in set(rows) for row in asked]
    for few, small in ((10**6, 0), (0, 10**6), (0, -1)):  # one by one, by numpy, by the kernel
        with mock.patch("transa.data.facts.FEW", few), mock.patch("transa.data.facts.SMALL", small):
            assert facts.contains(array(asked)).tolist() == expected
    assert len(facts) == len(set(rows))


@given(graphs())
@settings(deadline=None)
def test_look_ups_in_both_directions_give_the_sorted_distinct_answers(graph: tuple[int, int, Rows]) -> None:
    entities, relations, rows = graph
    facts = KnownFacts(array(rows), entities, relations)
    tails, heads = defaultdict(set), defaultdict(set)
    for head, relation, tail in rows:
        tails[head, relation].add(tail)
        heads[relation, tail].add(head)
    for relation in range(relations):
        for entity in range(entities):
            assert facts.tails_of(entity, relation).tolist() == sorted(tails[entity, relation])
            assert facts.heads_of(relation, entity).tolist() == sorted(heads[relation, entity])


@given(graphs())
@settings(deadline=None)
def test_both_indices_are_sorted_and_hold_each_fact_once(graph: tuple[int, int, Rows]) -> None:
    entities, relations, rows = graph
    facts = KnownFacts(array(rows), entities, relations)
    for index in (facts.tails, facts.heads):
        assert (np.diff(index.queries) > 0).all()
        assert index.offsets[0] == 0
        assert index.offsets[-1] == len(index.answers) == len(set(rows))
        assert len(index.offsets) == len(index.queries) + 1
        assert (np.diff(index.offsets) > 0).all()
        for start, stop in zip(index.offsets[:-1], index.offsets[1:], strict=True):
            assert (np.diff(index.answers[start:stop]) > 0).all()


@given(graphs())
@settings(deadline=None)
def test_rows_of_queries_lead_to_their_answers(graph: tuple[int, int, Rows]) -> None:
    entities, relations, rows = graph
    facts = KnownFacts(array(rows), entities, relations)
    for index, queries, column in (
        (facts.tails, facts.tail_queries(array(rows)), 2),
        (facts.heads, facts.head_queries(array(rows)), 0),
    ):
        for row, place in zip(rows, index.rows(queries), strict=True):
            assert row[column] in index.answers[index.offsets[place] : index.offsets[place + 1]]
    asked = every_triple(entities, relations)
    known = {row[:2] for row in rows}
    assert (facts.tails.rows(facts.tail_queries(array(asked))) >= 0).tolist() == [row[:2] in known for row in asked]


@given(graphs())
@settings(deadline=None)
def test_distinct_drops_repetitions_and_sorts(graph: tuple[int, int, Rows]) -> None:
    entities, relations, rows = graph
    assert list(map(tuple, distinct(array(rows), entities, relations).tolist())) == sorted(set(rows))


@pytest.mark.parametrize(("entities", "relations"), [(0, 0), (3, 0), (3, 2)])
def test_no_facts_are_no_trouble(entities: int, relations: int) -> None:
    facts = KnownFacts(array([]), entities, relations)
    assert len(facts) == 0
    assert facts.tails_of(0, 0).tolist() == []
    assert facts.heads_of(0, 0).tolist() == []
    assert facts.contains(array([])).tolist() == []
    assert facts.contains(array([(0, 0, 0)])).tolist() == [False]
    assert facts.tails.rows(np.array([0, 5])).tolist() == [-1, -1]


def test_a_graph_indexes_the_splits_it_is_asked_for() -> None:
    graph = KnowledgeGraph.from_ids([[0, 0, 1], [0, 0, 1]], [[0, 0, 2]], [[0, 0, 3]])
    assert graph.training_facts.tails_of(0, 0).tolist() == [1]
    assert graph.known("train", "test").tails_of(0, 0).tolist() == [1, 3]
    assert graph.known().tails_of(0, 0).tolist() == [1, 2, 3]


def test_triples_labelled_false_are_no_facts() -> None:
    graph = KnowledgeGraph.from_ids([[0, 0, 1]], [[0, 0, 2], [0, 0, 3]], valid_labels=[1, -1])
    assert graph.known().tails_of(0, 0).tolist() == [1, 2]


def test_the_largest_ids_are_kept_apart() -> None:
    entities, relations = 2**31 - 1, 2  # entities x entities x relations is just below 2^63
    top = entities - 1
    rows = [(top, 1, top), (top, 1, 0), (0, 1, top), (top, 0, top)]
    facts = KnownFacts(array(rows), entities, relations)
    assert len(facts) == 4
    assert facts.contains(array([*rows, (0, 0, 0), (top, 0, 0), (0, 1, 0)])).tolist() == [True] * 4 + [False] * 3
    assert facts.tails_of(top, 1).tolist() == [0, top]
    assert facts.heads_of(1, top).tolist() == [0, top]


@pytest.mark.parametrize("use", [KnownFacts, distinct, related_pairs], ids=["facts", "distinct", "related"])
@pytest.mark.parametrize(("entities", "relations"), [(2**31, 2), (2**21, 2**21)])
def test_vocabularies_too_large_for_the_index_are_an_error(use: object, entities: int, relations: int) -> None:
    with pytest.raises(InputError, match=f"{entities:,} entities and {relations:,} relations are too many"):
        use(array([(0, 0, 1)]), entities, relations)  # type: ignore[operator]


def test_answers_of_unknown_queries_are_empty() -> None:
    index = Answers.of(np.array([4, 4, 7]), np.array([2, 1, 0]), 3)
    assert index[4].tolist() == [1, 2]
    assert index[7].tolist() == [0]
    for unknown in (-1, 0, 5, 8, 100):
        assert index[unknown].tolist() == []
