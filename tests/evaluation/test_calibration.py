"""Calibrators against scikit-learn and against what defines them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from transa.errors import InputError
from transa.evaluation import Calibrator
from transa.evaluation.calibration import Isotonic, Platt, Reliability, brier_score

LABELS = st.sampled_from([1, -1])
MARGINS = st.one_of(st.integers(-3, 3).map(float), st.integers(-(10**6), 10**6).map(lambda value: value / 1000))
SCORED = st.lists(st.tuples(LABELS, MARGINS), min_size=1, max_size=40)
GRID = np.linspace(-5, 5, 41)


def columns(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    labels, margins = zip(*rows, strict=True)
    return np.array(margins, dtype=np.float64), np.array(labels, dtype=np.int8)


def made(seed: int = 0, size: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Margins whose labels follow a known probability."""
    random = np.random.default_rng(seed)
    margins = random.normal(0, 2, size)
    return margins, np.where(random.random(size) < 1 / (1 + np.exp(-(1.5 * margins + 0.5))), 1, -1).astype(np.int8)


# ---------------------------------------------------------------------- isotonic


@given(SCORED)
def test_isotonic_is_that_of_scikit_learn(rows: list[tuple[int, float]]) -> None:
    margins, labels = columns(rows)
    expected = IsotonicRegression(out_of_bounds="clip").fit(margins, labels == 1)
    asked = np.concatenate([margins, GRID, margins + 0.3])
    np.testing.assert_allclose(Isotonic.fit(margins, labels).probability(asked), expected.predict(asked), atol=1e-9)


@given(SCORED)
def test_isotonic_rises_and_keeps_the_share_of_true_triples(rows: list[tuple[int, float]]) -> None:
    margins, labels = columns(rows)
    fitted = Isotonic.fit(margins, labels)
    assert (np.diff(fitted.probability(GRID)) >= 0).all()
    assert fitted.probability(margins).mean() == pytest.approx((labels == 1).mean())


def test_neighbours_in_the_wrong_order_are_pooled() -> None:
    fitted = Isotonic.fit(np.array([1.0, 2.0, 3.0, 4.0]), np.array([-1, 1, -1, 1]))
    assert fitted == Isotonic((1.0, 2.0, 3.0, 4.0), (0.0, 0.5, 0.5, 1.0))
    assert fitted.probability(np.array([-9.0, 1.5, 2.5, 9.0])).tolist() == [0.0, 0.25, 0.5, 1.0]


# ---------------------------------------------------------------------- Platt


def targets(labels: np.ndarray) -> np.ndarray:
    true = labels == 1
    return np.where(true, (true.sum() + 1) / (true.sum() + 2), 1 / ((~true).sum() + 2))


@given(SCORED)
def test_platt_lies_where_the_loss_has_no_slope(rows: list[tuple[int, float]]) -> None:
    margins, labels = columns(rows)
    assume(margins.std() > 0)
    gaps = Platt.fit(margins, labels).probability(margins) - targets(labels)
    assert abs(gaps.sum()) < 1e-6 * len(margins)
    assert abs((gaps * (margins - margins.mean()) / margins.std()).sum()) < 1e-6 * len(margins)


def test_platt_is_logistic_regression_on_smoothed_labels() -> None:
    margins, labels = made()
    smooth = targets(labels)
    expected = LogisticRegression(C=1e12, tol=1e-12, max_iter=1000).fit(
        np.tile(margins, 2)[:, None],
        np.repeat([1, 0], len(margins)),
        sample_weight=np.concatenate([smooth, 1 - smooth]),
    )
    fitted = Platt.fit(margins, labels)
    assert (fitted.slope, fitted.intercept) == pytest.approx(
        (float(expected.coef_[0, 0]), float(expected.intercept_[0])), rel=1e-4
    )
    assert fitted.slope == pytest.approx(1.5, abs=0.4)  # what the labels were drawn with


def test_platt_stays_finite_where_margins_part_all_triples() -> None:
    fitted = Platt.fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1, -1, 1, 1]))
    chances = fitted.probability(np.array([-1.5, 1.5]))
    assert chances == pytest.approx([1 / 4, 3 / 4], abs=0.05)  # the smoothed labels of two true and two false triples


def test_platt_on_one_margin_is_the_share_of_true_triples() -> None:
    fitted = Platt.fit(np.full(4, 0.7), np.array([1, 1, 1, -1]))
    assert fitted.slope == 0
    assert fitted.probability(np.array([-100.0, 100.0])) == pytest.approx([(3 * 4 / 5 + 1 / 3) / 4] * 2)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_margins_does_not_matter(scale: float) -> None:
    margins, labels = made()
    np.testing.assert_allclose(
        Platt.fit(margins * scale, labels).probability(margins * scale), Platt.fit(margins, labels).probability(margins)
    )


# ---------------------------------------------------------------------- both


@pytest.mark.parametrize("kind", [Isotonic, Platt])
def test_a_calibrator_comes_back_from_json(kind: type[Calibrator]) -> None:
    fitted = kind.fit(*made())
    back = Calibrator.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert back == fitted
    np.testing.assert_array_equal(back.probability(GRID), fitted.probability(GRID))


@pytest.mark.parametrize("kind", [Isotonic, Platt])
def test_nothing_cannot_be_fitted(kind: type[Calibrator]) -> None:
    with pytest.raises(InputError, match="none"):
        kind.fit(np.empty(0), np.empty(0, np.int8))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "expected one of isotonic, platt, found 'None'"),
        ({"method": "beta"}, "'beta'"),
        ({"method": "platt", "slope": 1.0}, "intercept"),
        ({"method": "platt", "slope": "steep", "intercept": 0.0}, "steep"),
        ({"method": "platt", "slope": float("inf"), "intercept": 0.0}, "slope"),
        ({"method": "isotonic", "margins": [], "values": []}, "rising"),
        ({"method": "isotonic", "margins": [0.0, 1.0], "values": [1.0, 0.0]}, "rising"),
        ({"method": "isotonic", "margins": [0.0, 1.0], "values": [0.5]}, "rising"),
        ({"method": "isotonic", "margins": [0.0], "values": [1.5]}, "probabilities"),
        ({"method": "isotonic", "margins": 3, "values": 4}, "iterable"),
    ],
)
def test_what_describes_no_calibrator_is_an_error(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Calibrator.from_dict(values)


# ---------------------------------------------------------------------- how good


def test_bins_hold_their_lower_border_and_the_last_one_holds_1() -> None:
    found = Reliability.of(np.array([0.0, 0.09, 0.1, 0.95, 1.0]), np.array([-1, 1, 1, 1, 1]))
    assert found.count.tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.true.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    # gaps: |1 - 0.09| of two triples, |1 - 0.1| of one, |2 - 1.95| of two
    assert found.error == pytest.approx((0.91 + 0.9 + 0.05) / 5)


def test_probabilities_that_keep_their_word_have_no_error() -> None:
    assert Reliability.of(np.full(4, 0.75), np.array([1, 1, 1, -1])).error == 0
    assert Reliability.of(np.array([0.0, 1.0]), np.array([1, -1])).error == 1
    assert Reliability.of(np.empty(0), np.empty(0)).error is None


@given(st.lists(st.tuples(LABELS, st.floats(0, 1)), min_size=2, max_size=20))
def test_the_brier_score_is_that_of_scikit_learn(rows: list[tuple[int, float]]) -> None:
    probabilities, labels = columns(rows)
    assert brier_score(probabilities, labels) == pytest.approx(brier_score_loss(labels == 1, probabilities))
