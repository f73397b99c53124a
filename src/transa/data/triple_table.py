"""Triples by name, as a format reads them, before names become ids."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transa.data.columns import chosen_columns, in_order, type_columns, unused, usual_columns
from transa.data.places import Places
from transa.data.vocabulary import as_name, is_missing
from transa.errors import InputError, quote

#: A column of names: each distinct string is held once per chunk, the rows are numbers.
NAMES = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class TripleTable:
    """Heads, relations and tails as dictionary-encoded Arrow columns, with labels if the source has them.

    Attributes
    ----------
    heads, relations, tails
        Columns of type `NAMES`, of equal length.
    labels
        1 (true) or -1 (false) for each row, or None.
    names, descriptions
        Readable names and descriptions by key, for entities and relations alike.
    types, domains, ranges
        The types of entities, and those of the heads and tails of relations, by key.
    notes
        What a user should know about how the file was read: that lines were skipped, that a header was recognised.
    confidence
        How sure the source is of each row, if somebody asked for that column.
    places
        Where the rows stand in the source, for messages.
    """

    heads: pa.ChunkedArray
    relations: pa.ChunkedArray
    tails: pa.ChunkedArray
    labels: npt.NDArray[np.int8] | None = None
    names: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)
    domains: dict[str, set[str]] = field(default_factory=dict)
    ranges: dict[str, set[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    confidence: npt.NDArray[np.float64] | None = None
    places: Places = field(default_factory=Places)

    def __len__(self) -> int:
        return len(self.heads)

    @classmethod
    def of(cls, source: Any, columns: Sequence[str | int] | None = None) -> TripleTable:
        """Take triples as Python code holds them: rows, an array, or a pandas, polars or Arrow frame.

        The columns of a frame are those asked for, or those with the usual names, in any order; or else the first three, and a fourth
        called label.
        """
        if isinstance(source, TripleTable):
            return source
        if hasattr(source, "__arrow_c_stream__"):
            table = _arrow(source)
            table = table.drop_columns(index_columns(table.schema))
            names, index = table.column_names, getattr(source, "index", None)  # only pandas has one
            places = Places() if index is None else Places(unit="index", numbers=index)
            usual = usual_columns(names) if columns is None else chosen_columns(columns, names)
            chosen, notes = in_order(names) if usual is None else (usual, ())
            typed = [] if usual is None else type_columns(names, chosen[0], chosen[2])
            if usual is not None:
                notes = unused(names, (*chosen, *(column for _, column in typed)))
            found = cls.from_frame(table.select(list(chosen)), places).with_notes(*notes)
            return replace(found, types=types_of(table, typed))
        if columns is not None:
            raise InputError(
                f"expected a pandas, polars or Arrow frame, found {type(source).__name__}: {quote(source)}"
            )
        if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
            raise InputError(
                f"expected rows of head, relation and tail, or a frame, found {type(source).__name__}: {quote(source)}"
            )
        return cls.from_rows(source.tolist() if isinstance(source, np.ndarray) else source)

    @classmethod
    def from_rows(cls, rows: Iterable[Any]) -> TripleTable:
        """Collect rows of ``(head, relation, tail)`` or ``(head, relation, tail, label)``; names are turned into strings."""
        builder = TableBuilder()
        labels = array("b")
        for number, (names, label) in enumerate(_named(rows), start=1):
            builder.add(*names)
            if label is not None:
                labels.append(label)
            if len(labels) not in (0, number):
                raise InputError("labelled and unlabelled rows are mixed", line=number, unit="row")
        return builder.table(labels=np.array(labels, dtype=np.int8) if labels else None)

    @classmethod
    def from_frame(cls, table: pa.Table, places: Places) -> TripleTable:
        """Take the three columns of an Arrow table as heads, relations and tails, and a fourth as labels."""
        columns = [table.column(position) for position in range(table.num_columns)]
        heads, relations, tails = (_encode(columns[i], table.column_names[i], places) for i in range(3))
        labels = None if len(columns) == 3 else _labels(columns[3], places)
        return cls(heads, relations, tails, labels=labels, places=places)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return heads, relations and tails."""
        return list(zip(*(column.to_pylist() for column in (self.heads, self.relations, self.tails)), strict=True))

    def trainable(self) -> TripleTable:
        """Return the table itself, or raise an `InputError` if a row is labelled false."""
        if self.labels is not None and (self.labels == -1).any():
            row = int(np.argmax(self.labels == -1))
            raise self.places.error("a triple labelled -1 (false) cannot be trained on", row)
        return self

    def with_notes(self, *notes: str) -> TripleTable:
        """Return the same table with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def where(self, kept: npt.NDArray[np.bool_]) -> TripleTable:
        """Return some of the rows; names that stand in no other row are gone."""
        mask = pa.array(kept)
        heads, relations, tails = (
            _encode(column.filter(mask).cast(pa.string()), "", self.places)
            for column in (self.heads, self.relations, self.tails)
        )
        labels, places = None if self.labels is None else self.labels[kept], self.places.where(kept)
        changed = replace(self, heads=heads, relations=relations, tails=tails, labels=labels)
        return replace(changed, confidence=None, places=places)


def rows_of(source: Any) -> tuple[list[tuple[str, str, str]], Places]:
    """Return heads, relations and tails of triples as Python code holds them (`TripleTable.of`), and their places; no labels.

    A list of rows does not become a table for it: Arrow would load pandas.
    """
    if isinstance(source, list | tuple):
        return [names for names, _ in _named(source)], Places()
    table = TripleTable.of(source)
    return table.rows(), table.places


def _named(rows: Iterable[Any]) -> Iterator[tuple[tuple[str, str, str], int | None]]:
    """Yield the names and the label, if there is one, of each row."""
    for number, row in enumerate(rows, start=1):
        if isinstance(row, str | bytes | Mapping | Set) or not isinstance(row, Iterable):
            raise InputError(f"expected 3 or 4 values, found {quote(row)}", line=number, unit="row")
        row = tuple(row)
        if len(row) not in (3, 4):
            raise InputError(f"expected 3 or 4 values, found {len(row)}: {quote(row)}", line=number, unit="row")
        try:
            head, relation, tail = map(as_name, row[:3])
        except InputError as error:
            raise InputError(str(error), line=number, unit="row") from None
        if len(row) == 4 and (is_missing(row[3]) or row[3] not in (1, -1, "1", "-1")):
            raise InputError(f"expected the label 1 or -1, found {quote(row[3])}", line=number, unit="row")
        yield (head, relation, tail), int(row[3]) if len(row) == 4 else None


def _texts(names: Iterable[str]) -> pa.Array:
    """Return an Arrow array of texts. `pyarrow.array` would load pandas."""
    builder = pa.lib.StringBuilder()
    builder.append_values(names)
    return builder.finish()


def _numbers(ids: array[int]) -> pa.Array:
    """Return an Arrow array of ids, without a copy and without pandas."""
    return pa.Array.from_buffers(pa.int32(), len(ids), [None, pa.py_buffer(ids)])


class TableBuilder:
    """Collects named triples one by one; each distinct name is stored once."""

    def __init__(self) -> None:
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._columns = (array("i"), array("i"), array("i"))

    def add(self, head: str, relation: str, tail: str) -> None:
        """Append one triple."""
        entities, relations = self._ids
        heads, edges, tails = self._columns
        heads.append(entities.setdefault(head, len(entities)))
        edges.append(relations.setdefault(relation, len(relations)))
        tails.append(entities.setdefault(tail, len(entities)))

    def __len__(self) -> int:
        return len(self._columns[0])

    def table(self, **fields: Any) -> TripleTable:
        """Return what was collected; `fields` are the other attributes of the `TripleTable`."""
        entities, relations = map(_texts, self._ids)
        columns = (
            pa.chunked_array([pa.DictionaryArray.from_arrays(_numbers(column), names)], NAMES)
            for column, names in zip(self._columns, (entities, relations, entities), strict=True)
        )
        return TripleTable(*columns, **fields)


def types_of(table: pa.Table, columns: Iterable[tuple[int, int]]) -> dict[str, set[str]]:
    """Return the types of entities in a table: of each pair of columns, the first holds entities and the second a type of each.

    A blank or missing type says nothing.
    """
    found: dict[str, set[str]] = {}
    for entities, types in columns:
        pairs = pa.table(
            {"entity": table.column(entities).cast(pa.string()), "type": table.column(types).cast(pa.string())}
        )
        for row in pairs.group_by(["entity", "type"]).aggregate([]).to_pylist():
            if row["type"] is not None and row["type"].strip():
                found.setdefault(row["entity"], set()).add(row["type"])
    return found


def index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that hold the index of a pandas frame, which is no data of the user's."""
    try:
        metadata = schema.pandas_metadata
    except (ValueError, RecursionError):
        return []  # not what pandas writes
    index = metadata.get("index_columns") if isinstance(metadata, dict) else None
    return [name for name in index if isinstance(name, str) and name in schema.names] if isinstance(index, list) else []


