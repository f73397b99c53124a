"""Claims: the known facts and some new ones, and the constraints between them as rows of an integer programme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transa.data.constraints import Constraints, Implication, cost_of
from transa.data.facts import distinct
from transa.data.graph import Triples
from transa.inference.programme import Floats, Ids, Rows
from transa.inference.trained import Trained
from transa.models.loop_prior import barred_triples

Kind = Literal["functional", "inverse functional", "implies", "type"]

#: How often facts that follow from implications are looked for what follows from them.
ROUNDS = 3


@dataclass(frozen=True)
class Reason:
    """What a row of the programme stands for.

    Attributes
    ----------
    kind
        Which constraint.
    relation
        The relation that is functional, whose type does not fit, or which is the body of an implication.
    rule
        The implication, if it is one.
    """

    kind: Kind
    relation: int
    rule: Implication | None = None


@dataclass(frozen=True, eq=False)
class Claims:
    """Triples that may be true, and what holds between them.

    Attributes
    ----------
    triples
        Distinct, sorted by head, relation and tail.
    known
        Which of them the graph holds.
    rows
        The constraints.
    reasons
        What each row stands for.
    """

    triples: Triples
    known: npt.NDArray[np.bool_]
    rows: Rows
    reasons: tuple[Reason, ...]

    @cached_property
    def columns(self) -> Any:
        """The rows by claim, as a compressed matrix."""
        return self.rows.matrix.tocsc()

    def rows_of(self, claim: int) -> Ids:
        """Return the rows in which a claim stands."""
        found: Ids = self.columns.indices[self.columns.indptr[claim] : self.columns.indptr[claim + 1]]
        return found

    def members(self, row: int) -> tuple[Ids, Floats]:
        """Return the claims that stand in a row, and with which sign."""
        part = slice(self.rows.matrix.indptr[row], self.rows.matrix.indptr[row + 1])
        return self.rows.matrix.indices[part], self.rows.matrix.data[part]


def claims_of(trained: Trained, constraints: Constraints, new: Triples | None = None) -> Claims:
    """Return all known facts, the given new ones and what follows from both, with the constraints between them."""
    size = (len(trained.graph.entities), len(trained.graph.relations))
    known = distinct(np.concatenate([trained.graph.positives(split) for split in ("train", "valid", "test")]), *size)
    triples = known if new is None else distinct(np.concatenate([known, new]), *size)
    for _ in range(ROUNDS):
        implied = np.concatenate(
            [np.empty((0, 3), np.int32), *(_implied(triples, each) for each in constraints.implications)]
        )
        more = distinct(np.concatenate([triples, implied[_possible(trained, implied)]]), *size)
        if len(more) == len(triples):
            break
        triples = more
    return Claims(triples, trained.facts.contains(triples), *_rows(trained, constraints, triples))


def _possible(trained: Trained, triples: Triples) -> npt.NDArray[np.bool_]:
    """Tell which triples may be claimed: the graph does not label them false, and the loop prior does not bar them."""
    if not len(triples):
        return np.empty(0, bool)
    return ~trained.denied.contains(triples) & ~barred_triples(trained.model, triples)


def _implied(triples: Triples, rule: Implication) -> Triples:
    """Return what follows from triples by an implication, in their order."""
    some = triples[triples[:, 1] == rule.body]
    found: Triples = some[:, ::-1].copy() if rule.inverse else some.copy()
    found[:, 1] = rule.head
    return found


def _rows(trained: Trained, constraints: Constraints, triples: Triples) -> tuple[Rows, tuple[Reason, ...]]:
    from scipy import sparse  # takes a while to load

    entities, relations = len(trained.graph.entities), len(trained.graph.relations)
    heads, kinds, tails = triples.T.astype(np.int64)
    parts: list[tuple[Ids, Ids, Floats]] = []  # for each constraint: rows from 0, columns, values
    bounds: list[float] = []
    costs: list[float] = []
    reasons: list[Reason] = []

    def add(lines: Ids, columns: Ids, values: Floats, bound: float, cost: Sequence[float], why: list[Reason]) -> None:
        parts.append((lines + len(bounds), columns, values))
        bounds.extend([bound] * len(why))
        costs.extend(cost)
        reasons.extend(why)

    singles: tuple[tuple[Kind, Any, Ids], ...] = (
        ("functional", constraints.functional, heads * relations + kinds),
        ("inverse functional", constraints.inverse_functional, tails * relations + kinds),
    )
    for kind, which, keys in singles:
        columns = np.flatnonzero(np.isin(kinds, list(which)))
        found, place, times = np.unique(keys[columns], return_inverse=True, return_counts=True)
        line = np.cumsum(times > 1) - 1  # only questions with several answers make a row
        keep = times[place] > 1
        several = (found[times > 1] % relations).tolist()
        why = [Reason(kind, relation) for relation in several]
        costs_ = [cost_of(which[relation]) for relation in several]
        add(line[place[keep]], columns[keep], np.ones(int(keep.sum())), 1.0, costs_, why)
    keys = (heads * relations + kinds) * entities + tails
    for rule in constraints.implications:
        bodies = np.flatnonzero(kinds == rule.body)
        ends = (tails, heads) if rule.inverse else (heads, tails)
        wanted = (ends[0][bodies] * relations + rule.head) * entities + ends[1][bodies]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = keys[place] == wanted
        itself = there & (place == bodies)
        bodies, place, there = bodies[~itself], place[~itself], there[~itself]
        line = np.arange(len(bodies))
        add(
            np.concatenate([line, line[there]]),
            np.concatenate([bodies, place[there]]),
            np.concatenate([np.ones(len(bodies)), -np.ones(int(there.sum()))]),
            0.0,
            [cost_of(rule.confidence)] * len(bodies),
            [Reason("implies", rule.body, rule)] * len(bodies),
        )
    wrong = np.array(_misfits(constraints, triples), np.int64)
    why = [Reason("type", int(kinds[claim])) for claim in wrong]
    add(np.arange(len(wrong)), wrong, np.ones(len(wrong)), 0.0, [np.inf] * len(wrong), why)
    lines, columns, values = (np.concatenate([part[place] for part in parts]) for place in range(3))
    matrix = sparse.csr_array((values, (lines, columns)), shape=(len(bounds), len(triples)))
    return Rows(matrix, np.array(bounds), np.array(costs)), tuple(reasons)


def _misfits(constraints: Constraints, triples: Triples) -> list[int]:
    """Return the triples with an entity whose types do not fit."""
    given = np.flatnonzero(np.isin(triples[:, 1], [*constraints.domains, *constraints.ranges]))
    return [
        row
        for row, (head, relation, tail) in zip(given.tolist(), triples[given].tolist(), strict=True)
        if not (constraints.fits(relation, head, "head") and constraints.fits(relation, tail, "tail"))
    ]
