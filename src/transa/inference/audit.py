"""Known facts that look wrong: those that the constraints speak against, and those that the model would answer otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data.constraints import Constraints
from transa.errors import InputError
from transa.inference.against import Against, against_of
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
)
from transa.inference.plausibility import FITTING, Standing, standing_of, weights_of
from transa.inference.programme import Floats, solve
from transa.inference.results import Results
from transa.inference.roles import Roles
from transa.inference.trained import Trained
from transa.readable import called
from transa.table import Table, figure

#: Below this fit, a role that nothing else speaks for is a reason for doubt.
MISFIT = 0.2


@dataclass(frozen=True)
class Doubt:
    """A known fact, and what speaks against it.

    Attributes
    ----------
    head, relation, tail
        Keys.
    score
        The model's score; lower is more plausible.
    probability
        As if the fact were new; None if there is none.
    given_up
        Whether the best consistent set of claims does without the fact: its slack is used.
    doubt
        What the objective gains without the fact, all other claims being as they are: above 0 it would rather be dropped.
    conflicts
        How many claims a constraint sets against the fact.
    rival
        What speaks most against it: a claim and the constraint between them, a better new answer, or a role that does not fit.
    head_name, relation_name, tail_name
        Readable names.
    """

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    given_up: bool
    doubt: float
    conflicts: int
    rival: Rival | None
    head_name: str
    relation_name: str
    tail_name: str


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("head", "relation", "tail")),
        ("score", pa.float64()),
        ("probability", pa.float64()),
        ("given_up", pa.bool_()),
        ("doubt", pa.float64()),
        ("conflicts", pa.int64()),
        *RIVAL,
        *((f"{name}_name", pa.string()) for name in ("head", "relation", "tail")),
    ]
)


@dataclass(frozen=True, repr=False)
class Audit(Results[Doubt]):
    """Known facts, the most doubtful first, and how the claims were weighed against each other."""

    field_of_rows: ClassVar[str] = "doubts"
    schema: ClassVar[pa.Schema] = SCHEMA

    doubts: tuple[Doubt, ...]
    solved: Solved

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""
        return rows_with_rivals(self.doubts, SCHEMA)

    def table(self, *, full: bool = False) -> Table:
        """Return the facts as people read them; `full` shows IRIs in full."""
        rows = [
            (
                called(each.head, each.head_name, full=full),
                called(each.relation, each.relation_name, full=full),
                called(each.tail, each.tail_name, full=full),
                "yes" if each.given_up else "",
                figure(each.doubt, ".2f"),
                figure(each.probability, ".3f"),
                "" if each.rival is None else str(each.rival),
            )
            for each in self.doubts
        ]
        header = ("head", "relation", "tail", "given up", "doubt", "prob.", "against it")
        return Table(f"{len(self):,} known facts, the most doubtful first", header, tuple(rows))


@dataclass(frozen=True, eq=False)
class Ranked:
    """All training facts, the most doubtful first.

    Attributes
    ----------
    claims
        All claims.
    order
        The training facts among them: which claim, the most doubtful first.
    given_up, doubts
        For each claim.
    against
        What the constraints say.
    standing, place
        How the training facts stand beside new answers, and the place of each claim there (-1: none).
    solved
        The search.
    """

    claims: Claims
    order: npt.NDArray[np.int64]
    given_up: npt.NDArray[np.bool_]
    doubts: Floats
    against: Against
    standing: Standing
    place: npt.NDArray[np.int64]
    solved: Solved


def audit(
    trained: Trained,
    constraints: Constraints | str | Path | None = None,
    *,
    top: int = 100,
    relations: Sequence[str] | None = None,
    trust: float = TRUST,
    seconds: float = SECONDS,
) -> Audit:
    """Return the training facts that look wrong, those first that the best consistent set of claims does without.

    Parameters
    ----------
    trained
        The model that scores.
    constraints
        Functional relations, implications and types, or a file of them (`transa.inference.constraint_files`). By default they are mined
        from train (`transa.data.constraints.mine_constraints`).
    top
        How many facts to return.
    relations
        Only facts of these relations, by key or by name.
    trust
        What a known fact weighs beyond what the model says of it.
    seconds
        How long to search for the best set.
    """
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    check_limits(trust, seconds)
    chosen = None if relations is None else [trained.relations.id(name) for name in relations]
    found = ranked(trained, constraints_of(trained, constraints), trust=trust, seconds=seconds)
    order = found.order
    if chosen is not None:
        order = order[np.isin(found.claims.triples[order, 1], chosen)]
    order = order[:top]
    checked = check_ids(trained, found.claims.triples[order], as_answers=True)
    doubts = [
        Doubt(
            *(each.head, each.relation, each.tail, each.score, each.probability),
            *(bool(found.given_up[claim]), float(found.doubts[claim]), int(found.against.count[claim])),
            _rival(trained, found, claim),
            *(each.head_name, each.relation_name, each.tail_name),
        )
        for claim, each in zip(order.tolist(), checked, strict=True)
    ]
    return Audit(tuple(doubts), found.solved)


def ranked(
    trained: Trained,
    rules: Constraints,
    *,
    trust: float = TRUST,
    seconds: float = SECONDS,
    standing: Standing | None = None,
) -> Ranked:
    """Weigh all claims, and order the training facts by what speaks against them.

    A training fact weighs what its score, the best new answer and the other facts say of it (`Standing`), any other claim what its
    score says (`weights_of`). The standing of the training facts is the same for all constraints, and may be given again.
    """
    roles = Roles(trained.graph)
    claims = claims_of(trained, rules)
    training = np.flatnonzero(trained.graph.training_facts.contains(claims.triples))
    if standing is None:
        standing = standing_of(trained, roles, claims.triples[training])
    place = np.full(len(claims.triples), -1, np.int64)
    place[training] = np.arange(len(training))
    prices = np.zeros(len(claims.triples))
    others = place < 0
    prices[others] = weights_of(trained, roles, claims.triples[others])
    held = claims.known & others  # the model has not seen them, so that it can speak for them and not against them
    prices[held] = np.maximum(prices[held], 0.0)
    prices[training] = standing.weights
    prices += trust * claims.known
    found = solve(prices, claims.rows, seconds=seconds)
    against = against_of(claims, prices)
    doubts = against.total - prices
    given_up = claims.known & ~found.taken
    order = training[np.lexsort((-doubts[training], ~given_up[training]))]
    return Ranked(claims, order, given_up, doubts, against, standing, place, Solved.of(claims, found))


def _rival(trained: Trained, found: Ranked, claim: int) -> Rival | None:
    """Return what speaks most against a fact."""
    against, triples = found.against, found.claims.triples
    head, relation, tail = triples[claim].tolist()
    place = int(found.place[claim])
    fits = found.standing.fits[place]
    said = {
        "constraint": float(against.most[claim]),
        "answer": -float(found.standing.leads[place]),
        "role": -FITTING * float(np.log(fits.min())),
    }
    most = max(said, key=lambda name: said[name])
    if said[most] <= 0 or (most == "role" and fits.min() > MISFIT):
        return None
    if most == "constraint":
        why = described(trained, found.claims.reasons[int(against.row[claim])])
        other = int(against.claim[claim])
        return (
            Rival(why) if other < 0 else rival_of(trained, why, tuple(triples[other].tolist()), (head, relation, tail))
        )
    if most == "role":
        return Rival(f"role: unusual {'head' if fits[0] <= fits[1] else 'tail'}")
    better = (head, relation, int(found.standing.rivals[place]))
    return rival_of(trained, "better new answer", better, (head, relation, tail))
