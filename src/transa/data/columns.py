"""Which columns of a table hold head, relation, tail and perhaps label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transa.errors import InputError, quote, suggest

#: The usual names of the columns of heads and tails, and of relations, by which a header is recognised.
ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"), ("from", "to"))
RELATIONS = ("relation", "predicate", "type", "edge", "relationship", "interaction", "property", "label")
#: Letters say less than words: they count only together.
LETTERS = (("h", "r", "t"), ("s", "p", "o"))


def usual_columns(fields: Sequence[str]) -> tuple[int, ...] | None:
    """Return where head, relation, tail and perhaps label stand in a usual header, or None."""
    lowered = [field.strip().lower() for field in fields]
    usual = [(head, relation, tail) for head, tail in ENDS for relation in RELATIONS]
    for names in (*usual, *LETTERS):
        if all(lowered.count(name) == 1 for name in names):
            label = (lowered.index("label"),) if lowered.count("label") == 1 and "label" not in names else ()
            return (*(lowered.index(name) for name in names), *label)
    return None


def unused(available: Sequence[str], used: Sequence[int | None], path: Path | None = None) -> tuple[str, ...]:
    """Return a note that names the columns that are not used, if there are any."""
    others = [name for position, name in enumerate(available) if position not in used]
    if not others:
        return ()
    shown = ", ".join(map(quote, others[:5])) + (", …" if len(others) > 5 else "")
    where = "" if path is None else f"{path}: "
    return (f"{where}not used: the column{'s' * (len(others) > 1)} {shown}",)


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
