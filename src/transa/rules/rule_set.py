"""A set of rules, each with its counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.vocabulary import Vocabulary
from transa.errors import InputError

#: What is added to the size of a body: a rule seen a few times is not as sure as its counts say.
DISCOUNT = 5.0
#: The most atoms of a body.
LONGEST = 5


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules with their counts in train.

    A step is a relation with its direction: of m relations, step s < m goes from head to tail, and step s + m back. A rule without a
    constant says ``head(x, y)`` of the ends of a chain of up to five steps from x to y. A rule with a constant c says ``head(x, c)``
    of every x that has the step of its body to d (`body_constant`), or to anything.

    Attributes
    ----------
    head, constant
        The step that a rule concludes, and c or -1. Without a constant, the step goes from head to tail.
    body, body_constant
        The steps of the body, of shape (rules, longest body), -1 after the last; and d or -1.
    support, body_size, pca_size
        In how many cases the rule holds; how many its body has; and how many of these have a known answer at all, be it another.
    discount
        What `confidence` adds to the size of the body.
    """

    head: npt.NDArray[np.int64]
    constant: npt.NDArray[np.int64]
    body: npt.NDArray[np.int64]
    body_constant: npt.NDArray[np.int64]
    support: npt.NDArray[np.int64]
    body_size: npt.NDArray[np.int64]
    pca_size: npt.NDArray[np.int64]
    discount: float = DISCOUNT

    def __post_init__(self) -> None:
        size = len(self.head)
        for name in COLUMNS:
            shape = getattr(self, name).shape
            if shape[:1] != (size,) or (
                not 1 <= shape[1] <= LONGEST if name == "body" and len(shape) == 2 else len(shape) > 1
            ):
                wanted = f"({size}, 1 to {LONGEST})" if name == "body" else f"({size},)"
                raise InputError(f"rules: expected {name} of shape {wanted}, found {shape}")

    @classmethod
    def from_columns(cls, columns: Sequence[npt.NDArray[np.int64]], discount: float) -> RuleSet:
        """Make a set of its columns, in the order of `COLUMNS`."""
        head, constant, body, body_constant, support, body_size, pca_size = columns
        return cls(head, constant, body, body_constant, support, body_size, pca_size, discount)

    @classmethod
    def of(cls, rows: npt.NDArray[np.int64], discount: float = DISCOUNT) -> RuleSet:
        """Make a set of rows of (head, constant, steps, body constant, support, body size, PCA size), sorted."""
        rows = rows[np.lexsort(rows.T[-4::-1])] if len(rows) else rows
        body = rows[:, 2:-4]
        longest = max(1, int((body >= 0).any(axis=0).sum()))
        columns = rows[:, 0], rows[:, 1], body[:, :longest], rows[:, -4], rows[:, -3], rows[:, -2], rows[:, -1]
        return cls.from_columns([np.ascontiguousarray(column) for column in columns], discount)

    def __len__(self) -> int:
        return len(self.head)

    @property
    def confidence(self) -> npt.NDArray[np.float64]:
        """The support divided by the size of the body, to which `discount` is added."""
        return self.support / (self.body_size + self.discount)

    @property
    def pca_confidence(self) -> npt.NDArray[np.float64]:
        """The same among cases whose entity x has a known answer to the question (Galarraga et al. 2013)."""
        return self.support / (self.pca_size + self.discount)

    @property
    def length(self) -> npt.NDArray[np.int64]:
        """The number of atoms of each body."""
        found: npt.NDArray[np.int64] = (self.body >= 0).sum(axis=1)
        return found

    def take(self, rows: npt.NDArray[Any] | slice) -> RuleSet:
        """Return some of the rules."""
        return RuleSet.from_columns([getattr(self, name)[rows] for name in COLUMNS], self.discount)

    def less_one_case(self) -> RuleSet:
        """Return the rules as they were without one of the cases in which they hold: as they speak of any fact they were mined from."""
        return replace(self, support=self.support - 1, body_size=self.body_size - 1, pca_size=self.pca_size - 1)

    def ordered(self) -> RuleSet:
        """Return the rules by confidence, the highest first; of equal ones, those of more support."""
        return self.take(np.lexsort((-self.support, -self.confidence)))

    def texts(self, entities: Vocabulary, relations: Vocabulary) -> Iterator[str]:
        """Yield each rule as AnyBURL writes it, such as ``speaks(X,Y) <= lives_in(X,A), language(A,Y)``."""
        for number in range(len(self)):
            yield rule_text(self, number, entities, relations)


#: The columns of a set of rules, in their order.
COLUMNS = ("head", "constant", "body", "body_constant", "support", "body_size", "pca_size")


def rule_text(rules: RuleSet, number: int, entities: Vocabulary, relations: Vocabulary) -> str:
    """Return a rule as AnyBURL writes it."""
    steps = [int(step) for step in rules.body[number] if step >= 0]
    constant, known = int(rules.constant[number]), int(rules.body_constant[number])

    def atom(step: int, first: str, second: str) -> str:
        size = len(relations)
        name = relations[step % size]
        return f"{name}({first},{second})" if step < size else f"{name}({second},{first})"

    if constant < 0:
        names = ["X", *"ABCD"[: len(steps) - 1], "Y"]
        atoms = [atom(step, names[place], names[place + 1]) for place, step in enumerate(steps)]
        return f"{atom(int(rules.head[number]), 'X', 'Y')} <= {', '.join(atoms)}"
    other = "A" if known < 0 else entities[known]
    atoms = [atom(step, "X", other) for step in steps]
    return f"{atom(int(rules.head[number]), 'X', entities[constant])} <= {', '.join(atoms)}"
