"""New facts that go together: the best set that breaks no constraint, by integer programming (Wang, Wang, Guo 2015)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from transa.data.constraints import Constraints
from transa.errors import InputError
from transa.inference.check import check_ids
from transa.inference.claims import Claims, claims_of
from transa.inference.consistent import (
    RIVAL,
    SECONDS,
    TRUST,
    Rival,
    Solved,
    check_limits,
    constraints_of,
    described,
    rival_of,
    rows_with_rivals,
    shown,
)
from transa.inference.discover import Kept, new_facts
from transa.inference.plausibility import weights_of
from transa.inference.programme import Floats, Solution, solve
from transa.inference.results import Results
from transa.inference.roles import Roles
from transa.inference.trained import Trained
from transa.readable import called
from transa.table import Table, figure


@dataclass(frozen=True)
class NewFact:
    """A new fact of a consistent set.

    Attributes
    ----------
    head, relation, tail
        Keys.
    score
        The model's score; lower is more plausible.
    probability
        As `transa.inference.discover` has it; None if there is none.
    weight
        What the fact adds to the objective: (threshold - score) / scale, and the logarithms of how well its entities fit.
    follows_from
        A taken fact that implies it, as people read it; None if none does.
    removed
        How many plausible claims it excludes.
    rival
        The most plausible of these, and the constraint.
    head_name, relation_name, tail_name
        Readable names.
    """

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    weight: float
    follows_from: str | None
    removed: int
    rival: Rival | None
    head_name: str
    relation_name: str
    tail_name: str


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("head", "relation", "tail")),
        *((name, pa.float64()) for name in ("score", "probability", "weight")),
        ("follows_from", pa.string()),
        ("removed", pa.int64()),
        *RIVAL,
        *((f"{name}_name", pa.string()) for name in ("head", "relation", "tail")),
    ]
)


@dataclass(frozen=True, repr=False)
class Completion(Results[NewFact]):
    """New facts that go together, the most probable first, and how they were found."""

    field_of_rows: ClassVar[str] = "facts"
    schema: ClassVar[pa.Schema] = SCHEMA

    facts: tuple[NewFact, ...]
    solved: Solved

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""
        return rows_with_rivals(self.facts, SCHEMA)

    def table(self, *, full: bool = False) -> Table:
        """Return the facts as people read them; `full` shows IRIs in full."""
        rows = [
            (
                called(each.head, each.head_name, full=full),
                called(each.relation, each.relation_name, full=full),
                called(each.tail, each.tail_name, full=full),
                figure(each.probability, ".3f"),
                figure(each.score),
                figure(each.weight, ".2f"),
                "; ".join(
                    [
                        *([] if each.follows_from is None else [f"follows from {each.follows_from}"]),
                        *([] if each.rival is None else [f"excludes {each.rival}"]),
                    ]
                ),
            )
            for each in self.facts
        ]
        header = ("head", "relation", "tail", "prob.", "score", "weight", "why")
        return Table(f"{len(self):,} new facts that go together", header, tuple(rows))


def complete(
    trained: Trained,
    constraints: Constraints | str | Path | None = None,
    *,
    each: int = 10,
    candidates: int = 10_000,
    trust: float = TRUST,
    seconds: float = SECONDS,
    callback: Callable[[int], None] | None = None,
) -> Completion:
    """Return the best set of new facts that breaks no constraint.

    Of the most plausible new facts, what follows from them and the known facts, it takes those that together have the greatest weight.
    A known fact may be given up, if what it excludes outweighs it.

    Parameters
    ----------
    trained
        The model that scores.
    constraints
        Functional relations, implications and types, or a file of them (`transa.inference.constraint_files`). By default they are mined
        from train (`transa.data.constraints.mine_constraints`).
    each
        How many answers to each (head, relation, ?) to consider.
    candidates
        How many new facts to consider, the most plausible ones.
    trust
        What a known fact weighs beyond what the model says of it.
    seconds
        How long to search; the result says how far it may then be from the best.
    callback
        Called as by `transa.inference.discover`.
    """
    for name, value in (("each", each), ("candidates", candidates)):
        if value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    check_limits(trust, seconds)
    rules = constraints_of(trained, constraints)
    claims = claims_of(trained, rules, new_facts(trained, Kept(candidates, each), callback=callback)[:candidates])
    weights = weights_of(trained, Roles(trained.graph), claims.triples)
    found = solve(weights + trust * claims.known, claims.rows, seconds=seconds)
    return Completion(_facts(trained, claims, weights, found), Solved.of(claims, found))


def _facts(trained: Trained, claims: Claims, weights: Floats, found: Solution) -> tuple[NewFact, ...]:
    chosen = np.flatnonzero(found.taken & ~claims.known)
    checked = check_ids(trained, claims.triples[chosen], as_answers=True)
    facts = []
    for claim, each in zip(chosen.tolist(), checked, strict=True):
        excluded: list[tuple[float, int, int]] = []
        follows: list[tuple[float, int]] = []
        for row in claims.rows_of(claim).tolist():
            members, signs = claims.members(row)
            if claims.reasons[row].kind != "implies":
                others = [int(other) for other in members if not found.taken[other] and weights[other] > 0]
                excluded += [(float(weights[other]), other, row) for other in others]
            elif signs[members == claim][0] < 0:
                follows += [(float(weights[body]), int(body)) for body in members[signs > 0] if found.taken[body]]
        rival = None
        if excluded:
            _, other, row = max(excluded)
            rival = rival_of(trained, described(trained, claims.reasons[row]), _ids(claims, other), _ids(claims, claim))
        facts.append(
            NewFact(
                *(each.head, each.relation, each.tail, each.score, each.probability, float(weights[claim])),
                shown(trained, _ids(claims, max(follows)[1])) if follows else None,
                len({other for _, other, _ in excluded}),
                rival,
                *(each.head_name, each.relation_name, each.tail_name),
            )
        )
    return tuple(sorted(facts, key=lambda fact: (-(fact.probability or 0.0), -fact.weight)))


def _ids(claims: Claims, claim: int) -> tuple[int, int, int]:
    head, relation, tail = claims.triples[claim].tolist()
    return head, relation, tail
