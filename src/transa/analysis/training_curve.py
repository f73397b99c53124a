"""A picture of a training run: the loss and the validation score, round by round."""

from __future__ import annotations

import json
from pathlib import Path

from transa.errors import InputError
from transa.storage import atomic_file
from transa.training import RunFolder


def plot_training(run: Path, target: Path) -> Path:
    """Draw the log of a run folder into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    try:
        rows = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"no readable log ({error})", path=run) from None
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    left.plot([row["round"] for row in rows], [row["loss"] for row in rows], color="#0072B2", label="loss")
    left.set_xlabel("round")
    left.set_ylabel("mean loss of a positive", color="#0072B2")
    left.set_yscale("log")
    scored = [row for row in rows if row["validation"] is not None]
    if scored:
        right = left.twinx()
        right.plot(
            [row["round"] for row in scored], [row["validation"] for row in scored], "o-", color="#D55E00", markersize=3
        )
        right.set_ylabel("score on valid", color="#D55E00")
        right.set_ylim(0, 1)
    config = RunFolder(run).config()
    left.set_title(f"{config['recipe']['model']} on {config.get('source') or 'a graph'}, k = {config['recipe']['dim']}")
    with atomic_file(target, overwrite=True) as file:
        figure.savefig(file, format="png", dpi=120)
    return target
