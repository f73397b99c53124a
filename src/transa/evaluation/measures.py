"""Measures of decisions, and of how well values tell true from false.

Labels are 1 where something is true; anything else (-1, 0) is false. A measure that is not defined is None, never NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def decision_measures(labels: npt.NDArray[Any], decisions: npt.NDArray[Any]) -> dict[str, float | None]:
    """Return accuracy, precision, recall and F1 of decisions, which are coded as the labels are.

    Precision is None where nothing was said to be true, recall where nothing is, F1 where neither.
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
    """Return the area under the ROC curve: how often a true one has a higher value than a false one, ties counted half.

    None where all are true or all are false.
    """
    true = labels == 1
    _, place = np.unique(values, return_inverse=True)
    size = int(place.max()) + 1 if len(place) else 0
    positives, negatives = np.bincount(place[true], minlength=size), np.bincount(place[~true], minlength=size)
    halves = int((positives * (2 * (np.cumsum(negatives) - negatives) + negatives)).sum())
    return _share(halves, 2 * int(positives.sum()) * int(negatives.sum()))


def average_precision(labels: npt.NDArray[Any], values: Values) -> float | None:
    """Return the mean over the true ones of the precision among all with at least their value.

    Equal values enter together. This is the step-wise area under the curve of precision against recall, not its trapezoid. None
    where all are true or all are false.
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
    """Return the score interval of Wilson (1927) for a share of which `right` of `total` were seen."""
    from scipy.stats import binomtest

    if total == 0:
        return 0.0, 1.0
    found = binomtest(right, total).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
