"""A picture of an explanation: which dimensions carry the score, and where the triple stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from transa.analysis.style import BLUE, GREEN, GREY, RED, SUFFIXES, drawing, literal, save_figure
from transa.data.result_files import check_target
from transa.inference.explain import Explanation
from transa.inference.trained import Trained

#: Dimensions that are drawn.
SHOWN = 15


def plot_explanation(trained: Trained, found: Explanation, target: Path, *, overwrite: bool = False) -> Path:
    """Draw what the first dimensions add to the score, and the score among those of all tails.

    Parameters
    ----------
    trained, found
        A model, and its explanation of a triple.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether it may replace a file.
    """
    check_target(target, SUFFIXES, overwrite=overwrite)
    views = {"dimension": found.residual_dimensions()}
    if found.transformed is not None:
        views["transformed dimension, W = LDL' (its pivot)"] = found.dimensions()
    triple = trained.triple(found.triple.head, found.triple.relation, found.triple.tail)
    every = triple.repeat(trained.model.num_entities, axis=0)
    every[:, 2] = np.arange(len(every))
    scores = trained.scores(every)
    known = trained.facts.contains(every)
    with drawing(13 if found.transformed else 10, 4.5) as figure:
        *panels, right = figure.subplots(1, 1 + len(views))
        for panel, (title, dimensions) in zip(panels, views.items(), strict=True):
            rows = dimensions[:SHOWN][::-1]
            colours = [BLUE if row["part"] >= 0 else RED for row in rows]
            panel.barh(range(len(rows)), [row["part"] for row in rows], color=colours)
            panel.set_yticks(range(len(rows)), [str(row["dimension"]) for row in rows])
            panel.set_xlabel("part of the score")
            panel.set_ylabel(title)
            panel.set_title("What carries the score")
        bins = np.linspace(scores.min(), scores.max() + 1e-12, 41)
        right.hist([scores[known], scores[~known]], bins=bins, stacked=True, color=[GREEN, "#BBBBBB"], log=True)
        lines = [(right.axvline(found.triple.score, color=RED), "this triple")]
        if found.triple.threshold is not None:
            lines.append((right.axvline(found.triple.threshold, color=GREY, linestyle="--"), "threshold"))
        right.set_xlabel("score of (head, relation, each entity)")
        right.set_ylabel("entities")
        right.set_title(f"Rank {found.tail_rank.filtered:g} of the tail (filtered)")
        patches = [right.fill([], [], color=colour)[0] for colour in (GREEN, "#BBBBBB")]
        figure.legend(
            [*(line for line, _ in lines), *patches],
            [*(name for _, name in lines), "known tails", "other entities"],
            loc="outside lower right",
            ncols=4,
            frameon=False,
        )
        figure.suptitle(literal(f"{found.triple.head}, {found.triple.relation}, {found.triple.tail}"))
        return save_figure(figure, target, overwrite=overwrite)
