"""The rows of a file put to a model: each is understood, or refused or skipped with its number and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from transa.errors import InputError

Row = TypeVar("Row")
Meaning = TypeVar("Meaning")


@dataclass(frozen=True)
class Skipped:
    """A row that was left out, counted from 1, and why."""

    row: int
    reason: str


def understood(
    rows: Iterable[Row], meaning: Callable[[Row], Meaning], *, unit: str = "row", skip: bool = False
) -> tuple[list[Meaning], list[Skipped]]:
    """Return what rows mean, and those that were skipped.

    Parameters
    ----------
    rows
        What somebody wrote.
    meaning
        Returns what a row means, or raises an `InputError`.
    unit
        What a row is called in messages.
    skip
        Whether to skip rows without a meaning.

    Raises
    ------
    InputError
        If a row has no meaning and is not to be skipped, or if none is left.
    """
    found: list[Meaning] = []
    skipped: list[Skipped] = []
    for number, row in enumerate(rows, start=1):
        try:
            found.append(meaning(row))
        except InputError as error:
            if not skip:
                raise InputError(str(error), line=number, unit=unit) from None
            skipped.append(Skipped(number, str(error)))
    if skipped and not found:
        first = skipped[0]
        raise InputError(f"nothing is left: all {len(skipped):,} rows are skipped, row {first.row} for {first.reason}")
    return found, skipped
