"""A few questions to a small model: the same answers and ranks as by all scores, and no kernel is loaded for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evaluation.test_link_prediction import ALL, ENTITIES, RELATIONS, made
from transa.data import KnownFacts
from transa.evaluation import ranking
from transa.evaluation.queries import SIDES, Queries
from transa.evaluation.ranking import FEW, QuickRanker, Ranker


def asked(variant: str, side: str, number: int) -> tuple[ranking.Model, Queries]:
    model, triples, facts = made(variant, 7)
    return model, Queries.of(triples[:number], KnownFacts(facts, ENTITIES, RELATIONS), side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("variant", ALL)
def test_few_questions_are_answered_without_kernels(variant: str, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, queries = asked(variant, side, FEW)

    def loaded(*_: object) -> bool:
        raise AssertionError("kernels were asked for")

    with monkeypatch.context() as patch:
        if model.kernel() is not None:
            patch.setattr(ranking, "has_compiled_ranking", loaded)
        quick = QuickRanker(model)
        answers, scores = quick.best(queries, 6, leave_out_known=True)
        counts = quick.count(queries).counts
    monkeypatch.setattr(ranking, "has_compiled_ranking", lambda _: False)
    full = Ranker(model)  # torch, in the model's own precision: exact, since the parameters are small whole numbers
    expected, values = full.best(queries, 6, leave_out_known=True)
    np.testing.assert_array_equal(answers, expected)
    np.testing.assert_allclose(scores, values, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(counts, full.count(queries).counts)


def test_many_questions_are_left_to_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    model, queries = asked("transe-l1", "tail", FEW + 10)
    assert len(queries) > FEW
    seen = []
    monkeypatch.setattr(ranking, "SMALL", model.num_entities * model.dim)
    monkeypatch.setattr(ranking, "has_compiled_ranking", lambda model: seen.append(model) or False)
    QuickRanker(model).best(queries, 3)
    assert seen == [model]


def test_the_smaller_a_model_the_more_questions_are_few() -> None:
    model, queries = asked("transe-l1", "tail", FEW + 10)
    most = FEW * ranking.SMALL // (model.num_entities * model.dim)
    assert most > len(queries)
    assert ranking.are_few(most, model) and not ranking.are_few(most + 1, model)


def test_a_large_model_is_left_to_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    model, queries = asked("transe-l1", "tail", 1)
    seen = []
    monkeypatch.setattr(ranking, "SMALL", 1)
    monkeypatch.setattr(ranking, "has_compiled_ranking", lambda model: seen.append(model) or False)
    QuickRanker(model).best(queries, 3)
    assert seen == [model]
