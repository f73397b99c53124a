"""Logistic regression with an offset for each group, shrunk towards 0 where a group has few rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.evaluation.measures import Values

#: The strengths of shrinkage that cross-validation chooses from: how many rows of even odds an offset of 0 is worth, about.
STRENGTHS = (1e9, 100.0, 20.0, 5.0)

#: The penalty on the weights of standardised columns.
RIDGE = 1.0

#: Keeps chances a rounding error below 1.
EXACT = 1 - 1e-12

#: How many true rows a piece of a curve has at least, and how much log-odds still rise where it is level, which keeps their order.
ENOUGH, TILT = 100, 1e-3

#: Parts of the cross-validation.
FOLDS = 4


@dataclass(frozen=True)
class Logistic:
    """The log-odds level + weights · columns + the offset of the group.

    Attributes
    ----------
    level, weights
        In the units of the columns.
    offsets
        By group; a group without one has 0.
    curve
        Log-odds and what they become, both rising: what the rows left out in cross-validation say of them. Empty if they are few.
    """

    level: float
    weights: tuple[float, ...]
    offsets: dict[int, float]
    curve: tuple[tuple[float, float], ...] = ()

    @classmethod
    def fit(
        cls,
        columns: Values,
        labels: npt.NDArray[np.bool_],
        rows_weights: Values,
        groups: npt.NDArray[np.int64],
        questions: npt.NDArray[np.int64],
        found: float = 1.0,
    ) -> Logistic:
        """Minimise the weighted cross-entropy; how far offsets are shrunk is chosen by cross-validation.

        Labels are smoothed as for `Platt`, so odds stay finite on few rows.

        Parameters
        ----------
        columns
            Of shape (rows, columns), at least one row.
        labels, rows_weights
            What is true, and how much each row counts.
        groups
            Whole numbers from 0.
        questions
            Rows of the same question go into the same part of the cross-validation.
        found
            Of the rows that are true, the share that is labelled so; the others look false.
        """
        centre, deviation = columns.mean(0), columns.std(0)
        deviation[deviation < 1e-9] = 1.0
        scaled = np.column_stack([np.ones(len(columns)), (columns - centre) / deviation])
        part = questions % FOLDS
        losses = dict.fromkeys(STRENGTHS, 0.0)
        apart = {strength: np.zeros(len(columns)) for strength in STRENGTHS}  # the log-odds of rows that were left out
        for fold in range(FOLDS):
            kept, left = part != fold, part == fold
            if not kept.any() or not left.any():
                continue
            targets, weights = _smoothed(labels[kept], rows_weights[kept]), rows_weights[kept]
            fitted = _weights(scaled[kept], targets, weights, found)
            for strength in STRENGTHS:
                data = (scaled[kept] @ fitted, targets, weights, groups[kept])
                logits = scaled[left] @ fitted + _offsets(*data, strength, int(groups.max()), found)[groups[left]]
                apart[strength][left] = logits
                losses[strength] += _loss(logits, labels[left].astype(np.float64), rows_weights[left], found)
        strength = min(STRENGTHS, key=lambda each: losses[each])
        targets = _smoothed(labels, rows_weights)
        fitted = _weights(scaled, targets, rows_weights, found)
        offsets = _offsets(scaled @ fitted, targets, rows_weights, groups, strength, int(groups.max()), found)
        weights = fitted[1:] / deviation
        present = np.unique(groups).tolist() if strength < STRENGTHS[0] else []
        curve = _curve(apart[strength], labels, rows_weights, found)
        return cls(
            float(fitted[0] - weights @ centre),
            tuple(weights.tolist()),
            {each: float(offsets[each]) for each in present},
            curve,
        )

    def logits(self, columns: Values, groups: npt.NDArray[Any]) -> Values:
        """Return the log-odds of each row."""
        offsets = np.array([self.offsets.get(group, 0.0) for group in groups.tolist()], float)
        found: Values = columns @ np.array(self.weights) + self.level + offsets
        if not self.curve:
            return found
        places, values = np.array(self.curve).T
        below = np.minimum(found - places[0], 0)  # under the curve, log-odds fall as before
        bent: Values = np.interp(found, places, values) + below + TILT * found
        return bent

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        offsets = {str(group): offset for group, offset in self.offsets.items()}
        curve = [list(point) for point in self.curve]
        return {"level": self.level, "weights": list(self.weights), "offsets": offsets, "curve": curve}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], columns: int) -> Logistic:
        """Return the object that `to_dict` described; raise a `ValueError` if it has not so many columns, or is no such object."""
        offsets = {int(group): float(offset) for group, offset in values["offsets"].items()}
        level, weights = float(values["level"]), tuple(map(float, values["weights"]))
        curve = tuple((float(place), float(value)) for place, value in values["curve"])
        if len(weights) != columns or not np.isfinite([level, *weights, *offsets.values(), *sum(curve, ())]).all():
            raise ValueError(f"expected {columns} finite weights")
        return cls(level, weights, offsets, curve)


def _loss(logits: Values, targets: Values, weights: Values, found: float) -> float:
    """Return the cross-entropy, where `found` * the logistic curve is the chance of a label."""
    from scipy.special import expit, log_expit

    return float(-weights @ (targets * log_expit(logits) + (1 - targets) * np.log1p(-found * expit(logits) * EXACT)))


def _slopes(logits: Values, targets: Values, weights: Values, found: float) -> tuple[Values, Values]:
    """Return the derivative of each row's loss by its log-odds, and the expected second one."""
    from scipy.special import expit

    chances = expit(logits)
    said = found * chances * EXACT
    left = (1 - chances) / (1 - said)
    return weights * (said - targets) * left, weights * said * (1 - chances) * left


