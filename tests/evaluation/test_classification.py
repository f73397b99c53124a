"""Thresholds and accuracy."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from transa.evaluation import accuracy
from transa.evaluation.classification import best_threshold
from transa.models import build


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([1, -1])), min_size=1, max_size=12))
def test_the_threshold_is_the_best_of_an_exhaustive_search(rows: list[tuple[int, int]]) -> None:
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    threshold, right = best_threshold(scores.astype(float), labels.astype(np.int8))

    def count(border: float) -> int:
        return int(((scores < border) == (labels == 1)).sum())

    assert count(threshold) == right
    assert right == max(count(border) for border in (*np.arange(-4, 5), *(np.arange(-4, 5) + 0.5)))


def test_accuracy_takes_a_threshold_for_each_relation() -> None:
    model = build("um", 4, 2, 1).initialise(0)
    model.entity["vector"] = torch.tensor([[0.0], [1.0], [2.0], [4.0]])
    # Distances from entity 0 are 1, 4 and 16. Relation 0 holds up to 1, relation 1 up to 4: no one threshold fits both.
    triples = np.array([[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3]], dtype=np.int32)
    assert accuracy(model, triples, np.array([1, -1, 1, -1], dtype=np.int8)) == 1.0
    assert accuracy(model, triples, np.array([-1, 1, 1, -1], dtype=np.int8)) == 0.75
