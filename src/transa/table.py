"""A table for people: texts in a terminal, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

from transa.readable import is_number, one_line

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


def figure(value: float | None, form: str = ".4g") -> str:
    """Return a number as tables show it, a dash for None."""
    return "-" if value is None else format(value, form)


def _cut(cell: str) -> str:
    text = one_line(cell)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: letters of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
