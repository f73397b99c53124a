"""Ranks against brute force, with vectors of small whole numbers, so that ties are common and arithmetic is exact."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
import torch

from transa.data import KnownFacts
from transa.evaluation import link_prediction
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.models import build

pytestmark = pytest.mark.slow  # every kernel of ranking is compiled

ENTITIES, RELATIONS, DIM = 19, 3, 4
VARIANTS = {
    "transe-l1": ("transe", {"norm": 1}),
    "transe-l2": ("transe", {"norm": 2}),
    "transe-squared": ("transe", {"norm": 2, "squared": True}),
    "transe-squared-biases": ("transe", {"norm": 2, "squared": True, "biases": True}),
    "transe-l1-biases": ("transe", {"norm": 1, "biases": True}),
    "um": ("um", {}),
    "transm": ("transm", {}),
    "transm-squared": ("transm", {"norm": 2, "squared": True}),
    "transh-l1": ("transh", {"norm": 1}),
    "transh-l2": ("transh", {"norm": 2, "root": True}),
    "transa-diagonal": ("transa", {"metric": "diagonal"}),
    "transa-diagonal-root": ("transa", {"metric": "diagonal", "root": True}),
    "transa-signed": ("transa", {"metric": "signed"}),
    "transa-signed-biases": ("transa", {"metric": "signed", "biases": True}),
    "transa-lowrank-biases": ("transa", {"metric": "lowrank", "biases": True}),
    "transa-lowrank": ("transa", {"metric": "lowrank", "rank": 2}),
    "transa-full": ("transa", {"metric": "full"}),
    "transa-signed-lowrank": ("transa", {"metric": "signed_lowrank", "rank": 2}),
    "adaptive_metric": ("adaptive_metric", {}),
    "adaptive_metric-lowrank-root": ("adaptive_metric", {"metric": "lowrank", "rank": 2, "root": True}),
    "adaptive_metric-signed-lowrank": ("adaptive_metric", {"metric": "signed_lowrank", "rank": 2}),
    "adaptive_metric-signed-lowrank-biases": (
        "adaptive_metric",
        {"metric": "signed_lowrank", "rank": 3, "biases": True},
    ),
}
#: Models with relations of their own for questions about heads; all others are asked from one direction.
DIRECTIONAL = {
    "directional transe-l1": "transe-l1",
    "directional transh-l2": "transh-l2",
    "directional transa-signed-biases": "transa-signed-biases",
    "directional transa-full": "transa-full",
}
ALL = [*VARIANTS, *DIRECTIONAL]


def made(variant: str, seed: int):
    random = np.random.default_rng(seed)
    name, options = VARIANTS[DIRECTIONAL.get(variant, variant)]
    model = build(name, ENTITIES, RELATIONS * (2 if variant in DIRECTIONAL else 1), DIM, **options).initialise(0)
    model.directional = variant in DIRECTIONAL
    for rows in (model.entity, model.relation):
        for table, values in rows.items():
            low = 0 if table in ("metric", "weight") and "signed" not in options.get("metric", "") else -2
            whole = random.integers(low, 3, values.shape)
            whole = whole + np.swapaxes(whole, -1, -2) if table == "metric" and model.grouped else whole
            rows[table] = torch.from_numpy(whole.astype(np.float32))
    if "weight" in model.relation:
        model.relation["weight"] = torch.ones(model.num_relations)
    triples = random.integers(0, (ENTITIES, RELATIONS, ENTITIES), (40, 3)).astype(np.int32)
    facts = np.concatenate([triples, random.integers(0, (ENTITIES, RELATIONS, ENTITIES), (120, 3)).astype(np.int32)])
    return model, triples, facts


TIES = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}


def scores_of(model, candidates, side: str) -> np.ndarray:
    """Return the scores of triples as answers for one side."""
    ids = torch.tensor(np.array(candidates), dtype=torch.long)
    asked = model.inverted(ids) if model.directional and side == "head" else ids
    return model.score_rows(asked).double().numpy()


def brute_force(model, triples, facts):
    """Return (better, equal) for raw and filtered ranks of each triple and side, in double precision."""
    known = set(map(tuple, facts.tolist()))
    options = {name: getattr(model, name) for name in model.options}
    double = build(model.name, ENTITIES, model.num_relations, DIM, **options)
    double.directional = model.directional
    double.load({name: table.double() for name, table in model.tensors().items()})
    counts = np.empty((2, len(triples), 2, 2), dtype=int)
    for row, (head, relation, tail) in enumerate(triples.tolist()):
        true = (head, relation, tail)
        for side in (0, 1):
            candidates = [(e, relation, tail) if side == 0 else (head, relation, e) for e in range(ENTITIES)]
            scores = scores_of(double, candidates, "tail" if side else "head")
            target = scores[head if side == 0 else tail]
            for filtered in (False, True):
                rivals = [
                    score
                    for candidate, score in zip(candidates, scores, strict=True)
                    if candidate != true and not (filtered and candidate in known)
                ]
                counts[int(filtered), row, side] = sum(s < target for s in rivals), sum(s == target for s in rivals)
    return counts


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("variant", ALL)
def test_ranks_equal_a_brute_force_count(variant: str, seed: int) -> None:
    model, triples, facts = made(variant, seed)
    known = KnownFacts(facts, ENTITIES, RELATIONS)
    expected = brute_force(model, triples, facts)
    assert expected[..., 1].any()  # there are ties
    threads = numba.get_num_threads()
    try:
        for used, chunk in itertools.product({1, threads}, (None, 1, 4, 18, 19, 500)):
            numba.set_num_threads(used)
            found = link_prediction(model, triples, known, chunk=chunk)
            for filtered, (ties, share) in itertools.product((False, True), TIES.items()):
                better, equal = np.moveaxis(expected[int(filtered)], -1, 0)
                ranks = found.ranks(filtered=filtered, ties=ties)
                np.testing.assert_array_equal(ranks, 1 + better + share * equal)
    finally:
        numba.set_num_threads(threads)


@pytest.mark.parametrize("variant", ALL)
def test_torch_counts_as_the_kernels_do(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, triples, facts = made(variant, 2)
    known = KnownFacts(facts, ENTITIES, RELATIONS)
    expected = link_prediction(model, triples, known)
    monkeypatch.setattr(type(model), "kernel", lambda self: None)
    for chunk in (None, 1, 7):
        found = link_prediction(model, triples, known, chunk=chunk)
        for filtered, ties in itertools.product((False, True), TIES):
            np.testing.assert_array_equal(
                found.ranks(filtered=filtered, ties=ties), expected.ranks(filtered=filtered, ties=ties)
            )
    queries = Queries.of(triples, known, "tail")
    torch_answers, torch_scores = Ranker(model, 7).best(queries, 5, leave_out_known=True)
    monkeypatch.undo()
    answers, scores = Ranker(model).best(queries, 5, leave_out_known=True)
    np.testing.assert_array_equal(torch_answers, answers)
    np.testing.assert_allclose(torch_scores, scores, rtol=1e-6, atol=1e-9)  # a root in torch is never 0


@pytest.mark.parametrize(
    "variant",
    [
        "transe-l1",
        "transe-squared",
        "transa-signed",
        "transa-signed-biases",
        "transa-full",
        "adaptive_metric",
        "adaptive_metric-signed-lowrank-biases",
    ],
)
def test_ranks_of_any_numbers_are_those_of_double_precision(variant: str) -> None:
    """Entities a millionth apart are told apart, and twins are ties, where single precision would guess."""
    model, triples, facts = made(variant, 4)
    random = np.random.default_rng(9)
    for rows in (model.entity, model.relation):
        for name, table in rows.items():
            values = random.random(tuple(table.shape))
            if name == "metric":
                values = values @ np.swapaxes(values, -1, -2) if model.grouped else values - 0.5
            rows[name] = torch.from_numpy(values.astype(np.float32))
    near = model.entity.vector[:6] * (1 + 1e-6 * torch.from_numpy(random.standard_normal((6, DIM)).astype(np.float32)))
    model.entity.vector[6:12] = near
    for table in model.entity.values():
        table[12:18] = table[:6]
    expected = brute_force(model, triples, facts)
    assert expected[..., 1].any()
    found = link_prediction(model, triples, KnownFacts(facts, ENTITIES, RELATIONS))
    for filtered in (False, True):
        better, equal = np.moveaxis(expected[int(filtered)], -1, 0)
        np.testing.assert_array_equal(found.ranks(filtered=filtered), 1 + better + equal / 2)


def test_the_summary_is_the_mean_over_sides() -> None:
    model, triples, facts = made("transe-l1", 3)
    found = link_prediction(model, triples, KnownFacts(facts, ENTITIES, RELATIONS))
    ranks, summary = found.ranks(), found.summary()
    assert summary["both"]["mrr"] == pytest.approx((1 / ranks).mean())
    assert summary["head"]["mr"] == pytest.approx(ranks[:, 0].mean())
    assert summary["tail"]["hits@3"] == pytest.approx((ranks[:, 1] <= 3).mean())
    assert (found.ranks(filtered=False) >= ranks).all()
