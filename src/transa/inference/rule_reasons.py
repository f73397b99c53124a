"""Rules as reasons: what speaks for a triple, with the facts it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from transa.inference.reasons import Fact, Path
from transa.inference.trained import Trained

if TYPE_CHECKING:
    from transa.kernels.rule_index import RuleIndex
    from transa.rules import Evidence


@dataclass(frozen=True)
class RuleReason:
    """A rule that speaks for a triple.

    Attributes
    ----------
    rule
        The rule, such as ``speaks(X,Y) <= lives_in(X,A), language(A,Y)``.
    holds, cases
        In how many cases of train it holds, of how many.
    confidence
        The share, discounted for few cases.
    path
        The training triples that it rests on here.
    """

    rule: str
    holds: int
    cases: int
    confidence: float
    path: Path

    def __str__(self) -> str:
        return f"{self.path} (such cases hold {self.holds:,} of {self.cases:,} times)"


def rule_reasons(trained: Trained, head: int, relation: int, tail: int, top: int) -> tuple[RuleReason, ...]:
    """Return the strongest rules that speak for a triple; none for a model without rules."""
    evidence = trained.model.evidence
    if evidence is None or head == tail:
        return ()
    from transa.rules.rule_set import rule_text  # loads the compiler, which takes a while

    found = []
    for number in evidence.speaking(head, relation, tail)[:top].tolist():
        rules = evidence.rules
        text = rule_text(rules, number, trained.graph.entities, trained.graph.relations)
        counts = int(rules.support[number]), int(rules.body_size[number]), float(rules.confidence[number])
        found.append(RuleReason(text, *counts, _path(trained, _walk(evidence, number, head, relation, tail))))
    return tuple(found)


def _walk(evidence: Evidence, number: int, head: int, relation: int, tail: int) -> list[tuple[int, int, int]]:
    """Return the steps of a rule's body on which it rests here, each with where it begins and ends."""
    rules = evidence.rules
    steps = [int(step) for step in rules.body[number] if step >= 0]
    if rules.constant[number] < 0:
        return _chain(evidence.index, head, steps, tail) or []
    x = head if int(rules.head[number]) == relation else tail  # the other one is the constant
    known = int(rules.body_constant[number])
    return [(x, steps[0], known if known >= 0 else int(_reached(evidence.index, x, steps[0])[0]))]


def _chain(index: RuleIndex, x: int, steps: list[int], tail: int) -> list[tuple[int, int, int]] | None:
    """Return one way to follow steps from x to the tail, by different entities; None if there is none."""

    def follow(here: int, left: list[int], been: tuple[int, ...]) -> list[tuple[int, int, int]] | None:
        reached = _reached(index, here, left[0])
        if len(left) == 1:
            return [(here, left[0], tail)] if tail in reached else None
        for there in reached.tolist():
            if there in been or there == tail:
                continue
            rest = follow(there, left[1:], (*been, there))
            if rest is not None:
                return [(here, left[0], there), *rest]
        return None

    return follow(x, steps, (x,))


def _reached(index: RuleIndex, entity: int, step: int) -> np.ndarray:
    """Return what a step reaches from an entity."""
    first, last = int(index.first[entity]), int(index.first[entity + 1])
    row = first + int(np.searchsorted(index.steps[first:last], step))
    if row == last or index.steps[row] != step:
        return index.ends[:0]
    found: np.ndarray = index.ends[index.starts[row] : index.starts[row + 1]]
    return found


def _path(trained: Trained, walk: list[tuple[int, int, int]]) -> Path:
    """Return a walk as training triples by name."""
    entities, relations = trained.graph.entities, trained.graph.relations
    facts, forward = [], []
    for here, step, there in walk:
        ahead = step < len(relations)
        head, tail, relation = (here, there, step) if ahead else (there, here, step - len(relations))
        keys = entities[head], relations[relation], entities[tail]
        facts.append(Fact(*keys, entities.name(head), relations.name(relation), entities.name(tail)))
        forward.append(ahead)
    return Path(tuple(facts), tuple(forward))
