"""The rows of a file put to a model: each is understood, or refused or skipped with its place and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from transa.data.places import Places
from transa.errors import InputError
from transa.readable import counted

Row = TypeVar("Row")
Meaning = TypeVar("Meaning")


@dataclass(frozen=True)
class Skipped:
    """A row that was left out: its number, counted from 1 after any header, why, and its line in the file, if it has one."""

    row: int
    reason: str
    line: int | None = None

    @property
    def place(self) -> str:
        """Where to look for it."""
        return f"row {self.row:,}" if self.line is None else f"line {self.line:,}"


def understood(
    rows: Iterable[Row], meaning: Callable[[Row], Meaning], places: Places, *, skip: bool = False
) -> tuple[list[Meaning], list[Skipped]]:
    """Return what rows mean, and those that were skipped.

    Parameters
    ----------
    rows
        What somebody wrote.
    meaning
        Returns what a row means, or raises an `InputError`.
    places
        Where they stand, for messages.
    skip
        Whether to skip rows without a meaning.

    Raises
    ------
    InputError
        If a row has no meaning and is not to be skipped, or if none is left.
    """
    found: list[Meaning] = []
    skipped: list[Skipped] = []
    for number, row in enumerate(rows):
        try:
            found.append(meaning(row))
        except InputError as error:
            if not skip:
                way_out = "; --skip-unknown leaves out such rows" if places.path is not None else ""
                raise places.error(f"{error}{way_out}", number) from None
            skipped.append(Skipped(number + 1, str(error), places.line(number)))
    if skipped and not found:
        first = skipped[0]
        raise InputError(
            f"nothing is left: all {counted(len(skipped), 'row')} skipped, {first.place} for {first.reason}",
            path=places.path,
        )
    return found, skipped
