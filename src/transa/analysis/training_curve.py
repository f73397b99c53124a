"""A picture of a training run: the loss and the validation score, epoch by epoch."""

from __future__ import annotations

import json
from pathlib import Path

from transa.errors import InputError
from transa.format1 import upgrade
from transa.storage import atomic_file, read_small
from transa.training import RunFolder


def plot_training(run: Path, target: Path) -> Path:
    """Draw the log of a run folder into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder = RunFolder(run)
    config, recipe = folder.config(), folder.recipe()
    try:
        lines = (upgrade(json.loads(line)) for line in read_small(folder.place("log.jsonl")).splitlines())
        rows = [(float(line["epoch"]), float(line["loss"]), line["validation"]) for line in lines]
        scored = [(number, float(score)) for number, _, score in rows if score is not None]
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"no readable log ({error})", path=run) from None
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    left.plot([number for number, _, _ in rows], [loss for _, loss, _ in rows], color="#0072B2", label="loss")
    left.set_xlabel("epoch")
    left.set_ylabel("mean loss of a positive", color="#0072B2")
    left.set_yscale("log")
    if scored:
        right = left.twinx()
        right.plot(*map(list, zip(*scored, strict=True)), "o-", color="#D55E00", markersize=3)
        right.set_ylabel("score on valid", color="#D55E00")
        right.set_ylim(0, 1)
    source = config.get("source")
    named = source if isinstance(source, str) and source else "a graph"
    left.set_title(f"{recipe.model} on {named}, k = {recipe.dim}", parse_math=False)
    with atomic_file(target, overwrite=True) as file:
        figure.savefig(file, format="png", dpi=120)
    return target
