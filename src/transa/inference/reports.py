"""Results as plain values for JSON: what `--json` of a command prints, and what the server sends.

Whoever delivers a report puts the run in front of it: a command the folder, the server the name under which it serves the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transa.inference.answers import Answers
from transa.inference.check import Checks
from transa.inference.explain import Explanation
from transa.inference.neighbours import Neighbours
from transa.inference.rows import Skipped
from transa.inference.trained import Trained


def notes_on_answers(trained: Trained, answers: Sequence[Answers]) -> tuple[str, ...]:
    """Return what a reader of answers should know, each note once."""
    return (*trained.notes, *dict.fromkeys(found.note for each in answers for found in each if found.note))


def report_of_answers(trained: Trained, answers: Sequence[Answers], skipped: Sequence[Skipped] = ()) -> dict[str, Any]:
    """Return the answers to some questions."""
    order = dict.fromkeys(each.order_note for each in answers if each.order_note)
    found = [
        {"question": vars(each.question), "asked": each.question.asked, "answers": list(map(vars, each))}
        for each in answers
    ]
    notes = [*notes_on_answers(trained, answers), *order]
    return {"notes": notes, "skipped": list(map(vars, skipped)), "questions": found}


def report_of_checks(
    trained: Trained, checked: Checks, skipped: Sequence[Skipped] = (), below: int = 0
) -> dict[str, Any]:
    """Return what a model says of triples; `below` is how many were found too improbable."""
    notes = [*trained.notes_on_checks, *checked.notes]
    return {"notes": notes, "skipped": list(map(vars, skipped)), "below": below, "triples": checked.rows()}


def report_of_discoveries(trained: Trained, found: Checks) -> dict[str, Any]:
    """Return facts that were looked for in the whole graph."""
    return {"notes": [*trained.notes, *found.notes], "triples": found.rows()}


def report_of_explanation(trained: Trained, found: Explanation) -> dict[str, Any]:
    """Return why a triple scores as it does."""
    return {"notes": list(trained.notes), **found.report()}


def report_of_neighbours(found: Neighbours) -> dict[str, Any]:
    """Return the entities nearest to one."""
    return {
        "entity": found.entity,
        "relation": found.relation,
        "measure": found.measure,
        "neighbours": found.rows(),
    }
