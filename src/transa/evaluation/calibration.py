"""Calibration: from the margin of a triple to the probability that it is true.

The margin of a triple is threshold - score: above 0 if the triple is classified as true, and higher for more plausible triples.
Calibrators are fitted on the margins and labels of the validation split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from transa.choices import Calibration
from transa.errors import InputError, quote
from transa.evaluation.measures import Values

Method = Calibration
METHODS: tuple[Method, ...] = get_args(Method)

#: Number of bins of equal width in which probabilities are compared with shares of true triples.
BINS = 10


class Calibrator(ABC):
    """Turns margins into probabilities.

    See Also
    --------
    Isotonic : any rising curve; needs many validation triples.
    Platt : an S-shaped curve with two parameters; for few validation triples.
    """

    method: ClassVar[Method]

    @classmethod
    @abstractmethod
    def fit(cls, margins: Values, labels: npt.NDArray[Any]) -> Self:
        """Fit a calibrator to margins and labels (1 is true)."""

    @abstractmethod
    def probability(self, margins: Values) -> Values:
        """Return for each margin the probability that a triple with it is true."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` makes the same calibrator from them."""

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Calibrator:
        """Return the calibrator that `to_dict` described.

        Raises
        ------
        InputError
            If the values do not describe a calibrator.
        """
        kind = calibrator_class(values.get("method"))
        given = {name: value for name, value in values.items() if name != "method"}
        try:
            return kind(**given)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"not a calibrator: {error}") from None


@dataclass(frozen=True)
class Isotonic(Calibrator):
    """The rising step function nearest to the labels, with straight lines between its steps (Zadrozny and Elkan 2002).

    Attributes
    ----------
    margins
        Where the steps begin and end, in rising order.
    values
        The probability at each margin. It is constant below the first and above the last.
    """

    method: ClassVar[Method] = "isotonic"
    margins: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        margins, values = (tuple(map(float, column)) for column in (self.margins, self.values))
        rising = all(np.all(np.diff(column) >= 0) and np.isfinite(column).all() for column in (margins, values))
        if not margins or len(margins) != len(values) or not rising or values[0] < 0 or values[-1] > 1:
            raise ValueError("expected rising margins and as many rising probabilities")
        object.__setattr__(self, "margins", margins)
        object.__setattr__(self, "values", values)

    @classmethod
    def fit(cls, margins: Values, labels: npt.NDArray[Any]) -> Self:
        """Pool neighbours until the share of true triples never falls from one pool to the next."""
        from scipy.optimize import isotonic_regression

        _check_not_empty(margins)
        distinct, place, triples = np.unique(margins, return_inverse=True, return_counts=True)
        share = np.bincount(place, weights=labels == 1) / triples
        found = isotonic_regression(share, weights=triples)
        ends = np.union1d(found.blocks[:-1], found.blocks[1:] - 1)  # the first and the last margin of each pool
        return cls(tuple(distinct[ends]), tuple(found.x[ends]))

    def probability(self, margins: Values) -> Values:
        """Return for each margin the probability that a triple with it is true."""
        found: Values = np.interp(margins, self.margins, self.values)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"method": self.method, "margins": list(self.margins), "values": list(self.values)}


