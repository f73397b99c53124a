"""How well scores tell the tails that make a fact from those that make none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.evaluation.measures import roc_auc
from transa.evaluation.thresholds import best_threshold


@dataclass(frozen=True)
class Separation:
    """How well scores separate matched from unmatched tails.

    Attributes
    ----------
    threshold
        A tail with a score below it counts as an answer. Of all thresholds, this one makes the fewest mistakes on these very tails.
    mistakes
        Unmatched tails below the threshold and matched ones above it.
    wrongly_in, wrongly_out
        The two kinds of mistakes, counted each.
    auc
        The probability that a matched tail scores better than an unmatched one.
    """

    threshold: float
    mistakes: int
    wrongly_in: int
    wrongly_out: int
    auc: float

    @classmethod
    def of(cls, scores: npt.NDArray[np.float64], labels: npt.NDArray[np.int8]) -> Separation:
        """Find the threshold with the fewest mistakes."""
        threshold, right = best_threshold(scores, labels)
        within = scores < threshold
        auc = roc_auc(labels, -scores)
        return cls(
            threshold,
            len(labels) - right,
            int((within & (labels == -1)).sum()),
            int((~within & (labels == 1)).sum()),
            float("nan") if auc is None else float(auc),
        )

    @property
    def counted(self) -> str:
        """The number of mistakes in words."""
        return "1 mistake" if self.mistakes == 1 else f"{self.mistakes} mistakes"
