"""Which columns of a table hold head, relation, tail and perhaps label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transa.errors import InputError, quote, suggest

#: The usual names of the columns, by which a header is recognised.
HEADERS = tuple(
    (head, relation, tail)
    for (head, tail), relations in {
        ("head", "tail"): ("relation",),
        ("h", "t"): ("r",),
        ("subject", "object"): ("predicate", "relation"),
        ("s", "o"): ("p",),
        ("source", "target"): ("relation", "type", "edge"),
        ("from", "to"): ("relation", "type", "edge"),
    }.items()
    for relation in relations
)


def usual_columns(fields: Sequence[str]) -> tuple[int, ...] | None:
    """Return where head, relation, tail and perhaps label stand in a usual header, or None."""
    lowered = [field.strip().lower() for field in fields]
    for names in HEADERS:
        if all(lowered.count(name) == 1 for name in names):
            label = (lowered.index("label"),) if lowered.count("label") == 1 else ()
            return (*(lowered.index(name) for name in names), *label)
    return None


def chosen_columns(
    asked: Sequence[str | int], available: Sequence[str], *, path: Path, line: int | None = None
) -> tuple[int, ...]:
    """Return where the columns stand that a user asked for by name or position."""
    positions: list[int] = []
    for column in asked:
        if isinstance(column, str):
            found = [position for position, name in enumerate(available) if name == column]
            if not found:
                known = ", ".join(map(quote, available[:20]))
                raise InputError(
                    f"no column {quote(column)} among {known}{suggest(column, available)}", path=path, line=line
                )
            if len(found) > 1:
                raise InputError(
                    f"{len(found)} columns are called {quote(column)}; give its position", path=path, line=line
                )
            position = found[0]
        elif 0 <= column < len(available):
            position = column
        else:
            raise InputError(f"no column {column}: there are columns 0 to {len(available) - 1}", path=path, line=line)
        if position in positions:
            raise InputError(f"column {quote(column)} is asked for twice", path=path, line=line)
        positions.append(position)
    return tuple(positions)