@dataclass(frozen=True)
class Platt(Calibrator):
    """1 / (1 + exp(-(slope * margin + intercept))) (Platt 1999).

    It is fitted to the labels (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2) instead of 1 and 0, for n₊ true and n₋ false triples. So the slope
    stays finite if the margins separate them without error.
    """

    method: ClassVar[Method] = "platt"
    slope: float
    intercept: float

    def __post_init__(self) -> None:
        for name in ("slope", "intercept"):
            value = float(getattr(self, name))
            if not np.isfinite(value):
                raise ValueError(f"{name}: expected a number, found {value}")
            object.__setattr__(self, name, value)

    @classmethod
    def fit(cls, margins: Values, labels: npt.NDArray[Any]) -> Self:
        """Minimise the cross-entropy by Newton's method, on margins of mean 0 and deviation 1."""
        from scipy.special import expit, logit

        _check_not_empty(margins)
        true = labels == 1
        targets = np.where(true, (true.sum() + 1) / (true.sum() + 2), 1 / ((~true).sum() + 2))
        centre, deviation = float(margins.mean()), float(margins.std())
        level = float(logit(targets.mean()))
        if deviation == 0:  # all margins are equal: only the share of true triples counts
            return cls(0.0, level)
        columns = np.stack([(margins - centre) / deviation, np.ones(len(margins))], axis=1)
        weights = np.array([0.0, level])
        loss = _cross_entropy(columns @ weights, targets)
        for _ in range(100):
            chances = expit(columns @ weights)
            gradient = columns.T @ (chances - targets)
            curvature = (columns * (chances * (1 - chances))[:, None]).T @ columns + 1e-12 * np.eye(2)
            step = np.linalg.solve(curvature, gradient)
            length, promised = 1.0, float(gradient @ step)
            while length > 1e-10:
                moved = weights - length * step
                lower = _cross_entropy(columns @ moved, targets)
                if lower <= loss - 1e-4 * length * promised:
                    break
                length /= 2
            else:
                break  # no step lowers the loss any more: rounding is the limit
            weights, loss = moved, lower
            if promised <= 1e-12 * len(margins):  # each step squares the error, so this one is the last
                break
        return cls(float(weights[0] / deviation), float(weights[1] - weights[0] * centre / deviation))

    def probability(self, margins: Values) -> Values:
        """Return for each margin the probability that a triple with it is true."""
        from scipy.special import expit

        found: Values = expit(self.slope * np.asarray(margins, dtype=np.float64) + self.intercept)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"method": self.method, "slope": self.slope, "intercept": self.intercept}


def calibrator_class(method: object) -> type[Calibrator]:
    """Return the class of calibrator that a method names."""
    if method == "isotonic":
        return Isotonic
    if method == "platt":
        return Platt
    raise InputError(f"calibration: expected one of {', '.join(METHODS)}, found {quote(method)}")


def best_calibrator(margins: Values, labels: npt.NDArray[Any], folds: int = 5) -> Calibrator:
    """Fit the kind of calibrator that does best in cross-validation: the one with the lower cross-entropy on triples left out."""
    _check_not_empty(margins)
    part = np.random.default_rng(0).permutation(len(margins)) % folds
    edge = 1 / (len(margins) + 2)
    losses = {}
    for kind in (Platt, Isotonic):  # the first of equally good ones
        chances = np.empty(len(margins))
        for fold in np.unique(part).tolist():
            left = part == fold
            kept = ~left if not left.all() else left
            chances[left] = kind.fit(margins[kept], labels[kept]).probability(margins[left])
        right = np.clip(np.where(labels == 1, chances, 1 - chances), edge, 1)
        losses[kind] = -float(np.log(right).sum())
    return min(losses, key=lambda kind: losses[kind]).fit(margins, labels)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Probabilities in bins of equal width, beside the share of true triples in each.

    Attributes
    ----------
    count
        Triples in each bin. A bin includes its lower border; the last also includes 1.
    true
        How many of them are true.
    predicted
        Their mean probability, NaN for an empty bin.
    """

    count: npt.NDArray[np.int64]
    true: npt.NDArray[np.int64]
    predicted: Values

    @classmethod
    def of(cls, probabilities: Values, labels: npt.NDArray[Any], bins: int = BINS) -> Reliability:
        """Sort probabilities into bins."""
        place = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
        count = np.bincount(place, minlength=bins)
        total = np.bincount(place, weights=probabilities, minlength=bins)
        predicted = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return cls(count, np.bincount(place[labels == 1], minlength=bins), predicted)

    @property
    def error(self) -> float | None:
        """The expected calibration error: the mean over triples of |share of true triples - mean probability| in their bin."""
        filled = self.count > 0
        if not filled.any():
            return None
        gaps = np.abs(self.true[filled] - self.count[filled] * self.predicted[filled])
        return float(gaps.sum() / self.count.sum())


def brier_score(probabilities: Values, labels: npt.NDArray[Any]) -> float | None:
    """Return the mean squared distance of the probabilities from 1 (true) or 0 (false)."""
    return float(np.mean((probabilities - (labels == 1)) ** 2)) if len(probabilities) else None


def _cross_entropy(logits: Values, targets: Values) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).sum())


def _check_not_empty(margins: Values) -> None:
    if not len(margins):
        raise InputError("calibration needs labelled triples, and there are none")
