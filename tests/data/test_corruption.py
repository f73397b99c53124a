"""Corruptions: never a training triple, one side replaced, the right side, evenly, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from transa import InputError, KnowledgeGraph, load
from transa.data import Corruptor, KnownFacts
from transa.data.corruption import Sampling

Row = tuple[int, int, int]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Many small calls wait for each other's threads where other programs want the processors too."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, set[Row]]:
    """Sizes of the vocabularies and distinct triples, from a single one to nearly or really all there can be."""
    entities, relations = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    every = [(h, r, t) for h in range(entities) for r in range(relations) for t in range(entities)]
    some = draw(st.sets(st.sampled_from(every), min_size=1))
    few_missing = set(every) - draw(st.sets(st.sampled_from(every), max_size=4))
    return entities, relations, draw(st.sampled_from([some, few_missing or some]))


def array(rows: object) -> np.ndarray:
    return np.array(list(rows), dtype=np.int32).reshape(-1, 3)  # type: ignore[call-overload]


def allowed(row: Row, entities: int, facts: set[Row]) -> set[Row]:
    """All triples that differ from `row` in the head or in the tail and are no facts."""
    head, relation, tail = row
    other_heads = {(entity, relation, tail) for entity in range(entities)}
    other_tails = {(head, relation, entity) for entity in range(entities)}
    return (other_heads | other_tails) - facts


def typed(row: Row, facts: set[Row], choices: set[Row]) -> set[Row]:
    """Those of `choices` whose head and tail have the relation elsewhere; all of them where there are none."""
    relation = row[1]
    heads = {head for head, other, _ in facts if other == relation}
    tails = {tail for _, other, tail in facts if other == relation}
    return {choice for choice in choices if choice[0] in heads and choice[2] in tails} or choices


@given(graph=graphs(), sampling=st.sampled_from(["uniform", "bern"]), seed=st.integers(0, 2**63 - 1))
@settings(deadline=None, max_examples=200)
def test_typed_corruptions_are_exactly_those_that_the_relation_has_elsewhere(
    graph: tuple[int, int, set[Row]], sampling: Sampling, seed: int
) -> None:
    entities, relations, facts = graph
    corruptor = Corruptor(KnownFacts(array(facts), entities, relations), sampling, seed, typed=True)
    rows = [row for row in sorted(facts) if allowed(row, entities, facts)]
    out = corruptor.corrupt(array(rows), 50)
    for row, corruptions in zip(rows, out.tolist(), strict=True):
        drawn, choices = set(map(tuple, corruptions)), typed(row, facts, allowed(row, entities, facts))
        assert drawn <= choices
        if sampling == "uniform" and len(choices) == 1:
            assert drawn == choices


def test_typed_corruptions_are_even() -> None:
    facts = [(0, 0, 5), (0, 0, 6), (1, 0, 7), (2, 0, 8), (3, 0, 9), (3, 1, 4), (0, 1, 5)]
    corruptor = Corruptor(KnownFacts(array(facts), 10, 2), "uniform", typed=True)
    drawn = corruptor.corrupt(array([(0, 0, 5)]), 6000)[0]
    tails = np.bincount(drawn[drawn[:, 0] == 0, 2], minlength=10)
    heads = np.bincount(drawn[drawn[:, 2] == 5, 0], minlength=10)
    assert set(np.flatnonzero(tails)) == {7, 8, 9}
    assert set(np.flatnonzero(heads)) == {1, 2, 3}
    assert min(stats.chisquare(tails[7:]).pvalue, stats.chisquare(heads[1:4]).pvalue) > 1e-4


@given(graph=graphs(), sampling=st.sampled_from(["uniform", "bern"]), seed=st.integers(0, 2**63 - 1))
@settings(deadline=None, max_examples=200)
def test_a_corruption_is_never_known_and_differs_on_one_side(
    graph: tuple[int, int, set[Row]], sampling: Sampling, seed: int
) -> None:
    entities, relations, facts = graph
    corruptor = Corruptor(KnownFacts(array(facts), entities, relations), sampling, seed)
    rows = [row for row in sorted(facts) if allowed(row, entities, facts)]
    out = corruptor.corrupt(array(rows), 10)
    assert out.shape == (len(rows), 10, 3)
    for row, corruptions in zip(rows, out.tolist(), strict=True):
        assert set(map(tuple, corruptions)) <= allowed(row, entities, facts)


@given(graph=graphs(), sampling=st.sampled_from(["uniform", "bern"]))
@settings(deadline=None)
def test_a_triple_without_any_corruption_is_an_error(graph: tuple[int, int, set[Row]], sampling: Sampling) -> None:
    entities, relations, facts = graph
    corruptor = Corruptor(KnownFacts(array(facts), entities, relations), sampling)
    for row in facts:
        if not allowed(row, entities, facts):
            with pytest.raises(InputError, match="cannot be corrupted"):
                corruptor.corrupt(array([row]))


def test_the_error_names_the_triple_that_cannot_be_corrupted() -> None:
    full = [(h, 0, t) for h in range(3) for t in range(3)]
    corruptor = Corruptor(KnownFacts(array([*full, (2, 1, 0)]), 3, 2))
    assert corruptor.corrupt(array([(2, 1, 0)])).shape == (1, 1, 3)
    with pytest.raises(InputError, match=r"\(1, 0, 2\)"):
        corruptor.corrupt(array([(2, 1, 0), (1, 0, 2)]), 3)


@given(graph=graphs(), typed=st.booleans(), seed=st.integers(0, 2**63 - 1))
@settings(deadline=None, max_examples=200)
def test_tails_alone_are_replaced_where_any_can_be(graph: tuple[int, int, set[Row]], typed: bool, seed: int) -> None:
    entities, relations, facts = graph
    corruptor = Corruptor(KnownFacts(array(facts), entities, relations), "tail", seed, typed=typed)
    rows = [row for row in sorted(facts) if allowed(row, entities, facts)]
    for row, corruptions in zip(rows, corruptor.corrupt(array(rows), 20).tolist(), strict=True):
        same_head = {choice for choice in allowed(row, entities, facts) if choice[0] == row[0]}
        tails = {tail for _, relation, tail in facts if relation == row[1]}
        usual = {choice for choice in same_head if choice[2] in tails} if typed else set()
        drawn = set(map(tuple, corruptions))
        assert drawn <= (usual or same_head) if same_head else drawn <= allowed(row, entities, facts)


@pytest.mark.parametrize("sampling", ["uniform", "bern", "tail"])
def test_a_full_side_gives_way_to_the_other(sampling: Sampling) -> None:
    facts = {(0, 0, 0), (0, 0, 1), (0, 0, 2)}  # the head 0 has every tail
    out = Corruptor(KnownFacts(array(facts), 3, 1), sampling).corrupt(array([(0, 0, 1)]), 200)
    assert set(map(tuple, out[0].tolist())) == {(1, 0, 1), (2, 0, 1)}


# ---------------------------------------------------------------------- what may be drawn


def test_a_test_triple_may_be_drawn_as_a_corruption() -> None:
    # With the head or the tail of (0, 0, 1) replaced there are (1, 0, 1), which is tested, and (0, 0, 0), which is trained on.
    graph = KnowledgeGraph.from_ids([[0, 0, 1], [0, 0, 0]], test=[[1, 0, 1]])
    out = Corruptor(graph.training_facts).corrupt(graph.train[:1], 50)
    assert set(map(tuple, out[0].tolist())) == {(1, 0, 1)}
    with pytest.raises(InputError, match="cannot be corrupted"):
        Corruptor(graph.known()).corrupt(graph.train[:1])


@pytest.mark.parametrize(
    "stranger",
    [(0, 0, 2), (1, 0, 1), (0, 0, 0), (1, 0, 0), (1, 1, 1), (3, 0, 1), (0, 2, 1), (0, 0, 3), (-1, 0, 1), (0, 0, -1)],
)
def test_only_known_facts_are_corrupted(stranger: Row) -> None:
    corruptor = Corruptor(KnownFacts(array([(0, 0, 1), (1, 0, 2), (0, 1, 2)]), 3, 2))
    with pytest.raises(InputError, match="is not a known fact"):
        corruptor.corrupt(array([(0, 0, 1), stranger]))


def test_an_unknown_sampling_is_an_error() -> None:
    with pytest.raises(InputError, match=r"'bernoulli'.*'uniform', 'bern' or 'tail'"):
        Corruptor(KnownFacts(array([(0, 0, 1)]), 2, 1), "bernoulli")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_an_impossible_seed_is_an_error(seed: int) -> None:
    with pytest.raises(InputError, match=f"seed.*{seed}"):
        Corruptor(KnownFacts(array([(0, 0, 1)]), 2, 1), seed=seed)


def test_nothing_is_corrupted_into_nothing() -> None:
    corruptor = Corruptor(KnownFacts(array([(0, 0, 1)]), 2, 1))
    assert corruptor.corrupt(array([]), 3).shape == (0, 3, 3)
    assert corruptor.corrupt(array([(0, 0, 1)]), 0).shape == (1, 0, 3)


# ---------------------------------------------------------------------- how often

ENTITIES = 60
#: Triples of each relation, and the probability with which bern replaces the head.
RELATIONS: list[tuple[list[Row], float]] = [
    ([(h, 0, 10 + 8 * h + k) for h in range(5) for k in range(8)], 8 / 9),  # tph 8, hpt 1
    ([(10 + 8 * t + k, 1, t) for t in range(5) for k in range(8)], 1 / 9),  # tph 1, hpt 8
    ([(h, 2, h + 1) for h in range(20)], 1 / 2),  # tph 1, hpt 1
    ([(h, 3, t) for h in range(3) for t in range(10, 16)], 6 / 9),  # tph 6, hpt 3
]
FACTS = KnownFacts(array([row for rows, _ in RELATIONS for row in rows for _ in range(2)]), ENTITIES, len(RELATIONS))


@pytest.mark.parametrize("sampling", ["uniform", "bern"])
@pytest.mark.parametrize("relation", range(len(RELATIONS)))
def test_the_head_is_replaced_as_often_as_the_sampling_says(sampling: Sampling, relation: int) -> None:
    rows, bern = RELATIONS[relation]
    triples = array(rows)
    out = Corruptor(FACTS, sampling, seed=5).corrupt(triples, 50_000 // len(rows))
    replaced = out[:, :, 0] != triples[:, None, 0]
    expected = bern if sampling == "bern" else 0.5
    deviation = (replaced.sum() - replaced.size * expected) / np.sqrt(replaced.size * expected * (1 - expected))
    assert abs(deviation) < 6


@pytest.mark.parametrize("side", [0, 2], ids=["head", "tail"])
@pytest.mark.parametrize("relation", range(len(RELATIONS)))
def test_each_allowed_entity_is_drawn_equally_often(side: int, relation: int) -> None:
    row = RELATIONS[relation][0][3]
    out = Corruptor(FACTS, "uniform", seed=5).corrupt(array([row]), 40_000)[0]
    drawn = out[out[:, side] != row[side], side]
    counts = np.bincount(drawn, minlength=ENTITIES)
    taken = FACTS.heads_of(row[1], row[2]) if side == 0 else FACTS.tails_of(row[0], row[1])
    assert counts[taken].sum() == 0
    assert stats.chisquare(np.delete(counts, taken)).pvalue > 1e-4


def test_neighbours_do_not_share_their_draws() -> None:
    out = Corruptor(FACTS, "uniform", seed=5).corrupt(array([RELATIONS[2][0][3]] * 2_000), 2)
    for one, other in ((out[:, 0], out[:, 1]), (out[:-1, 1], out[1:, 0]), (out[:-1, 0], out[1:, 0])):
        assert (one == other).all(axis=1).mean() < 0.05  # by chance, 1 in about 118


# ---------------------------------------------------------------------- the same again


@pytest.fixture(scope="module")
def umls() -> KnowledgeGraph:
    return load("umls")


@pytest.fixture(scope="module")
def corruptions(umls: KnowledgeGraph) -> np.ndarray:
    return Corruptor(umls.training_facts, seed=3).corrupt(umls.train, 2, epoch=7)


def test_a_whole_dataset_is_corrupted_without_hitting_a_fact(umls: KnowledgeGraph, corruptions: np.ndarray) -> None:
    assert umls.training_facts.contains(umls.train).all()
    assert not umls.training_facts.contains(corruptions.reshape(-1, 3)).any()


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_does_not_matter(umls: KnowledgeGraph, corruptions: np.ndarray, threads: int) -> None:
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        again = Corruptor(umls.training_facts, seed=3).corrupt(umls.train, 2, epoch=7)
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(again, corruptions)


@pytest.mark.parametrize("size", [1_000, 5_215])
def test_one_piece_or_several_do_not_matter(umls: KnowledgeGraph, corruptions: np.ndarray, size: int) -> None:
    corruptor = Corruptor(umls.training_facts, seed=3)
    pieces = [
        corruptor.corrupt(umls.train[first : first + size], 2, epoch=7, first=first)
        for first in range(0, len(umls.train), size)
    ]
    np.testing.assert_array_equal(np.concatenate(pieces), corruptions)


@pytest.mark.parametrize(("seed", "epoch_"), [(4, 7), (3, 8), (7, 3)])
def test_another_seed_or_round_gives_other_corruptions(
    umls: KnowledgeGraph, corruptions: np.ndarray, seed: int, epoch_: int
) -> None:
    other = Corruptor(umls.training_facts, seed=seed).corrupt(umls.train, 2, epoch=epoch_)
    assert (other != corruptions).any(axis=2).mean() > 0.9


def test_another_purpose_gives_other_corruptions(umls: KnowledgeGraph, corruptions: np.ndarray) -> None:
    other = Corruptor(umls.training_facts, seed=3, purpose=9).corrupt(umls.train, 2, epoch=7)
    assert (other != corruptions).any(axis=2).mean() > 0.9
