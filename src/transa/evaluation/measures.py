"""Measures of decisions, and of how well values separate true from false.

A label of 1 means true; anything else (-1, 0) means false. An undefined measure is None, never NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def decision_measures(labels: npt.NDArray[Any], decisions: npt.NDArray[Any]) -> dict[str, float | None]:
    """Return accuracy, precision, recall and F1 of decisions, which use the same codes as the labels.

    Precision is None if nothing was decided to be true, recall if nothing is true, F1 if both hold.
    """
    true, said = labels == 1, decisions == 1
    both, either = int((true & said).sum()), int((true | said).sum())
    found, wanted = int(said.sum()), int(true.sum())
    return {
        "accuracy": _share(int((true == said).sum()), len(true)),
        "precision": _share(both, found),
        "recall": _share(both, wanted),
        "f1": _share(2 * both, both + either),
    }


def roc_auc(labels: npt.NDArray[Any], values: Values) -> float | None:
    """Return the area under the ROC curve: how often a true item has a higher value than a false one, with ties counted half.

    It is None if all items are true or all are false.
    """
    true = labels == 1
    _, place = np.unique(values, return_inverse=True)
    size = int(place.max()) + 1 if len(place) else 0
    positives, negatives = np.bincount(place[true], minlength=size), np.bincount(place[~true], minlength=size)
    halves = int((positives * (2 * (np.cumsum(negatives) - negatives) + negatives)).sum())
    return _share(halves, 2 * int(positives.sum()) * int(negatives.sum()))


def average_precision(labels: npt.NDArray[Any], values: Values) -> float | None:
    """Return the average precision: the mean over all true items of the precision among items with at least their value.

    Equal values enter together. This is the step-wise area under the precision-recall curve, without interpolation. It is None if all
    items are true or all are false.
    """
    order = np.argsort(values, kind="stable")[::-1]
    ordered, true = values[order], labels[order] == 1
    wanted = int(true.sum())
    if wanted in (0, len(true)):
        return None
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # the last of each run of equal values
    found = np.cumsum(true)[last]
    return float((np.diff(found, prepend=0) * (found / (last + 1))).sum() / wanted)


def wilson_interval(right: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the score interval of Wilson (1927) for a share, given `right` successes in `total` trials."""
    from scipy.stats import binomtest

    if total == 0:
        return 0.0, 1.0
    found = binomtest(right, total).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
