"""Measures against scikit-learn, and against what defines them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics

from transa.evaluation.measures import average_precision, decision_measures, roc_auc, wilson_interval

LABELS = st.sampled_from([1, -1])
#: Small whole numbers, so that ties are common, and other numbers.
VALUES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
SCORED = st.lists(st.tuples(LABELS, VALUES), min_size=1, max_size=40)


def columns(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    labels, values = zip(*rows, strict=True)
    return np.array(labels, dtype=np.int8), np.array(values, dtype=np.float64)


@given(SCORED)
def test_auc_and_average_precision_are_those_of_scikit_learn(rows: list[tuple[int, float]]) -> None:
    labels, values = columns(rows)
    assume(len(set(labels.tolist())) == 2)
    assert roc_auc(labels, values) == pytest.approx(metrics.roc_auc_score(labels, values), abs=1e-12)
    assert average_precision(labels, values) == pytest.approx(
        metrics.average_precision_score(labels, values), abs=1e-12
    )


@given(SCORED)
def test_only_the_order_of_values_counts(rows: list[tuple[int, float]]) -> None:
    labels, values = columns(rows)
    ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
    assert roc_auc(labels, ranks) == roc_auc(labels, values)
    assert average_precision(labels, ranks) == average_precision(labels, values)
    turned = roc_auc(labels, -values)
    assert turned is None or turned == pytest.approx(1 - roc_auc(labels, values))  # type: ignore[operator]


def test_known_answers() -> None:
    labels = np.array([1, -1, 1, -1])
    assert roc_auc(labels, np.array([4.0, 3.0, 2.0, 1.0])) == 0.75
    assert average_precision(labels, np.array([4.0, 3.0, 2.0, 1.0])) == pytest.approx((1 + 2 / 3) / 2)
    assert roc_auc(labels, np.zeros(4)) == 0.5
    assert average_precision(labels, np.zeros(4)) == 0.5


@pytest.mark.parametrize("labels", [[], [1], [-1], [1, 1], [-1, -1]])
def test_one_class_has_neither_auc_nor_average_precision(labels: list[int]) -> None:
    values = np.arange(len(labels), dtype=np.float64)
    assert roc_auc(np.array(labels), values) is None
    assert average_precision(np.array(labels), values) is None


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30))
def test_decisions_are_measured_as_scikit_learn_measures_them(rows: list[tuple[int, int]]) -> None:
    labels, said = (np.array(column) for column in zip(*rows, strict=True))
    found = decision_measures(labels, said)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(labels, said))
    for name, measure, defined in (
        ("precision", metrics.precision_score, (said == 1).any()),
        ("recall", metrics.recall_score, (labels == 1).any()),
        ("f1", metrics.f1_score, (said == 1).any() or (labels == 1).any()),
    ):
        assert found[name] == (pytest.approx(measure(labels, said, zero_division=0)) if defined else None)


@pytest.mark.parametrize(("right", "total"), [(0, 10), (10, 10), (3, 7), (850, 1000), (1, 1)])
def test_the_interval_is_wilsons(right: int, total: int) -> None:
    """Its ends are the shares from which what was seen is 1.96 standard deviations away, or the end of all shares."""
    z = NormalDist().inv_cdf(0.975)
    for end in wilson_interval(right, total):
        assert end in (0, 1) or (right / total - end) ** 2 == pytest.approx(z * z * end * (1 - end) / total, rel=1e-9)
    low, high = wilson_interval(right, total)
    assert 0 <= low <= right / total <= high <= 1
    assert (low == 0, high == 1) == (right == 0, right == total)


def test_nothing_seen_leaves_everything_possible() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
