"""Where the rows of a table stand in their source, as messages name it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.errors import InputError, quote


@dataclass(frozen=True, eq=False)
class Places:
    """The places of rows.

    Attributes
    ----------
    path
        The file that they come from, if any.
    unit
        What a place is called: ``"line"`` in text, ``"triple"`` in RDF, ``"index"`` in a pandas frame, otherwise ``"row"``.
    numbers
        The place of each row: its line, or its label in the index. By default rows are counted from 1.
    """

    path: Path | None = None
    unit: str = "row"
    numbers: Sequence[Any] | npt.NDArray[Any] | None = None

    def __getitem__(self, row: int) -> str:
        """Return the place of a row, counted from 0, in words: ``"line 7"``."""
        number = self._number(row)
        return f"{self.unit} {number if isinstance(number, str) else format(number, ',')}"

    def line(self, row: int) -> int | None:
        """Return the line of a row, if its source has lines and they were kept."""
        return int(self.numbers[row]) if self.unit == "line" and self.numbers is not None else None

    def error(self, message: object, row: int) -> InputError:
        """Return an error that names the place of a row."""
        return InputError(str(message), path=self.path, line=self._number(row), unit=self.unit)

    def where(self, kept: npt.NDArray[np.bool_]) -> Places:
        """Return the places of some of the rows."""
        if self.numbers is None:
            return replace(self, numbers=np.flatnonzero(kept) + 1)
        return replace(self, numbers=[self.numbers[row] for row in np.flatnonzero(kept).tolist()])

    def _number(self, row: int) -> int | str:
        """Return the number of a row; a label of an index as its text, since even a number in it counts nothing."""
        place = row + 1 if self.numbers is None else self.numbers[row]
        if self.unit == "index":
            return quote(place) if isinstance(place, str) else str(place)
        return int(place)
