"""Which columns of a table hold head, relation, tail and perhaps label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from transa.errors import InputError, quote, suggest

#: The usual names of the columns of heads and tails, and of relations, by which a header is recognised.
ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"), ("from", "to"))
RELATIONS = ("relation", "predicate", "type", "edge", "relationship", "interaction", "property", "label")
#: What a column of labels is called.
LABELS = ("label", "labels")
#: Letters say less than words: they count only together.
LETTERS = (("h", "r", "t"), ("s", "p", "o"))
#: What pandas and polars call a column without a name.
_UNNAMED = re.compile(r"(column_)?\d+")


def usual_columns(fields: Sequence[str]) -> tuple[int, ...] | None:
    """Return where head, relation, tail and perhaps label stand in a usual header, or None."""
    lowered = [field.strip().lower() for field in fields]
    usual = [(head, relation, tail) for head, tail in ENDS for relation in RELATIONS]
    for names in (*usual, *LETTERS):
        if all(lowered.count(name) == 1 for name in names):
            labels = [place for place, name in enumerate(lowered) if name in LABELS and name not in names]
            return (*(lowered.index(name) for name in names), *(labels if len(labels) == 1 else ()))
    return None


def type_columns(names: Sequence[str], head: int, tail: int) -> list[tuple[int, int]]:
    """Return where the types of heads and of tails stand in a table, each behind the column of the entities that have them.

    The column of types is called as that of the entities, with ``_type`` at the end: ``head_type``, ``gene_type``.
    """
    lowered = [name.strip().lower() for name in names]
    wanted = [(end, f"{lowered[end]}_type") for end in (head, tail)]
    return [(end, lowered.index(name)) for end, name in wanted if lowered.count(name) == 1]


def in_order(available: Sequence[str], path: Path | None = None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return where head, relation, tail and perhaps label stand in a table without usual names, and notes that say so.

    These are the first three columns. A fourth one holds labels if it is called so, or if no column has a name.

    Raises
    ------
    InputError
        If there are not three or four columns.
    """
    if len(available) not in (3, 4):
        found = ", ".join(available) or "none"
        hint = "select or rename them" if path is None else "say which with --columns (columns=)"
        raise InputError(
            f"expected 3 or 4 columns, or columns named head, relation and tail; found {found}; {hint}", path=path
        )
    every = tuple(range(len(available)))
    if all(_UNNAMED.fullmatch(name) for name in available):
        return every, ()
    chosen = every if len(every) == 3 or available[3].strip().lower() in LABELS else every[:3]
    where = "" if path is None else f"{path}: "
    taken = ", ".join(
        f"{quote(name)} as {part}" for name, part in zip(available, ("head", "relation", "tail"), strict=False)
    )
    return chosen, (f"{where}the columns were taken in their order: {taken}", *unused(available, chosen, path))


def unused(available: Sequence[str], used: Sequence[int | None], path: Path | None = None) -> tuple[str, ...]:
    """Return a note that names the columns that are not used, if there are any."""
    others = [name for position, name in enumerate(available) if position not in used]
    if not others:
        return ()
    shown = ", ".join(map(quote, others[:5])) + (", …" if len(others) > 5 else "")
    where = "" if path is None else f"{path}: "
    return (f"{where}not used: the column{'s' * (len(others) > 1)} {shown}",)


def chosen_columns(
    asked: Sequence[str | int], available: Sequence[str], *, path: Path | None = None, line: int | None = None
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
