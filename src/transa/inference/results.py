"""What results share: they iterate, index and convert alike, and print as tables in a terminal and in a notebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar, overload

import pyarrow as pa

from transa.frames import Framed
from transa.table import Table

Row = TypeVar("Row")


class Results(Framed, Sequence[Row]):
    """Rows of one kind, in order.

    A subclass is a frozen dataclass that names the field with its rows (`field_of_rows`), and states how a row looks as plain values
    (`rows`, `schema`) and as a table (`table`).
    """

    field_of_rows: ClassVar[str]
    schema: ClassVar[pa.Schema]

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""

    @abstractmethod
    def table(self, *, full: bool = False) -> Table:
        """Return the rows as people read them; `full` shows IRIs in full."""

    @property
    def _rows(self) -> tuple[Row, ...]:
        found: tuple[Row, ...] = getattr(self, self.field_of_rows)
        return found

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Row | Self:
        if not isinstance(place, slice):
            return self._rows[place]
        return replace(self, **{self.field_of_rows: self._rows[place]})  # type: ignore[type-var]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return plain values, a dictionary for each row."""
        return self.rows()

    def frame(self) -> pa.Table:
        """Return an Arrow table."""
        return pa.Table.from_pylist(self.rows(), self.schema)

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
