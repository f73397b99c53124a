"""A picture of the weights of each relation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from transa.analysis.drawing import BLUE, GREEN, RED, drawing, shortened
from transa.analysis.weights import TINY, Weights


def plot_weights(found: Weights, target: Path, *, top: int = 20, overwrite: bool = False) -> Path:
    """Draw a row for each relation, with its weights on a logarithmic scale.

    Weights are divided by the median magnitude of their relation, so that rows can be compared. Relations with the most training
    triples come first.

    Parameters
    ----------
    found
        The weights of a model.
    target
        A .png, .svg or .pdf file.
    top
        How many relations to draw.
    overwrite
        Whether to replace a file that is there.
    """
    shown = sorted(found.relations, key=lambda one: (-one.triples, one.relation))[:top]
    with drawing(target, 7.2, 1.3 + 0.26 * len(shown), overwrite=overwrite) as figure:
        axes = figure.subplots()
        for row, one in enumerate(shown):
            values = _scaled(one.decomposition.weights)
            floor = TINY * np.abs(values).max()
            up, down = values > floor, values < -floor
            axes.plot(values[up], np.full(up.sum(), row), "|", color=BLUE, markersize=9, label="weight above 0")
            axes.plot(-values[down], np.full(down.sum(), row), "x", color=RED, markersize=4, label="below 0: magnitude")
            if up.any():
                axes.plot([values.max()], [row], "o", mfc="none", mec=GREEN, mew=1.6, markersize=9, label="largest")
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), [shortened(one.name) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(
            "weight over the median magnitude of the relation's weights\n(over the largest where that is 0; weights of 0 are left out)"
        )
        number = f"{len(shown)} largest of {len(found.relations):,} relations"
        several = f"{len(shown)} relations" if len(shown) == len(found.relations) else number
        axes.set_title(f"Weights of D in $W_r = L D L^T$: {found.model}, k = {found.dim}, {several}", loc="left")
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        figure.legend(once.values(), once.keys(), loc="outside lower center", ncols=3, frameon=False)
    return target


def _scaled(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Divide weights by their median magnitude, or by the largest where the median is 0."""
    sizes = np.abs(weights)
    middle, largest = float(np.median(sizes)), float(sizes.max())
    scaled: npt.NDArray[np.float64] = weights / (middle if middle > TINY * largest else largest or 1.0)
    return scaled
