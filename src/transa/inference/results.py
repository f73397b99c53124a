"""What results share: they iterate, index and convert alike, and print as tables in a terminal and in a notebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from typing import Any, ClassVar, Self, TypeVar, overload
from unicodedata import east_asian_width

import pyarrow as pa

from transa.errors import InputError
from transa.readable import is_number, one_line

Row = TypeVar("Row")

#: How many rows are printed, and how many characters of a cell.
SHOWN, WIDEST = 50, 60


@dataclass(frozen=True)
class Table:
    """A title, the names of columns and texts; columns of numbers stand to the right.

    Attributes
    ----------
    title
        What the table shows.
    header
        The names of the columns; without any, there is no line for them.
    rows
        The cells.
    note
        A line under the table, if there is something to say.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __str__(self) -> str:
        shown = [[_cut(cell) for cell in row] for row in (self.header, *self.rows[:SHOWN])]
        widths = [max(map(_width, column)) for column in zip(*shown, strict=True)]
        numeric = [all(map(is_number, column)) for column in zip(*self.rows, strict=True)] or [False] * len(widths)
        lines = [
            "  ".join(_padded(*cell) for cell in zip(row, widths, numeric, strict=True)).rstrip()
            for row in (shown if any(self.header) else shown[1:])
        ]
        return "\n".join([one_line(self.title), *lines, *filter(None, (self._more(), self.note))])

    def _repr_html_(self) -> str:
        numeric = [all(map(is_number, column)) for column in zip(*self.rows, strict=True)]

        def line(cells: Sequence[str], tag: str) -> str:
            styles = [' style="text-align: right"' if number else ' style="text-align: left"' for number in numeric]
            styles = styles or [""] * len(cells)
            texts = (f"<{tag}{style}>{escape(cell)}</{tag}>" for cell, style in zip(cells, styles, strict=True))
            return f"<tr>{''.join(texts)}</tr>"

        head = f"<thead>{line(self.header, 'th')}</thead>" if any(self.header) else ""
        body = "".join(line(row, "td") for row in self.rows[:SHOWN])
        below = "".join(f"<p>{escape(text)}</p>" for text in (self._more(), self.note) if text)
        return f"<table><caption>{escape(self.title)}</caption>{head}<tbody>{body}</tbody></table>{below}"

    def _more(self) -> str:
        return f"… {len(self.rows) - SHOWN:,} more" if len(self.rows) > SHOWN else ""


class Results(Sequence[Row]):
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

    def to_pandas(self) -> Any:
        """Return a pandas data frame, if pandas is installed. A missing text is None in it, whatever the version of pandas."""
        pandas, table = _installed("pandas"), self.frame()
        frame = table.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_string(column.type) and column.null_count:
                frame[name] = pandas.Series(column.to_pylist(), dtype=object)
        return frame

    def to_polars(self) -> Any:
        """Return a Polars data frame, if Polars is installed."""
        return _installed("polars").from_arrow(self.frame())

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def figure(value: float | None, form: str = ".4g") -> str:
    """Return a number as tables show it, a dash for None."""
    return "-" if value is None else format(value, form)


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"to_{name} needs {name}, which is not installed: pip install {name}") from None


def _cut(cell: str) -> str:
    text = one_line(cell)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: letters of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
