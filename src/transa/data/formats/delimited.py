"""TSV, CSV and other delimited text.

Two readers share the work. Arrow reads plain text fast, in parallel and block by block. Text that is not plain (quotes, a wrong number
of columns, bad bytes) goes to a careful reader, which reads it or names the line that is wrong.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from transa.data.columns import chosen_columns, type_columns, unused, usual_columns
from transa.data.formats.base import FileFormat, ReadOptions
from transa.data.graph import KnowledgeGraph, Split
from transa.data.header import HINTED, may_be_header, starts_with_header
from transa.data.places import Places
from transa.data.streams import format_suffix, open_bytes, reading
from transa.data.text_files import MAX_NAME, records
from transa.data.triple_table import NAMES, TableBuilder, TripleTable, types_of
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote

#: Delimiters tried in turn, by suffix; the first that gives at least three fields wins.
DELIMITERS = {".tsv": "\t", ".csv": ",;\t|"}
DEFAULT_DELIMITERS = "\t,;| "

#: Bytes that Arrow reads at a time. Larger blocks leave fewer dictionaries to merge; smaller ones need less memory.
BLOCK = 1 << 24
#: Lines that are looked at to tell what a column holds.
SNIFFED = 100
#: Rows that are turned into text at a time.
CHUNK = 1 << 16


class _Delimited(FileFormat):
    """What TSV and CSV share: all but the delimiter that is written."""

    holds_labels = True
    delimiter: ClassVar[str]

    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        """Read delimited text, plain or compressed."""
        layout = _layout(path, options)
        table = (None if options.lines else _read_fast(path, layout)) or _read_carefully(path, layout)
        if layout.undecided and starts_with_header(table):
            table = self.read(path, replace(options, header=True))
            note = (
                f"{path}: the first line ({', '.join(layout.first)}) was taken as a header: nothing in it comes again; "
                "--no-header (header=False) takes it as a triple"
            )
            return replace(table, notes=(note, *table.notes))
        return table.with_notes(*layout.notes)

    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        """Write delimited text. CSV gets a header; TSV gets one only if its first triple would be taken for one."""
        delimiter = self.delimiter
        entities, relations = (_escaped(names, delimiter) for names in (graph.entities, graph.relations))
        first = graph.triples(splits[0])[0]
        labelled = graph.labels(splits[0]) is not None
        opening = [graph.entities[first[0]], graph.relations[first[1]], graph.entities[first[2]]]
        if delimiter == "," or usual_columns(opening) is not None or _stands_alone(graph, splits):
            file.write(delimiter.join(["head", "relation", "tail", *(["label"] if labelled else [])]).encode() + b"\n")
        for split in splits:
            triples, labels = graph.triples(split), graph.labels(split)
            for start in range(0, len(triples), CHUNK):
                rows = triples[start : start + CHUNK].tolist()
                lines = [delimiter.join((entities[h], relations[r], entities[t])) for h, r, t in rows]
                if labels is not None:
                    marks = labels[start : start + CHUNK].tolist()
                    lines = [f"{line}{delimiter}{mark}" for line, mark in zip(lines, marks, strict=True)]
                file.write(("\n".join(lines) + "\n").encode())


def _stands_alone(graph: KnowledgeGraph, splits: Sequence[Split]) -> bool:
    """Tell whether the relation of the first triple never comes again, so that this triple could be taken for a header."""
    relations = np.concatenate([graph.triples(split)[:, 1] for split in splits])
    return len(relations) > HINTED and int((relations == relations[0]).sum()) == 1


class Tsv(_Delimited):
    """Text with tabs. `read_file` also takes it for files whose extension no format knows."""

    name = "tsv"
    description = "text with tabs; .txt may have other delimiters"
    extensions = (".tsv", ".txt", "")
    delimiter = "\t"


class Csv(_Delimited):
    """Text with commas and a header."""

    name = "csv"
    description = "text with commas and a header"
    extensions = (".csv",)
    delimiter = ","


def _escaped(names: Vocabulary, delimiter: str) -> list[str]:
    for name in names:
        if "\0" in name or len(name) > MAX_NAME:
            raise InputError(
                f"the name {quote(name)} holds a NUL character or is too long for a text file; use parquet"
            )
    special = (delimiter, '"', "\n", "\r", "\ufeff")
    return ['"' + name.replace('"', '""') + '"' if any(mark in name for mark in special) else name for name in names]


@dataclass(frozen=True)
class _Layout:
    delimiter: str
    quotes: bool
    header: bool
    plain_start: bool
    first: list[str]
    columns: tuple[int, ...]
    confidence: int | None
    types: list[tuple[int, int]]
    undecided: bool
    notes: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.first)


def _layout(path: Path, options: ReadOptions) -> _Layout:
    delimiter, line, first = _sniff(path, options)
    usual = usual_columns(first)
    asked, header = options.confidence_column, bool(options.header) or options.by_name
    confidence = None if asked is None else chosen_columns([asked], first, path=path, line=line)[0]
    over = None if options.header is False else _over_numbers(path, options, delimiter, first, confidence)
    guessed = options.header is None and not header and (usual is not None or over is not None)
    columns = _positions(path, line, options, first, confidence, usual if header or guessed else None)
    if options.columns is None and over is not None and usual is None and len(columns) == 4:
        columns = columns if over == "labels" else columns[:3]
    notes: tuple[str, ...] = (f"{path}: the first line was taken as a header",) if guessed else ()
    types = type_columns(first, columns[0], columns[2]) if header or guessed else []
    if header or guessed:
        notes += unused(first, (*columns, confidence, *(column for _, column in types)), path)
    return _Layout(
        delimiter,
        options.quotes,
        header or guessed,
        line == 1 and not any(end in field for field in first for end in "\r\n"),
        first,
        columns,
        confidence,
        types,
        options.header is None and not header and not guessed and len(columns) == 3,
        notes,
    )


def _over_numbers(
    path: Path, options: ReadOptions, delimiter: str, first: list[str], confidence: int | None
) -> Literal["labels", "numbers"] | None:
    """Tell what stands in the column of confidence, or in a fourth column, if that is numbers in all lines but the first."""
    column = confidence if confidence is not None else 3 if len(first) == 4 and options.columns is None else None
    if column is None or _is_number(first[column]) or not may_be_header(first):
        return None
    following = islice(records(path, delimiter, quoting=options.quotes), 1, 1 + SNIFFED)
    below = [fields[column] if len(fields) == len(first) else "" for _, fields in following]
    if not below or not all(map(_is_number, below)):
        return None
    return "labels" if set(below) <= {"1", "-1"} else "numbers"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _sniff(path: Path, options: ReadOptions) -> tuple[str, int, list[str]]:
    """Return the delimiter, and the first record under it with its line."""
    candidates = options.delimiter or DELIMITERS.get(format_suffix(path), DEFAULT_DELIMITERS)
    for delimiter in candidates:
        try:
            line, fields = next(records(path, delimiter, quoting=options.quotes), (0, []))
        except InputError:
            continue  # the quotes do not fit this delimiter; if they fit none, the lines below raise the first one's error
        if len(fields) >= 3:
            return delimiter, line, fields
    line, fields = next(records(path, candidates[0], quoting=options.quotes), (0, []))
    if not fields:
        raise InputError("the file is empty", path=path)
    return candidates[0], line, fields


def _positions(
    path: Path, line: int, options: ReadOptions, first: list[str], confidence: int | None, usual: tuple[int, ...] | None
) -> tuple[int, ...]:
    if options.columns is not None:
        return chosen_columns(options.columns, first, path=path, line=line)
    if usual is not None:
        return usual
    others = tuple(position for position in range(len(first)) if position != confidence)
    if len(others) == 3 or (len(others) == 4 and confidence is None):
        return others
    hint = "; say which columns to take with --columns (columns=)" if len(first) > 4 else ""
    raise InputError(
        f"expected 3 columns (head, relation, tail) or 4 (with a label), found {len(first)}: {quote(' | '.join(first))}{hint}",
        path=path,
        line=line,
    )


def _read_fast(path: Path, layout: _Layout) -> TripleTable | None:
    """Read plain text with Arrow, in parallel and block by block. Return None if anything about it is not plain."""
    if ord(layout.delimiter) > 127 or not layout.plain_start:
        return None
    every = [f"f{column}" for column in range(layout.width)]
    used = [every[column] for column in layout.columns]
    numbers = [] if layout.confidence is None else [every[layout.confidence]]
    types = [every[column] for _, column in layout.types]
    # A quote in any column may hide delimiters and line ends. So where quotes count, the unused columns are looked at too.
    others = [name for name in every if name not in (*used, *numbers)] if layout.quotes else types
    with reading(path), open_bytes(path) as stream:
        try:
            table = arrow_csv.read_csv(
                stream.raw,
                arrow_csv.ReadOptions(block_size=BLOCK, column_names=every, skip_rows=int(layout.header)),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char=False, double_quote=False),
                arrow_csv.ConvertOptions(
                    include_columns=used + numbers + others,
                    column_types=dict.fromkeys(used, NAMES)
                    | dict.fromkeys(numbers, pa.float64())
                    | dict.fromkeys(others, pa.string()),
                    strings_can_be_null=False,
                ),
            )
        except (pa.ArrowInvalid, OSError):
            return None  # the careful reader knows the line
    columns = [table.column(name) for name in used]
    if not table.num_rows or not all(_plain(chunk.dictionary, layout) for column in columns for chunk in column.chunks):
        return None
    if layout.quotes and any(pc.any(pc.starts_with(table.column(name), '"')).as_py() for name in others):
        return None
    labels = _labels(columns[3]) if len(columns) == 4 else None
    if len(columns) == 4 and labels is None:
        return None
    confidence = table.column(numbers[0]).to_numpy() if numbers else None
    if confidence is not None and not np.isfinite(confidence).all():
        return None
    pairs = [(table.column_names.index(every[end]), table.column_names.index(every[at])) for end, at in layout.types]
    found = types_of(table, pairs)
    return TripleTable(columns[0], columns[1], columns[2], labels=labels, confidence=confidence, types=found)


def _plain(names: pa.Array, layout: _Layout) -> bool:
    """Tell whether the careful reader would read the same names: there is no quote to undo, no blank, NUL or overlong name."""
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
    labels, confidence, lines = array("b"), array("d"), array("q")
    types: dict[str, set[str]] = {}
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
                hint = "" if labels else "; for a column that holds no labels, see --columns and --minimum-confidence"
                raise InputError(f"expected the label 1 or -1, found {quote(rest[0])}{hint}", path=path, line=line)
            labels.append(int(rest[0]))
        if layout.confidence is not None:
            if not _is_number(fields[layout.confidence]):
                found = quote(fields[layout.confidence])
                raise InputError(
                    f"expected a number in column {layout.confidence}, found {found}", path=path, line=line
                )
            confidence.append(float(fields[layout.confidence]))
        for end, column in layout.types:
            if fields[column].strip():
                types.setdefault(fields[end], set()).add(fields[column])
        builder.add(head, relation, tail)
        lines.append(line)
    if not len(builder):
        raise InputError("the file holds a header and no triple" if layout.header else "the file is empty", path=path)
    return builder.table(
        labels=np.array(labels, dtype=np.int8) if labels else None,
        confidence=np.array(confidence) if confidence else None,
        types=types,
        places=Places(path, "line", lines),
    )


def _wrong_width(path: Path, line: int, fields: list[str], layout: _Layout) -> None:
    found = f"found {len(fields)}: {quote(layout.delimiter.join(fields))}"
    if {len(fields), layout.width} == {3, 4}:
        raise InputError(
            f"labelled and unlabelled lines are mixed: expected {layout.width} columns as in the first line, {found}",
            path=path,
            line=line,
        )
    raise InputError(f"expected {layout.width} columns, {found}", path=path, line=line)
