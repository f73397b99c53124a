"""Best answers against brute force, with vectors of small whole numbers, so that ties are common and arithmetic is exact."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from tests.evaluation.test_link_prediction import ALL, ENTITIES, RELATIONS, made, scores_of
from transa.data import KnownFacts
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.kernels.cache import is_compiled

pytestmark = pytest.mark.slow  # every kernel of ranking is compiled


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("variant", ALL)
def test_the_best_answers_are_those_of_a_full_sort(variant: str, side: str) -> None:
    model, triples, facts = made(variant, 5)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), side)
    for leave_out_known in (False, True):
        for chunk in (3, 7, None):
            answers, scores = Ranker(model, chunk).best(queries, 6, leave_out_known=leave_out_known)
            for q, (fixed, relation) in enumerate(zip(queries.fixed, queries.relations, strict=True)):
                candidates = [(x, relation, fixed) if side == "head" else (fixed, relation, x) for x in range(ENTITIES)]
                values = scores_of(model, candidates, side)
                if leave_out_known:
                    values[queries.known[queries.starts[q] : queries.stops[q]]] = np.inf
                order = np.argsort(values, kind="stable")[:6]
                assert answers[q].tolist() == np.where(np.isinf(values[order]), -1, order).tolist()
                np.testing.assert_allclose(scores[q], values[order], rtol=1e-6, atol=1e-9)  # a root in torch is never 0


@pytest.mark.parametrize("variant", ["transe-l1", "transa-full"])
def test_the_best_answers_do_not_depend_on_threads(variant: str) -> None:
    model, triples, facts = made(variant, 6)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), "tail")
    threads = numba.get_num_threads()
    expected = Ranker(model).best(queries, 6)
    try:
        numba.set_num_threads(1)
        alone = Ranker(model).best(queries, 6)
    finally:
        numba.set_num_threads(threads)
    for one, all_threads in zip(alone, expected, strict=True):
        np.testing.assert_array_equal(one, all_threads)


@pytest.mark.parametrize("with_torch", [False, True])
def test_no_answers_are_found_where_none_are_asked_for(with_torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, triples, facts = made("transe-l1", 5)
    if with_torch:
        monkeypatch.setattr(type(model), "kernel", lambda self: None)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), "tail")
    answers, scores = Ranker(model).best(queries, 0)
    assert answers.shape == scores.shape == (len(queries), 0)


def test_kernels_that_have_run_are_known_to_be_compiled() -> None:
    model, triples, facts = made("transe-l1", 5)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), "tail")
    Ranker(model).count(queries)
    Ranker(model).best(queries, 1)
    assert is_compiled("count_better", "l1")
    assert is_compiled("best_answers", "l1")
