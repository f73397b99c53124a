"""A picture of a search for settings: the scores of its trials, and which settings counted."""

from __future__ import annotations

from pathlib import Path

from transa.analysis.drawing import BLUE, GREEN, GREY, RED, check_picture, drawing, literal
from transa.tuning import Tuned


def plot_tuning(tuned: Tuned, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the history of a search, and the importance of the settings of its best way of training.

    Parameters
    ----------
    tuned
        The outcome of the search.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether to replace a file that is there.
    """
    check_picture(target, overwrite=overwrite)
    with drawing(target, 9, 4, overwrite=overwrite) as figure:
        history, bars = figure.subplots(1, 2, width_ratios=(3, 2))
        for state, colour, marker, label in (
            ("pruned", GREY, "x", "ended early"),
            ("done", BLUE, "o", "trained to the end"),
        ):
            shown = [(each.number, each.score) for each in tuned.attempts if each.state == state and each.score]
            if shown:
                history.plot(*map(list, zip(*shown, strict=True)), marker, color=colour, markersize=3.5, label=label)
        again = [(each.number, each.score) for each in tuned.attempts if each.state == "done" and each.seed]
        if again:
            rings = {"markerfacecolor": "none", "markersize": 7, "label": "once more, other seed"}
            history.plot(*map(list, zip(*again, strict=True)), "o", color=BLUE, **rings)
        rising = [each for each in tuned.attempts if each.state == "done" and each.score is not None and not each.seed]
        best = [max(each.score or 0 for each in rising[: place + 1]) for place in range(len(rising))]
        places = [*(each.number for each in rising), tuned.attempts[-1].number]
        history.step(places, [*best, best[-1]], where="post", color=GREEN, label="best so far")
        if tuned.default is not None and tuned.default.score is not None:
            history.axhline(tuned.default.score, color=RED, linestyle="--", linewidth=1, label="default")
        history.set_xlabel("trial")
        history.set_ylabel("best score on valid")
        history.legend(loc="lower right")
        history.set_title(literal(f"{tuned.recipe.model}: {len(tuned.attempts):,} trials"))
        if tuned.importance:
            names = list(tuned.importance)[::-1]
            bars.barh(names, [tuned.importance[name] for name in names], color=BLUE)
            bars.set_xlabel("share of the differences between trials")
            bars.set_title(literal(f"settings that counted ({tuned.best.way})"))
        else:
            bars.set_axis_off()
            bars.text(0.5, 0.5, "too few finished trials\nto weigh settings", ha="center", va="center", color=GREY)
    return target
