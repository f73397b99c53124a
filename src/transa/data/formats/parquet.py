"""Parquet files of triples by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.columns import chosen_columns, in_order, type_columns, unused, usual_columns
from transa.data.formats.base import FileFormat, ReadOptions
from transa.data.graph import KnowledgeGraph, Split
from transa.data.places import Places
from transa.data.streams import check_exists, check_unpacked, reading
from transa.data.triple_table import TripleTable, index_columns, types_of
from transa.errors import InputError, quote
from transa.storage import check_regular

#: Bytes that a row of three or four numbers takes in memory.
ROW = 16


class Parquet(FileFormat):
    """Parquet files with columns of names. A folder of this name is a saved graph, see `transa.data.formats.saved`."""

    name = "parquet"
    description = "Parquet with columns of names"
    extensions = (".parquet",)
    holds_labels = True
    compressible = False

    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        """Read the columns that were asked for, those with usual names, or the first three or four."""
        check_exists(path)
        with reading(path):
            try:
                schema, asked = checked_schema(path), options.confidence_column
                numbers = [] if asked is None else [schema.names[chosen_columns([asked], schema.names, path=path)[0]]]
                columns, typed, notes = _columns(path, schema, options.columns, numbers)
                needed = list(dict.fromkeys([*columns, *numbers, *(name for pair in typed for name in pair)]))
                table = read_checked(path, columns=needed, read_dictionary=columns[:3])
                if not table.num_rows:
                    raise InputError("the file holds no triple", path=path)
                # The metadata may call a column the index of a frame; if somebody asked for that column, it is one like any other.
                found = TripleTable.from_frame(table.select(columns).replace_schema_metadata(), Places(path))
                confidence = _numbers(table.column(numbers[0]), numbers[0], path) if numbers else None
                places = [(table.column_names.index(end), table.column_names.index(name)) for end, name in typed]
                return replace(found, confidence=confidence, notes=notes, types=types_of(table, places))
            except pa.ArrowException as error:
                raise InputError(f"not a readable Parquet file ({error})", path=path) from None

    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        """Write columns head, relation, tail and perhaps label."""
        pq.write_table(pa.concat_tables([graph.named(split) for split in splits]), file)


def read_checked(path: Path, **options: Any) -> pa.Table:
    """Read a Parquet file and check what it claims. The options are those of `pyarrow.parquet.read_table`."""
    names = checked_schema(path).names
    if options:
        table = pq.read_table(path, partitioning=None, **options)
    else:  # the same for whole files, without loading pandas
        for name, times in Counter(names).most_common(1):
            if times > 1:
                raise InputError(f"{times:,} columns are called {quote(name)}", path=path)
        with pq.ParquetFile(path) as file:
            table = file.read()
    table.validate(full=True)  # finds text that is not UTF-8, and numbers that lead out of a dictionary
    return table


def checked_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet file, after a check that its content fits into memory and that its row counts agree.

    pyarrow would read for ever in a file one part of which claims more rows than it has.
    """
    check_regular(path)
    if path.is_dir():
        raise IsADirectoryError
    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        schema.names  # noqa: B018
    except UnicodeDecodeError as error:
        raise InputError(f"the name of a column is not UTF-8 ({error})", path=path) from None
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) != metadata.num_rows or any(group.num_rows < 0 for group in groups):
        raise InputError("not a readable Parquet file (its parts have other numbers of rows than it says)", path=path)
    packed = sum(group.total_byte_size for group in groups)
    check_unpacked(path, max(packed, ROW * metadata.num_rows))
    return schema


def _numbers(column: pa.ChunkedArray, name: str, path: Path) -> npt.NDArray[np.float64]:
    try:
        numbers: npt.NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        raise InputError(f"column {name!r} holds {column.type}; expected numbers", path=path) from None
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InputError(f"expected a number in column {name!r}", path=path, line=int(wrong[0]) + 1, unit="row")
    return numbers


def _columns(
    path: Path, schema: pa.Schema, asked: tuple[str | int, ...] | None, numbers: list[str]
) -> tuple[list[str], list[tuple[str, str]], tuple[str, ...]]:
    """Return the columns of head, relation, tail and perhaps label, pairs of entities and types, and notes on the choice."""
    every: list[str] = schema.names
    index = index_columns(schema)
    chosen = usual_columns(every) if asked is None else chosen_columns(asked, every, path=path)
    if chosen is not None:
        columns = [every[position] for position in chosen]
        typed = [(every[end], every[types]) for end, types in type_columns(every, chosen[0], chosen[2])]
        rest = [name for name in every if name not in (*index, *numbers, *columns, *(name for _, name in typed))]
        return columns, typed, unused(rest, (), path)
    available = [name for name in every if name not in (*index, *numbers)]
    places, notes = in_order(available, path)
    return [available[position] for position in places], [], notes
