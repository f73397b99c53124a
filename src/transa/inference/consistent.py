"""What `complete` and `audit` share: which constraints hold, what the solver found, and the claims that exclude each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from transa.data.constraints import Constraints, mine_constraints
from transa.errors import InputError
from transa.inference.claims import Claims, Reason
from transa.inference.constraint_files import read_constraints
from transa.inference.programme import Solution
from transa.inference.trained import Trained
from transa.readable import called

#: What a known fact weighs beyond what the model says of it, and how long the solver may search, in seconds.
TRUST, SECONDS = 2.0, 600.0


@dataclass(frozen=True)
class Solved:
    """How a set of claims was found.

    Attributes
    ----------
    claims, known
        How many claims there were, and how many of them known facts.
    constraints
        How many rows the constraints gave.
    components, programmes
        How many components of two or more claims the rows hold together, and for how many an integer programme was solved; in the
        others, no constraint is broken by taking all that is plausible.
    slack
        How many known facts are given up.
    proved
        Whether no other set is better.
    gap
        How far the set may be from the best one, as a share of what the best one could reach.
    seconds
        How long the search took.
    """

    claims: int
    known: int
    constraints: int
    components: int
    programmes: int
    slack: int
    proved: bool
    gap: float
    seconds: float

    @classmethod
    def of(cls, claims: Claims, found: Solution) -> Solved:
        """Sum up a solution."""
        return cls(
            len(claims.triples),
            int(claims.known.sum()),
            len(claims.reasons),
            found.components,
            found.solved,
            int((claims.known & ~found.taken).sum()),
            found.proved,
            found.gap,
            found.seconds,
        )

    def __str__(self) -> str:
        best = "proved to be best" if self.proved else f"stopped at a gap of {self.gap:.2%}"
        return (
            f"{self.claims:,} claims ({self.known:,} known), {self.constraints:,} constraints on them, {self.components:,} components; "
            f"{self.programmes:,} needed an integer programme, {best}; {self.slack:,} known facts given up"
        )


@dataclass(frozen=True)
class Rival:
    """A claim that excludes another, and why.

    Attributes
    ----------
    constraint
        Which constraint, in words.
    head, relation, tail
        Keys; None if the constraint excludes the claim by itself, as a type does.
    text
        As people read it: the triple, or the entity in which it differs.
    """

    constraint: str
    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.constraint})" if self.text else self.constraint


#: Columns of a rival in a table.
RIVAL = (
    ("constraint", pa.string()),
    *((f"rival_{place}", pa.string()) for place in ("head", "relation", "tail")),
)


def rival_columns(rival: Rival | None) -> dict[str, str | None]:
    """Return a rival as plain values."""
    found = rival or Rival("")
    return {
        "constraint": found.constraint or None,
        "rival_head": found.head,
        "rival_relation": found.relation,
        "rival_tail": found.tail,
    }


def constraints_of(trained: Trained, given: Constraints | str | Path | None) -> Constraints:
    """Return constraints as they are, those of a file, or with None those that are mined from train."""
    if given is None:
        return mine_constraints(trained.graph)
    if isinstance(given, Constraints):
        return given
    return read_constraints(given, trained.entities, trained.relations)


def check_limits(trust: float, seconds: float) -> None:
    """Refuse limits that mean nothing."""
    if not 0 <= trust < float("inf"):
        raise InputError(f"trust: expected a number of at least 0, found {trust}")
    if not seconds > 0:
        raise InputError(f"seconds: expected more than 0, found {seconds}")


def shown(trained: Trained, triple: tuple[int, int, int]) -> str:
    """Return a triple as people read it."""
    entities, relations = trained.graph.entities, trained.graph.relations
    names = (
        called(vocabulary[each], vocabulary.name(each))
        for vocabulary, each in zip((entities, relations, entities), triple, strict=True)
    )
    return f"({', '.join(names)})"


def rival_of(trained: Trained, why: str, triple: tuple[int, int, int], beside: tuple[int, int, int]) -> Rival:
    """Return a triple as a rival of another; its text is only the entity in which they differ, if that is all."""
    entities, relations = trained.graph.entities, trained.graph.relations
    head, relation, tail = triple
    text = shown(trained, triple)
    if (head, relation) == beside[:2]:
        text = called(entities[tail], entities.name(tail))
    elif (relation, tail) == beside[1:]:
        text = called(entities[head], entities.name(head))
    return Rival(why, entities[head], relations[relation], entities[tail], text)


def described(trained: Trained, reason: Reason) -> str:
    """Return a constraint in words."""
    relations = trained.graph.relations
    name = called(relations[reason.relation], relations.name(reason.relation))
    if reason.rule is None:
        return f"{reason.kind}: {name}" if reason.kind != "type" else f"type: an argument of {name}"
    head = called(relations[reason.rule.head], relations.name(reason.rule.head))
    return f"{name} implies {head}{' inverted' if reason.rule.inverse else ''}"


def rows_with_rivals(facts: Sequence[Any], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return facts that may have a rival as plain values, in the columns of a schema."""
    found = []
    for each in facts:
        values = asdict(each) | rival_columns(each.rival)
        found.append({name: values[name] for name in schema.names})
    return found
