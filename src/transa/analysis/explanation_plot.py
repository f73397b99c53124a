"""A picture of an explanation: the sentence, which dimensions carry the score, and where the triple ranks."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from transa.analysis.drawing import BLUE, GREEN, GREY, RED, check_picture, drawing, literal
from transa.inference.explain import Explanation
from transa.inference.explanation_text import views
from transa.inference.trained import Trained
from transa.readable import one_line

#: How many dimensions are drawn.
SHOWN = 15


def plot_explanation(trained: Trained, found: Explanation, target: Path, *, overwrite: bool = False) -> Path:
    """Draw how much each of the first dimensions adds to the score, and where the score lies among those of all answers.

    Parameters
    ----------
    trained, found
        A trained model, and its explanation of a triple.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether to replace a file that is there.
    """
    check_picture(target, overwrite=overwrite)
    shown = views(found)  # none that one dimension fills
    triple = trained.triple(found.triple.head, found.triple.relation, found.triple.tail)
    every = triple.repeat(trained.model.num_entities, axis=0)
    every[:, 0 if found.side == "head" else 2] = np.arange(len(every))
    scores = trained.scores(every)
    known = trained.facts.contains(every)
    with drawing(target, 6 + 3.5 * len(shown), 4.5, overwrite=overwrite) as figure:
        *panels, right = figure.subplots(1, 1 + len(shown), squeeze=False)[0]
        for panel, (title, dimensions) in zip(panels, shown.items(), strict=True):
            rows = dimensions[:SHOWN][::-1]
            colours = [BLUE if row["part"] >= 0 else RED for row in rows]
            panel.barh(range(len(rows)), [row["part"] for row in rows], color=colours)
            panel.set_yticks(range(len(rows)), [str(row["dimension"]) for row in rows])
            panel.set_xlabel("part of the score")
            panel.set_ylabel(textwrap.fill(title.partition(";")[0], 40))
            panel.set_title("What carries the score")
        bins = np.linspace(scores.min(), scores.max() + 1e-12, 41)
        right.hist([scores[known], scores[~known]], bins=bins, stacked=True, color=[GREEN, "#BBBBBB"], log=True)
        lines = [(right.axvline(found.triple.score, color=RED), "this triple")]
        if found.triple.threshold is not None:
            lines.append((right.axvline(found.triple.threshold, color=GREY, linestyle="--"), "threshold"))
        asked = "(each entity, relation, tail)" if found.side == "head" else "(head, relation, each entity)"
        right.set_xlabel(f"score of {asked}")
        right.set_ylabel("entities")
        rank = found.head_rank if found.side == "head" else found.tail_rank
        right.set_title(f"Rank {rank.filtered:g} of the {found.side} (filtered)")
        patches = [right.fill([], [], color=colour)[0] for colour in (GREEN, "#BBBBBB")]
        figure.legend(
            [*(line for line, _ in lines), *patches],
            [*(name for _, name in lines), f"known {found.side}s", "other entities"],
            loc="outside lower right",
            ncols=4,
            frameon=False,
        )
        figure.suptitle(literal(textwrap.fill(one_line(found.sentence), 50 + 35 * len(shown))), fontsize=9)
    return target
