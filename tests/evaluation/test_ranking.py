"""Best answers against brute force, with vectors of small whole numbers, so that ties are common and arithmetic is exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.evaluation.test_link_prediction import ENTITIES, RELATIONS, VARIANTS, made
from transa.data import KnownFacts
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker

pytestmark = pytest.mark.slow  # every kernel of ranking is compiled


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_best_answers_are_those_of_a_full_sort(variant: str, side: str) -> None:
    model, triples, facts = made(variant, 5)
    queries = Queries.of(triples, KnownFacts(facts, ENTITIES, RELATIONS), side)
    for leave_out_known in (False, True):
        for chunk in (3, 7, None):
            answers, scores = Ranker(model, chunk).best(queries, 6, leave_out_known=leave_out_known)
            for q, (fixed, relation) in enumerate(zip(queries.fixed, queries.relations, strict=True)):
                candidates = [(x, relation, fixed) if side == "head" else (fixed, relation, x) for x in range(ENTITIES)]
                values = model.score_triples(torch.tensor(np.array(candidates))).double().numpy()
                if leave_out_known:
                    values[queries.known[queries.starts[q] : queries.stops[q]]] = np.inf
                order = np.argsort(values, kind="stable")[:6]
                assert answers[q].tolist() == np.where(np.isinf(values[order]), -1, order).tolist()
                np.testing.assert_allclose(scores[q], values[order], rtol=1e-6)