def _curve(
    logits: Values, labels: npt.NDArray[np.bool_], weights: Values, found: float
) -> tuple[tuple[float, float], ...]:
    """Return which log-odds fit rows that were left out: straight pieces, drawn towards the log-odds as they are.

    The highest log-odds are those of answers that people look at. So the `ENOUGH` true rows with the highest ones share one value, and
    pieces hold as many true rows next to them, then twice as many, and so on.
    """
    true = int(labels.sum())
    counts = [ENOUGH << place for place in range(true.bit_length()) if ENOUGH << place < true]
    if len(counts) < 2:
        return ()
    knots = np.unique(np.quantile(logits[labels], 1 - np.array(counts) / true))
    bounded, unit = np.minimum(logits, knots[-1]), max(float(logits.std()), 1e-9)

    def columns(at: Values) -> Values:
        return np.column_stack([np.ones(len(at)), at / unit, *(np.maximum(at - knot, 0) / unit for knot in knots[:-1])])

    fitted = _weights(columns(bounded), _smoothed(labels, weights), weights, found, bounded)
    places = np.concatenate([[logits.min()], knots])
    values = np.maximum.accumulate(places + columns(places) @ fitted)
    return tuple(zip(places.tolist(), values.tolist(), strict=True))


def _smoothed(labels: npt.NDArray[np.bool_], weights: Values) -> Values:
    true, false = float(weights[labels].sum()), float(weights[~labels].sum())
    return np.where(labels, (true + 1) / (true + 2), 1 / (false + 2))


def _weights(columns: Values, targets: Values, weights: Values, found: float, already: Values | None = None) -> Values:
    """Return the weights of the first column, which is 1, and of the others, by Fisher scoring with steps that lower the loss.

    `already` are log-odds to which the weighted columns are added.
    """
    from scipy.special import logit

    penalty = np.full(columns.shape[1], RIDGE)
    penalty[0] = 1e-9
    fitted = np.zeros(columns.shape[1])
    if already is None:
        rate = float(targets @ weights / max(float(weights.sum()), 1e-12)) / found
        fitted[0] = float(logit(np.clip(rate, 1e-9, 0.9)))
        already = np.zeros(len(columns))

    def loss(at: Values) -> float:
        return _loss(already + columns @ at, targets, weights, found) + float(penalty @ at**2) / 2

    current = loss(fitted)
    for _ in range(100):
        slopes, bends = _slopes(already + columns @ fitted, targets, weights, found)
        gradient = columns.T @ slopes + penalty * fitted
        step = np.linalg.solve((columns * bends[:, None]).T @ columns + np.diag(penalty), gradient)
        length, promised = 1.0, float(gradient @ step)
        while length > 1e-6 and loss(fitted - length * step) > current - 1e-4 * length * promised:
            length /= 2
        if length <= 1e-6:
            break
        fitted = fitted - length * step
        current = loss(fitted)
        if promised <= 1e-9 * max(float(weights.sum()), 1.0):
            break
    return fitted


def _offsets(
    logits: Values,
    targets: Values,
    weights: Values,
    groups: npt.NDArray[np.int64],
    strength: float,
    largest: int,
    found: float,
) -> Values:
    """Return the offset of each group: one-dimensional steps, all groups at once, with a quadratic penalty."""
    offsets = np.zeros(largest + 1)
    for _ in range(50):
        slopes, bends = _slopes(logits + offsets[groups], targets, weights, found)
        slope = np.bincount(groups, slopes, largest + 1) + strength / 4 * offsets
        bend = np.bincount(groups, bends, largest + 1) + strength / 4
        step = np.clip(slope / bend, -1.0, 1.0)
        offsets -= step
        if np.abs(step).max() < 1e-6:
            break
    return offsets