def _arrow(frame: Any) -> pa.Table:
    try:
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except pa.ArrowException as error:
        raise InputError(f"a column holds neither strings nor whole numbers alone ({error})") from None


def _encode(column: pa.ChunkedArray, name: str, places: Places) -> pa.ChunkedArray:
    if not len(column):
        return pa.chunked_array([], NAMES)  # whatever the type of a column without values
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    missing = pc.index(pc.is_null(column, nan_is_null=pa.types.is_floating(kind)), True).as_py()
    if missing >= 0:
        raise places.error(f"a missing name (None, NaN or NA) in column {name!r}", missing)
    if not (_is_string(kind) or pa.types.is_integer(kind)):
        whole = pa.types.is_floating(kind) and pc.all(pc.equal(pc.floor(column), column)).as_py()
        hint = (
            ": where a value is missing, pandas makes 3.0 of 3, and astype('int64') makes 3 of it again"
            if whole
            else ""
        )
        raise InputError(f"column {name!r} holds {kind}; expected strings or whole numbers{hint}", path=places.path)
    chunks, rows = [], 0
    for chunk in column.chunks:  # one at a time: the strings of a chunk are gone before the next one's are made
        if isinstance(chunk, pa.DictionaryArray):  # some kinds of strings cannot be decoded before they are converted
            chunk = pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
        strings = chunk.cast(pa.string())
        encoded = strings.dictionary_encode().cast(NAMES)
        if pc.any(pc.equal(pc.utf8_trim_whitespace(encoded.dictionary), "")).as_py():
            blank = rows + pc.index(pc.equal(pc.utf8_trim_whitespace(strings), ""), True).as_py()
            raise places.error(f"a blank name in column {name!r}", blank)
        chunks.append(encoded)
        rows += len(chunk)
    return pa.chunked_array(chunks, NAMES)


def _labels(column: pa.ChunkedArray, places: Places) -> npt.NDArray[np.int8]:
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if not (_is_string(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"the column of labels holds {kind}; expected 1 or -1", path=places.path)
    texts = column.cast(pa.string())
    row = pc.index(pc.is_in(texts, value_set=pa.array(["1", "-1"])), False).as_py()
    if row >= 0:
        raise places.error(f"expected the label 1 or -1, found {quote(column[row])}", row)
    return np.where(pc.equal(texts, "1").to_numpy(), 1, -1).astype(np.int8)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
