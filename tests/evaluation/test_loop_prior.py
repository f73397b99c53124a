"""The loop prior in ranks, best answers and classification: what is barred comes last, and nothing else changes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.test_link_prediction import ALL, DIM, ENTITIES, RELATIONS, TIES, made, scores_of
from transa.data import KnowledgeGraph, KnownFacts
from transa.errors import InputError
from transa.evaluation import accuracy, classify, evaluate, link_prediction
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.models import Model, build
from transa.models.loop_prior import barred_answers, barred_triples, is_loop_free

LOOP_FREE = torch.tensor([True, False, True])


def with_loops(variant: str, seed: int) -> tuple[Model, np.ndarray, np.ndarray]:
    """A model with a prior, and triples and facts with loops of every relation among them."""
    model, triples, facts = made(variant, seed)
    triples[::4, 2] = triples[::4, 0]
    loops = np.array([(e, r, e) for e in range(0, ENTITIES, 3) for r in range(RELATIONS)], np.int32)
    model.loop_free = LOOP_FREE.clone()
    return model, triples, np.concatenate([triples, facts, loops])


def all_scores(model: Model, side: str, fixed: int, relation: int) -> np.ndarray:
    """The scores of all answers to a question, in double precision."""
    options = {name: getattr(model, name) for name in model.options}
    double = build(model.name, ENTITIES, model.num_relations, DIM, **options)
    double.directional = model.directional
    double.load({name: table.double() for name, table in model.tensors().items() if name != "relation.loop_free"})
    rows = [(x, relation, fixed) if side == "head" else (fixed, relation, x) for x in range(ENTITIES)]
    return scores_of(double, rows, side)


def expected_counts(model: Model, triples: np.ndarray, facts: np.ndarray) -> np.ndarray:
    """(better, equal) of raw and filtered ranks by brute force: shape (2, triples, sides, 2)."""
    known = set(map(tuple, facts.tolist()))
    counts = np.empty((2, len(triples), 2, 2), int)
    for row, (head, relation, tail) in enumerate(triples.tolist()):
        for column, side in enumerate(("head", "tail")):
            fixed, target = (tail, head) if side == "head" else (head, tail)
            scores = all_scores(model, side, fixed, relation)
            barred = bool(model.loop_free is not None and model.loop_free[relation])
            if barred:
                scores[fixed] = np.inf
            for filtered in (False, True):
                rivals = []
                for x in range(ENTITIES):
                    triple = (x, relation, tail) if side == "head" else (head, relation, x)
                    if x != target and not (filtered and triple in known):
                        rivals.append(scores[x])
                better = sum(score < scores[target] for score in rivals)
                counts[int(filtered), row, column] = better, sum(score == scores[target] for score in rivals)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("variant", ALL)
def test_ranks_with_and_without_the_prior_equal_brute_force(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, triples, facts = with_loops(variant, 7)
    known = KnownFacts(facts, ENTITIES, RELATIONS)
    expected = expected_counts(model, triples, facts)
    model.loop_free = None
    plainly = expected_counts(model, triples, facts)
    model.loop_free = LOOP_FREE
    assert (expected != plainly).any()
    for with_torch, chunk in itertools.product((False, True), (None, 1, 7)):
        if with_torch:
            monkeypatch.setattr(type(model), "kernel", lambda self: None)
        found = link_prediction(model, triples, known, chunk=chunk)
        without = link_prediction(model, triples, known, chunk=chunk, loop_prior=False)
        assert found.without_prior is not None and without.without_prior is None
        for filtered, (ties, share) in itertools.product((False, True), TIES.items()):
            for ranked, counts in ((found, expected), (found.without_prior, plainly), (without, plainly)):
                better, equal = np.moveaxis(counts[int(filtered)], -1, 0)
                ranks = ranked.ranks(filtered=filtered, ties=ties)
                np.testing.assert_array_equal(ranks, 1 + better + share * equal)
        monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize("with_torch", [False, True])
@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("variant", ALL)
def test_the_best_answers_never_hold_what_is_barred(
    variant: str, side: Any, with_torch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, triples, facts = with_loops(variant, 8)
    if with_torch:
        monkeypatch.setattr(type(model), "kernel", lambda self: None)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), side)
    for leave_out_known, chunk, prior in itertools.product((False, True), (3, None), (False, True)):
        ranker = Ranker(model, chunk, loop_prior=prior)
        for number in (6, ENTITIES):
            answers, scores = ranker.best(queries, number, leave_out_known=leave_out_known)
            for q, (fixed, relation) in enumerate(zip(queries.fixed, queries.relations, strict=True)):
                values = all_scores(model, side, int(fixed), int(relation))
                if leave_out_known:
                    values[queries.known[queries.starts[q] : queries.stops[q]]] = np.inf
                if prior and LOOP_FREE[relation]:
                    values[fixed] = np.inf
                order = np.argsort(values, kind="stable")[:number]
                assert answers[q].tolist() == np.where(np.isinf(values[order]), -1, order).tolist()
                np.testing.assert_allclose(scores[q], values[order], rtol=1e-6, atol=1e-9)


vectors = st.lists(st.integers(-2, 2), min_size=5, max_size=5)
some_triples = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=12, unique=True
)


@settings(max_examples=60)
@given(vectors, some_triples, some_triples, st.booleans())
def test_the_prior_puts_loops_last_and_makes_no_other_rank_worse(
    places: list[int], asked: list[tuple[int, int, int]], more: list[tuple[int, int, int]], filtered: bool
) -> None:
    model = build("um", 5, 2, 1).initialise(0)
    model.entity["vector"] = torch.tensor(places, dtype=torch.float32)[:, None]
    model.loop_free = torch.tensor([True, False])
    triples = np.array(asked, np.int32)
    found = link_prediction(model, triples, KnownFacts(np.array(asked + more, np.int32), 5, 2))
    assert found.without_prior is not None
    ranks, before = found.ranks(filtered=filtered), found.without_prior.ranks(filtered=filtered)
    loops, free = triples[:, 0] == triples[:, 2], triples[:, 1] == 0
    np.testing.assert_array_equal(ranks[loops & free], found.candidates(filtered=filtered)[loops & free])
    np.testing.assert_array_equal(ranks[~free], before[~free])
    assert (ranks[~loops] <= before[~loops]).all()
    assert (before[~loops] - ranks[~loops] <= 1).all()


def test_a_relation_of_each_direction_has_the_prior_of_its_relation() -> None:
    model, *_ = with_loops("um", 0)
    relations = np.arange(2 * RELATIONS)
    assert is_loop_free(model, relations).tolist() == [True, False, True] * 2
    assert barred_answers(model, relations + 1, relations).tolist() == [1, -1, 3, 4, -1, 6]
    assert barred_triples(model, np.array([(4, 0, 4), (4, 1, 4), (4, 2, 3)], np.int32)).tolist() == [True, False, False]
    model.loop_free = None
    assert not is_loop_free(model, relations).any()


# ---------------------------------------------------------------------------------------------------------------- evaluation


def on_a_ring() -> tuple[Model, KnowledgeGraph]:
    """Six entities that all lie near themselves; relation 0 never loops, relation 1 often does."""
    ring = [(i, 0, (i + 1) % 6) for i in range(6)]
    loops = [(i, 1, i) for i in range(4)]
    graph = KnowledgeGraph.from_ids(ring[:5] + loops[:3], ring[5:], ring[5:] + loops[3:], entities=6, relations=2)
    model = build("um", 6, 2, 1).initialise(0)
    model.entity["vector"] = torch.arange(6.0)[:, None]
    model.loop_free = torch.tensor([True, False])
    return model, graph


def test_an_evaluation_reports_both_and_says_what_was_used() -> None:
    model, graph = on_a_ring()
    found = evaluate(model, graph)
    report, without = found.report(), evaluate(model, graph, loop_prior=False).report()
    assert report["loop_prior"]["relations"] == 1 and report["loop_prior"]["of"] == 2
    assert without["loop_prior"] is None
    for side in ("both", "head", "tail"):
        assert report["loop_prior"]["without"][side] == without[side]
        assert report[side]["raw"]["mr"] < without[side]["raw"]["mr"]
    json.dumps(report, allow_nan=False)
    part = found.found.take(np.array([1]))
    assert part.without_prior is not None and len(part.without_prior.triples) == 1
    answers = found.frame(answers=2).to_pylist()
    assert all(row["answer_1"] != row["tail" if row["side"] == "head" else "head"] for row in answers[:2])


# ------------------------------------------------------------------------------------------------------------ classification


def labelled() -> tuple[Model, KnowledgeGraph]:
    """Near entities are related; valid and test each hold a loop of relation 0 that is labelled true, and one that is false."""
    near = [(i, r, i + 1) for i in range(8) for r in (0, 1)]
    far = [(i, r, 9 - i) for i in range(3) for r in (0, 1)]
    loops = [(3, 0, 3), (4, 0, 4)]
    rows, labels = near + far + loops, [1] * len(near) + [-1] * len(far) + [1, -1]
    graph = KnowledgeGraph.from_ids(
        near, rows, rows, entities=10, relations=2, valid_labels=np.array(labels), test_labels=np.array(labels)
    )
    model = build("um", 10, 2, 1).initialise(0)
    model.entity["vector"] = torch.arange(10.0)[:, None]
    return model, graph


@pytest.mark.parametrize("method", ["isotonic", "platt", None])
def test_barred_loops_are_false_and_leave_thresholds_and_calibration_alone(method: Any) -> None:
    model, graph = labelled()
    rows, labels = graph.valid, graph.valid_labels
    assert labels is not None
    others = rows[:, 0] != rows[:, 2]
    clean = KnowledgeGraph.from_ids(
        graph.train, rows[others], rows[others], entities=10, relations=2,
        valid_labels=labels[others], test_labels=labels[others],
    )  # fmt: skip
    expected = classify(model, clean, calibration=method)
    model.loop_free = torch.tensor([True, False])
    found = classify(model, graph, calibration=method)
    assert found.barred.tolist() == (~others).tolist()
    assert found.thresholds == expected.thresholds and found.global_threshold == expected.global_threshold
    assert found.calibrator == expected.calibrator
    assert (found.decisions[~others] == -1).all() and np.isfinite(found.scores).all()
    np.testing.assert_array_equal(found.decisions[others], expected.decisions)
    if method is not None:
        assert found.probabilities is not None and (found.probabilities[~others] == 0).all()
    summary = found.summary()
    assert summary["barred_loops"] == 2 and any("itself" in note for note in summary["notes"])
    json.dumps(summary, allow_nan=False)
    assert accuracy(model, rows, labels) == summary["accuracy"]
    assert summary["accuracy"] == (expected.summary()["accuracy"] * others.sum() + 1) / len(rows)


def test_where_all_of_valid_is_barred_there_is_nothing_to_calibrate_with() -> None:
    model, graph = labelled()
    loops = np.array([(3, 0, 3), (4, 0, 4)], np.int32)
    only = KnowledgeGraph.from_ids(
        graph.train,
        loops,
        loops,
        entities=10,
        relations=2,
        valid_labels=np.array([1, -1]),
        test_labels=np.array([1, -1]),
    )
    model.loop_free = torch.tensor([True, False])
    assert accuracy(model, loops, np.array([1, -1], np.int8)) == 0.5
    assert classify(model, only, calibration=None).decisions.tolist() == [-1, -1]
    with pytest.raises(InputError, match="calibration needs labelled triples"):
        classify(model, only)
