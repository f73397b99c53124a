"""TSV, CSV and other delimited text."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from transa.data.readers.rows import MAX_NAME, records
from transa.data.readers.streams import format_suffix, open_bytes, reading
from transa.data.table import NAMES, TableBuilder, TripleTable
from transa.errors import InputError, quote, suggest

#: Delimiters tried in turn, by suffix; the first that gives at least three fields wins.
DELIMITERS = {".tsv": "\t", ".csv": ",;\t|"}
DEFAULT_DELIMITERS = "\t,;| "

#: First lines recognised as headers.
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

#: Fewer and larger blocks mean fewer dictionaries to merge; more and smaller ones, less memory.
BLOCK = 1 << 24


@dataclass(frozen=True)
class TextOptions:
    """How delimited text is to be read; None means: find out.

    Attributes
    ----------
    columns
        Head, relation, tail and perhaps label, each the name in the header or the position counted from 0.
    header
        Whether the first line names the columns. By default, where columns are given by name or the line is a usual one, such as
        ``head relation tail`` or ``subject predicate object``.
    delimiter
        One character.
    quotes
        Whether a field that starts with ``"`` is quoted, so that it may hold delimiters and line ends.
    """

    columns: tuple[str | int, ...] | None = None
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool = True

    def __post_init__(self) -> None:
        if self.columns is not None and len(self.columns) not in (3, 4):
            raise InputError(
                f"expected 3 or 4 columns (head, relation, tail, label), found {len(self.columns)}: {self.columns}"
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise InputError(f"the delimiter must be one character, found {quote(self.delimiter)}")
        if self.header is False and self.by_name:
            raise InputError(f"columns by name ({', '.join(map(str, self.columns or ()))}) need a header")

    @property
    def by_name(self) -> bool:
        """Whether any column is given by its name."""
        return any(isinstance(column, str) for column in self.columns or ())


@dataclass(frozen=True)
class _Layout:
    delimiter: str
    quotes: bool
    header: bool
    guessed: bool
    plain_start: bool
    width: int
    columns: tuple[int, ...]


def read_delimited(path: Path, options: TextOptions | None = None) -> TripleTable:
    """Read delimited text, plain or compressed."""
    layout = _layout(path, options or TextOptions())
    table = _read_fast(path, layout) or _read_carefully(path, layout)
    if layout.guessed:
        table = table.with_note(f"{path}: the first line was taken as a header")
    return table


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


def _layout(path: Path, options: TextOptions) -> _Layout:
    delimiter, line, first = _sniff(path, options)
    usual = usual_columns(first)
    guessed = options.header is None and not options.by_name and usual is not None
    header = bool(options.header) or options.by_name or guessed
    columns = _positions(path, line, options.columns, first, usual if header else None)
    plain_start = line == 1 and not any(end in field for field in first for end in "\r\n")
    return _Layout(delimiter, options.quotes, header, guessed, plain_start, len(first), columns)


def _sniff(path: Path, options: TextOptions) -> tuple[str, int, list[str]]:
    """Return the delimiter, and the first record under it with its line."""
    candidates = options.delimiter or DELIMITERS.get(format_suffix(path), DEFAULT_DELIMITERS)
    for delimiter in candidates:
        try:
            line, fields = next(records(path, delimiter, quoting=options.quotes), (0, []))
        except InputError:
            continue  # quotes that do not fit this delimiter; if they fit none, the first one's error is raised below
        if len(fields) >= 3:
            return delimiter, line, fields
    line, fields = next(records(path, candidates[0], quoting=options.quotes), (0, []))
    if not fields:
        raise InputError("the file is empty", path=path)
    return candidates[0], line, fields


def _positions(
    path: Path, line: int, asked: tuple[str | int, ...] | None, first: list[str], usual: tuple[int, ...] | None
) -> tuple[int, ...]:
    if asked is not None:
        return chosen_columns(asked, first, path=path, line=line)
    if usual is not None:
        return usual
    if len(first) in (3, 4):
        return tuple(range(len(first)))
    hint = "; say which columns to take with --columns (columns=)" if len(first) > 4 else ""
    raise InputError(
        f"expected 3 columns (head, relation, tail) or 4 (with a label), found {len(first)}: {quote(' | '.join(first))}{hint}",
        path=path,
        line=line,
    )


def _read_fast(path: Path, layout: _Layout) -> TripleTable | None:
    """Read plain text with Arrow, in parallel and block by block; None where anything about it is not plain."""
    if ord(layout.delimiter) > 127 or not layout.plain_start:
        return None
    every = [f"f{column}" for column in range(layout.width)]
    used = [every[column] for column in layout.columns]
    # A quote in any column may hide delimiters and line ends, so the unused ones are looked at too where quotes count.
    unused = [name for name in every if name not in used] if layout.quotes else []
    with reading(path), open_bytes(path) as stream:
        try:
            table = arrow_csv.read_csv(
                stream.raw,
                arrow_csv.ReadOptions(block_size=BLOCK, column_names=every, skip_rows=int(layout.header)),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char=False, double_quote=False),
                arrow_csv.ConvertOptions(
                    include_columns=used + unused,
                    column_types=dict.fromkeys(used, NAMES) | dict.fromkeys(unused, pa.string()),
                    strings_can_be_null=False,
                ),
            )
        except (pa.ArrowInvalid, OSError):
            return None  # the careful reader knows the line
    columns = [table.column(name) for name in used]
    if not table.num_rows or not all(_plain(chunk.dictionary, layout) for column in columns for chunk in column.chunks):
        return None
    if any(pc.any(pc.starts_with(table.column(name), '"')).as_py() for name in unused):
        return None
    labels = _labels(columns[3]) if len(columns) == 4 else None
    if len(columns) == 4 and labels is None:
        return None
    return TripleTable(columns[0], columns[1], columns[2], labels=labels)


def _plain(names: pa.Array, layout: _Layout) -> bool:
    """Tell whether names mean the same with and without care: no quotes to undo, nothing blank, NUL or overlong."""
    doubtful = pc.equal(pc.utf8_trim_whitespace(names), "")
    doubtful = pc.or_(doubtful, pc.match_substring(names, "\0"))
    doubtful = pc.or_(doubtful, pc.greater(pc.binary_length(names), MAX_NAME))
    if layout.quotes:
        doubtful = pc.or_(doubtful, pc.starts_with(names, '"'))
    return not pc.any(doubtful).as_py()


def _labels(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int8]] | None:
    values = {"1": 1, "-1": -1}
    parts = []
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        if not all(name in values for name in names):
            return None
        parts.append(np.array([values[name] for name in names], dtype=np.int8)[chunk.indices.to_numpy()])
    return np.concatenate(parts)


def _read_carefully(path: Path, layout: _Layout) -> TripleTable:
    builder = TableBuilder()
    labels = array("b")
    rows = records(path, layout.delimiter, quoting=layout.quotes)
    if layout.header:
        next(rows)
    for line, fields in rows:
        if len(fields) != layout.width:
            _wrong_width(path, line, fields, layout)
        head, relation, tail, *rest = (fields[column] for column in layout.columns)
        if not (head.strip() and relation.strip() and tail.strip()):
            which = "head" if not head.strip() else "relation" if not relation.strip() else "tail"
            raise InputError(f"the {which} is blank: {quote(layout.delimiter.join(fields))}", path=path, line=line)
        if rest:
            if rest[0] not in ("1", "-1"):
                raise InputError(f"expected the label 1 or -1, found {quote(rest[0])}", path=path, line=line)
            labels.append(int(rest[0]))
        builder.add(head, relation, tail)
    if not len(builder):
        raise InputError("the file holds a header and no triple" if layout.header else "the file is empty", path=path)
    return builder.table(labels=np.array(labels, dtype=np.int8) if labels else None)


def _wrong_width(path: Path, line: int, fields: list[str], layout: _Layout) -> None:
    found = f"found {len(fields)}: {quote(layout.delimiter.join(fields))}"
    if {len(fields), layout.width} == {3, 4}:
        raise InputError(
            f"labelled and unlabelled lines are mixed: expected {layout.width} columns as in the first line, {found}",
            path=path,
            line=line,
        )
    raise InputError(f"expected {layout.width} columns, {found}", path=path, line=line)
