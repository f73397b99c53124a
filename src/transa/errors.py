"""Errors that a person can act on.

The command line prints the message of a `TransaError` and exits with code 2; anything else is a bug in the program.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

#: How many characters of a wrong value an error message quotes.
QUOTED = 80
#: With how many names `suggest` compares; more would take seconds.
COMPARED = 10_000


class TransaError(Exception):
    """Base class of everything the package raises on purpose."""


class InputError(TransaError, ValueError):
    """A file, a name or an argument cannot be used; the message says which, where, and what was expected.

    Parameters
    ----------
    message
        What is wrong and what was expected.
    path
        The file with the error.
    line
        The line (or row) in it, counted from 1; or the label of a row as text.
    unit
        What `line` is called: ``"line"`` in text, ``"row"`` in tables.
    """

    def __init__(
        self, message: str, *, path: str | Path | None = None, line: int | str | None = None, unit: str = "line"
    ) -> None:
        place = "" if path is None else str(path)
        if line is not None:
            place += f"{', ' if place else ''}{unit} {line if isinstance(line, str) else format(line, ',')}"
        super().__init__(f"{place}: {message}" if place else message)
        self.path = path
        self.line = line


class TransaWarning(UserWarning):
    """Something to know about a result; the command line prints it as a note."""


def quote(value: object) -> str:
    """Return `value` as messages quote it: escaped, and cut if it is long."""
    text = str(value)
    if len(text) > QUOTED:
        return f"{text[:QUOTED]!r}… ({len(text):,} characters)"
    return repr(text)


def amount(size: float) -> str:
    """Return a number of bytes as people read it: ``"3.2 MB"``."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if size >= 100 or units[0] == "bytes" else f"{size:.1f} {units[0]}"


def suggest(wrong: str, candidates: Iterable[str]) -> str:
    """Return ``"; did you mean …?"`` with the candidates nearest to `wrong`, or an empty string if none is near.

    A candidate that differs only by case or by blanks at the ends is the only one named.
    """
    if len(wrong) > QUOTED:
        return ""
    sought = fold(wrong)
    names: dict[str, str] = {}
    for candidate in candidates:
        names.setdefault(fold(candidate), candidate)
    if sought in names:
        names = {sought: names[sought]}
    elif len(names) > COMPARED:  # compare only with names that begin in the same way
        alike = (name for name in names if name[:2] == sought[:2] and abs(len(name) - len(sought)) < 4)
        names = {name: names[name] for name in islice(alike, COMPARED)}
    near = [names[match] for match in difflib.get_close_matches(sought, names, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def fold(name: str) -> str:
    """Return what names have in common that differ only by case or by blanks at the ends."""
    return name.strip().casefold()
