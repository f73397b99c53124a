"""Scores of the models on the residual: hand-made examples, special cases, and what N_r is and is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transa.errors import InputError
from transa.models import Rows, build

ENTITIES, RELATIONS, DIM = 6, 3, 4
VARIANTS = {
    "transe-l1": ("transe", {"norm": 1}),
    "transe-l2": ("transe", {"norm": 2}),
    "um": ("um", {}),
    "transm": ("transm", {}),
    "transa-full": ("transa", {"metric": "full"}),
    "transa-lowrank": ("transa", {"metric": "lowrank", "rank": 2}),
}


def made(variant: str, seed: int = 0):
    name, options = VARIANTS[variant]
    return build(name, ENTITIES, RELATIONS, DIM, **options).initialise(seed, dtype=torch.float64)


def rows(**values: object) -> Rows:
    return Rows({name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()})


def two_dimensional(model: str, **options: object):
    return build(model, 2, 1, 2, **options)


def test_the_papers_example_of_crossed_weights() -> None:
    """W = [0 1; 1 0]: with absolute values the loss is 2 |e1| |e2|; without them it would fall where e2 grows negative."""
    transa, psd = two_dimensional("transa"), two_dimensional("adaptive_metric")
    crossed = [[0.0, 1.0], [1.0, 0.0]]
    relation = rows(vector=[0.0, 0.0], metric=crossed)
    head, tail = rows(vector=[3.0, -2.0]), rows(vector=[1.0, 3.0])  # e = (2, -5)
    assert float(transa.score(head, relation, tail)) == 20.0
    assert float(psd.score(head, relation, tail)) == -20.0


def test_hand_made_scores() -> None:
    head, tail = rows(vector=[1.0, 2.0]), rows(vector=[0.5, 4.0])
    relation = rows(vector=[0.5, -1.0], weight=0.5)  # e = (1, -3)
    assert float(two_dimensional("transe", norm=1).score(head, relation, tail)) == 4.0
    assert float(two_dimensional("transe", norm=2).score(head, relation, tail)) == pytest.approx(10**0.5)
    assert float(two_dimensional("transm").score(head, relation, tail)) == 2.0
    assert float(two_dimensional("um").score(head, relation, tail)) == 0.25 + 4.0
    full = Rows(relation | rows(metric=[[2.0, 1.0], [1.0, 3.0]]))
    assert float(two_dimensional("transa").score(head, full, tail)) == 2 + 2 * 3 + 27
    assert float(two_dimensional("transa", root=True).score(head, full, tail)) == pytest.approx(35**0.5)
    assert float(two_dimensional("adaptive_metric").score(head, full, tail)) == 2 - 2 * 3 + 27
    low = Rows(relation | rows(metric=[[1.0, 0.0], [2.0, 1.0]]))
    assert float(two_dimensional("transa", metric="lowrank").score(head, low, tail)) == 1 + (2 + 3) ** 2
    diagonal = Rows(relation | rows(metric=[[2.0, 0.5]]))
    assert float(two_dimensional("transa", metric="diagonal").score(head, diagonal, tail)) == 2 + 4.5


def test_special_cases() -> None:
    """TransA with the identity is TransE's squared L2, with ones its squared L1; TransE with r = 0 is UM's root."""
    l1, l2, um, full = (made(variant) for variant in ("transe-l1", "transe-l2", "um", "transa-full"))
    triples = torch.cartesian_prod(torch.arange(ENTITIES), torch.arange(RELATIONS), torch.arange(ENTITIES))
    for model in (l2, um, full):
        model.entity["vector"] = l1.entity.vector
    l2.relation["vector"] = full.relation["vector"] = l1.relation.vector
    torch.testing.assert_close(full.score_triples(triples), l2.score_triples(triples) ** 2)
    full.relation["metric"] = torch.ones_like(full.relation.metric)
    torch.testing.assert_close(full.score_triples(triples), l1.score_triples(triples) ** 2)
    l2.relation["vector"] = torch.zeros_like(l1.relation.vector)
    torch.testing.assert_close(um.score_triples(triples), l2.score_triples(triples) ** 2, atol=1e-12, rtol=1e-9)


def test_low_rank_matrices_are_those_of_the_score() -> None:
    low = made("transa-lowrank")
    low.relation["metric"] = torch.rand_like(low.relation.metric)
    full = made("transa-full")
    matrices = torch.from_numpy(np.stack([low.metric_matrix(relation) for relation in range(RELATIONS)]))
    full.entity, full.relation = low.entity, Rows(vector=low.relation.vector, metric=matrices)
    triples = torch.cartesian_prod(torch.arange(ENTITIES), torch.arange(RELATIONS), torch.arange(ENTITIES))
    torch.testing.assert_close(low.score_triples(triples), full.score_triples(triples))


VECTORS = hnp.arrays(np.float64, 3, elements=st.floats(-10, 10))
FACTORS = hnp.arrays(np.float64, (3, 3), elements=st.floats(0, 3))


def norm(metric: np.ndarray, e: np.ndarray) -> float:
    model = build("transa", 2, 1, 3, root=True)
    zero = rows(vector=np.zeros(3).tolist())
    relation = Rows(vector=zero.vector, metric=torch.from_numpy(metric))
    return float(model.score(Rows(vector=torch.from_numpy(e)), relation, zero))


@given(FACTORS, VECTORS, st.floats(-5, 5))
def test_n_r_is_non_negative_and_homogeneous_for_every_non_negative_metric(factor, e, scale) -> None:
    metric = factor + factor.T
    assert norm(metric, e) >= 0
    assert norm(metric, scale * e) == pytest.approx(abs(scale) * norm(metric, e), abs=1e-9, rel=1e-9)


@given(FACTORS, VECTORS, VECTORS)
def test_n_r_is_a_norm_where_the_metric_is_also_positive_definite(factor, first, second) -> None:
    metric = factor @ factor.T + 0.1 * np.eye(3)  # entries >= 0 and positive definite
    assert norm(metric, first + second) <= norm(metric, first) + norm(metric, second) + 1e-9
    if np.abs(first).max() > 1e-3:
        assert norm(metric, first) > 1e-6


def test_n_r_is_no_norm_where_the_metric_is_indefinite() -> None:
    crossed = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    one, other = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    assert norm(crossed, one) == pytest.approx(0, abs=1e-9)  # not zero, yet of length zero
    assert norm(crossed, one + other) == pytest.approx(2**0.5)  # and the sum is longer than the parts together


def test_transm_weighs_relations_by_their_answers() -> None:
    model = made("transm")
    model.weigh(torch.tensor([1.0, 10.0, 0.0]), torch.tensor([1.0, 5.0, 0.0]))
    expected = 1 / torch.log(torch.tensor([2.0, 15.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(model.relation.weight, expected)


@pytest.mark.parametrize(
    ("name", "options", "field"),
    [
        ("transe", {"norm": 3}, "norm"),
        ("transa", {"metric": "epoch"}, "metric"),
        ("trnase", {}, "did you mean 'transe'"),
    ],
)
def test_wrong_options_name_the_field(name: str, options: dict[str, object], field: str) -> None:
    with pytest.raises(InputError, match=field):
        build(name, 2, 2, 4, **options)
