"""What the exact scores of ranking rest on."""

from __future__ import annotations

import numpy as np
import pytest

from transa.kernels.exact import heaviest_row


@pytest.mark.parametrize("turned", [False, True])
def test_the_heaviest_row_bounds_the_score_of_a_metric_that_is_not_symmetric(turned: bool) -> None:
    metric = np.zeros((2, 9, 9), np.float32)
    metric[1, :, 0] = -1.0  # no row sum is above 1, and that of the column is 9
    metric = metric.transpose(0, 2, 1).copy() if turned else metric
    value, axes = np.linalg.eigh((np.abs(metric[1]) + np.abs(metric[1]).T) / 2)
    largest = np.abs(axes[:, -1])
    assert heaviest_row(metric, 0) == 0
    assert largest @ np.abs(metric[1]) @ largest == pytest.approx(value[-1])
    assert 1 < value[-1] <= heaviest_row(metric, 1)
