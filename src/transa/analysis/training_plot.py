"""A picture of a training run: the loss and the validation score, epoch by epoch."""

from __future__ import annotations

from pathlib import Path

from transa.analysis.drawing import BLUE, RED, check_picture, drawing, literal
from transa.training import RunFolder


def plot_training(run: Path, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the log of a run folder.

    Parameters
    ----------
    run
        The run folder.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether to replace a file that is there.
    """
    check_picture(target, overwrite=overwrite)
    folder = RunFolder(run)
    config, recipe = folder.config(), folder.recipe()
    rows = folder.curve()
    scored = [(epoch, score) for epoch, _, score in rows if score is not None]
    source = config.get("source")
    named = source if isinstance(source, str) and source else "a graph"
    with drawing(target, 7, 4, overwrite=overwrite) as figure:
        left = figure.subplots()
        left.plot([epoch for epoch, _, _ in rows], [loss for _, loss, _ in rows], color=BLUE, label="loss")
        left.set_xlabel("epoch")
        left.set_ylabel("mean loss of a positive", color=BLUE)
        left.set_yscale("log")
        if scored:
            right = left.twinx()
            right.plot(*map(list, zip(*scored, strict=True)), "o-", color=RED, markersize=3)
            right.set_ylabel("score on valid", color=RED)
            right.set_ylim(0, 1)
            right.spines["right"].set_visible(True)
        left.set_title(literal(f"{recipe.model} on {named}, k = {recipe.dim}"))
    return target
