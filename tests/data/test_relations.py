"""Relation statistics on graphs made by hand and against plain Python, and on FB15K."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transa import KnowledgeGraph, load
from transa.data import KnownFacts, RelationStatistics
from transa.data.relations import CATEGORIES, MANY, OVERLAP, RelatedPair, leaked, related_pairs

Pair = tuple[int, int]
Row = tuple[int, int, int]

needs_data = pytest.mark.skipif(not os.environ.get("TRANSA_DATA"), reason="TRANSA_DATA names no folder of datasets")


def array(rows: list[Row]) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def statistics(rows: list[Row], entities: int = 10, relations: int = 1) -> RelationStatistics:
    return RelationStatistics.of(KnownFacts(array(rows), entities, relations))


# ---------------------------------------------------------------------- tails per head, heads per tail, categories

#: Pairs (head, tail), tph, hpt and category.
BY_HAND: dict[str, tuple[list[Pair], float, float, str]] = {
    "one each": ([(0, 1), (2, 3)], 1, 1, "1-1"),
    "a chain": ([(0, 1), (1, 2), (2, 3)], 1, 1, "1-1"),
    "one with itself": ([(0, 0)], 1, 1, "1-1"),
    "one head": ([(0, 1), (0, 2), (0, 3)], 3, 1, "1-N"),
    "one tail": ([(1, 0), (2, 0), (3, 0)], 1, 3, "N-1"),
    "all with all": ([(0, 2), (0, 3), (1, 2), (1, 3)], 2, 2, "N-N"),
    "tph at the border": ([(0, 1), (0, 2), (3, 4)], 1.5, 1, "1-N"),
    "hpt at the border": ([(1, 0), (2, 0), (4, 3)], 1, 1.5, "N-1"),
    "both at the border": ([(0, 1), (0, 2), (3, 2)], 1.5, 1.5, "N-N"),
    "tph below the border": ([(0, 1), (0, 2), (3, 4), (5, 6)], 4 / 3, 1, "1-1"),
    "hpt below the border": ([(1, 0), (2, 0), (4, 3), (6, 5)], 1, 4 / 3, "1-1"),
}


@pytest.mark.parametrize(("pairs", "tph", "hpt", "category"), BY_HAND.values(), ids=BY_HAND.keys())
class TestByHand:
    def test_counts_and_category(self, pairs: list[Pair], tph: float, hpt: float, category: str) -> None:
        found = statistics([(head, 0, tail) for head, tail in pairs])
        assert found.triples.tolist() == [len(pairs)]
        assert found.tails_per_head.tolist() == [tph]
        assert found.heads_per_tail.tolist() == [hpt]
        assert found.categories == [category]

    def test_bern_replaces_the_head_more_often_where_there_are_more_tails(
        self, pairs: list[Pair], tph: float, hpt: float, category: str
    ) -> None:
        found = statistics([(head, 0, tail) for head, tail in pairs])
        assert found.head_probability.tolist() == pytest.approx([tph / (tph + hpt)])

    def test_repeated_lines_change_nothing(self, pairs: list[Pair], tph: float, hpt: float, category: str) -> None:
        rows = [(head, 0, tail) for head, tail in pairs]
        graph = KnowledgeGraph.from_ids([*rows, *rows, rows[0]])
        found = graph.statistics().per_relation
        assert (found.triples[0], found.tails_per_head[0], found.heads_per_tail[0]) == (len(pairs), tph, hpt)
        assert found.categories == [category]


def test_relations_are_counted_apart() -> None:
    together = [(head, relation, tail) for relation, case in enumerate(BY_HAND.values()) for head, tail in case[0]]
    found = statistics(together, relations=len(BY_HAND))
    assert found.tails_per_head.tolist() == [tph for _, tph, _, _ in BY_HAND.values()]
    assert found.heads_per_tail.tolist() == [hpt for _, _, hpt, _ in BY_HAND.values()]
    assert found.categories == [category for *_, category in BY_HAND.values()]


def test_a_relation_without_training_triples() -> None:
    found = statistics([(0, 1, 1)], relations=3)
    assert found.triples.tolist() == [0, 1, 0]
    assert found.tails_per_head.tolist() == [0, 1, 0]
    assert found.heads_per_tail.tolist() == [0, 1, 0]
    assert found.head_probability.tolist() == [0.5, 0.5, 0.5]
    assert found.categories == ["1-1", "1-1", "1-1"]


# ---------------------------------------------------------------------- duplicates, inverses, symmetry

CHAIN: list[Pair] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def relation(number: int, pairs: list[Pair]) -> list[Row]:
    return [(head, number, tail) for head, tail in pairs]


def backwards(pairs: list[Pair]) -> list[Pair]:
    return [(tail, head) for head, tail in pairs]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (CHAIN, [RelatedPair(0, 1, "duplicate", (1.0, 1.0))]),
        (backwards(CHAIN), [RelatedPair(0, 1, "inverse", (1.0, 1.0))]),
        (CHAIN[:4], [RelatedPair(0, 1, "duplicate", (0.8, 1.0))]),
        (backwards(CHAIN[:4]), [RelatedPair(0, 1, "inverse", (0.8, 1.0))]),
        ([*CHAIN[:4], (9, 8)], [RelatedPair(0, 1, "duplicate", (0.8, 0.8))]),
        (CHAIN[:3], []),
        ([*CHAIN, (9, 8), (8, 7)], []),
        ([(5, 0), (9, 8)], []),
        ([], []),
    ],
    ids=["same", "inverse", "most", "most inverse", "at the border", "too few", "too many others", "unrelated", "none"],
)
def test_two_relations_are_related_where_they_share_most_pairs(second: list[Pair], expected: list[RelatedPair]) -> None:
    assert related_pairs(array(relation(0, CHAIN) + relation(1, second)), 10, 2) == expected


def test_a_symmetric_relation_is_its_own_inverse() -> None:
    symmetric = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 4)]
    assert related_pairs(array(relation(0, symmetric)), 10, 1) == [RelatedPair(0, 0, "inverse", (1.0, 1.0))]


def test_repeated_lines_make_no_relation_related() -> None:
    rows = relation(0, CHAIN) + relation(1, CHAIN[:1] * 5 + [(9, 8)])
    assert related_pairs(array(rows), 10, 2) == []


def test_no_triples_have_no_related_relations() -> None:
    assert related_pairs(array([]), 0, 0) == []
    assert related_pairs(array([]), 3, 2) == []


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, list[Row], list[Row]]:
    """Sizes of the vocabularies, training and test triples; small, so that relations often resemble each other."""
    entities, relations = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    row = st.tuples(st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1))
    return entities, relations, draw(st.lists(row, max_size=30)), draw(st.lists(row, max_size=10))


def related_by_sets(rows: list[Row], relations: int) -> dict[tuple[int, int, str], tuple[float, float]]:
    pairs = [{(head, tail) for head, number, tail in rows if number == wanted} for wanted in range(relations)]
    found = {}
    for first in range(relations):
        for second in range(first, relations):
            for kind, other in (("duplicate", pairs[second]), ("inverse", {(t, h) for h, t in pairs[second]})):
                if pairs[first] and pairs[second] and not (kind == "duplicate" and first == second):
                    common = len(pairs[first] & other)
                    shares = (common / len(pairs[first]), common / len(pairs[second]))
                    if min(shares) >= OVERLAP:
                        found[first, second, kind] = shares
    return found


@given(graphs())
@settings(deadline=None, max_examples=200)
def test_related_relations_are_those_that_sets_find(graph: tuple[int, int, list[Row], list[Row]]) -> None:
    entities, relations, train, _ = graph
    found = related_pairs(array(train), entities, relations)
    assert {(pair.first, pair.second, pair.kind): pair.shares for pair in found} == related_by_sets(train, relations)
    assert len(found) == len({(pair.first, pair.second, pair.kind) for pair in found})


# ---------------------------------------------------------------------- leaks


def test_leaked_counts_test_triples_that_train_tells_under_another_relation() -> None:
    pairs = [RelatedPair(0, 1, "inverse", (1.0, 1.0)), RelatedPair(2, 3, "duplicate", (1.0, 1.0))]
    train = array([(0, 0, 1), (2, 1, 3), (4, 2, 5), (6, 3, 7)])
    told = [(1, 1, 0), (3, 0, 2), (4, 3, 5), (6, 2, 7)]
    untold = [(0, 1, 1), (1, 0, 0), (5, 3, 4), (4, 2, 4), (0, 3, 1)]
    assert leaked(train, array(told + untold), pairs, 8) == len(told)
    assert leaked(train, array(told * 2), pairs, 8) == 2 * len(told)
    assert leaked(train, array(untold), pairs, 8) == 0
    assert leaked(train, array([]), pairs, 8) == 0
    assert leaked(train, array(told), [], 8) == 0


@pytest.mark.parametrize("train", [[(1, 1, 0)], [(0, 2, 1)], [(1, 1, 0), (0, 2, 1)]], ids=["first", "second", "both"])
def test_leaked_counts_a_triple_once_whichever_relations_tell_it(train: list[Row]) -> None:
    pairs = [RelatedPair(0, 1, "inverse", (1.0, 1.0)), RelatedPair(0, 2, "duplicate", (1.0, 1.0))]
    assert leaked(array(train), array([(0, 0, 1)]), pairs, 2) == 1


def test_leaked_counts_the_other_half_of_a_symmetric_pair() -> None:
    pairs = [RelatedPair(0, 0, "inverse", (0.9, 0.9))]
    assert leaked(array([(0, 0, 1)]), array([(1, 0, 0), (2, 0, 1)]), pairs, 3) == 1


@given(graphs())
@settings(deadline=None, max_examples=200)
def test_leaked_counts_what_sets_count(graph: tuple[int, int, list[Row], list[Row]]) -> None:
    entities, relations, train, test = graph
    related = related_by_sets(train, relations)

    def told(head: int, asked: int, tail: int) -> bool:
        return any(
            ((head, twin, tail) if kind == "duplicate" else (tail, twin, head)) in set(train)
            for first, second, kind in related
            for one, twin in ((first, second), (second, first))
            if one == asked
        )

    pairs = related_pairs(array(train), entities, relations)
    assert leaked(array(train), array(test), pairs, entities) == sum(told(*row) for row in test)


# ---------------------------------------------------------------------- the benchmark


@pytest.fixture(scope="module")
def fb15k() -> KnowledgeGraph:
    return load("fb15k")


@needs_data
def test_fb15k_test_triples_per_category_counted_on_train(fb15k: KnowledgeGraph) -> None:
    categories = RelationStatistics.of(fb15k.training_facts).categories
    counts = Counter(categories[number] for number in fb15k.test[:, 1])
    assert [counts[category] for category in CATEGORIES] == [963, 5_645, 9_332, 43_131]


@needs_data
def test_fb15k_counted_on_all_splits_gives_the_numbers_of_the_literature(fb15k: KnowledgeGraph) -> None:
    # The 846 / 5,275 / 8,641 / 44,309 that tables are weighted with look at valid and test as well, and "N" is above 1.5 only.
    found = RelationStatistics.of(fb15k.known())
    category = 2 * (found.heads_per_tail > MANY) + (found.tails_per_head > MANY)
    assert np.bincount(category[fb15k.test[:, 1]]).tolist() == [846, 5_275, 8_641, 44_309]
