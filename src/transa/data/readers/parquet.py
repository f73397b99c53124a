"""Parquet files of triples by name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.readers.delimited import TextOptions, chosen_columns, usual_columns
from transa.data.readers.streams import check_exists, check_unpacked, reading
from transa.data.table import TripleTable, index_columns
from transa.errors import InputError
from transa.storage import check_regular

#: Bytes that a row of three or four numbers takes in memory.
ROW = 16


def read_parquet(path: Path, options: TextOptions | None = None) -> TripleTable:
    """Read head, relation, tail and perhaps label from the named columns, from usual names, or from the first three or four."""
    check_exists(path)
    with reading(path):
        try:
            columns = _columns(path, checked_schema(path), options.columns if options else None)
            table = pq.read_table(path, columns=columns, read_dictionary=columns[:3], partitioning=None).select(columns)
            table.validate(full=True)  # of text that is no UTF-8, and of numbers that lead out of a dictionary
            if not table.num_rows:
                raise InputError("the file holds no triple", path=path)
            # An index that was chosen is a column.
            return TripleTable.from_frame(table.replace_schema_metadata(), path=path)
        except pa.ArrowException as error:
            raise InputError(f"not a readable Parquet file ({error})", path=path) from None


def checked_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet file, having looked whether all of it fits into memory and is what it says.

    A part that claims more rows than it has makes pyarrow read for ever.
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


def _columns(path: Path, schema: pa.Schema, asked: tuple[str | int, ...] | None) -> list[str]:
    available: list[str] = schema.names
    chosen = usual_columns(available) if asked is None else chosen_columns(asked, available, path=path)
    if chosen is not None:
        return [available[position] for position in chosen]
    available = [name for name in available if name not in index_columns(schema)]
    if len(available) not in (3, 4):
        raise InputError(
            f"expected 3 or 4 columns, or columns named head, relation and tail; found {', '.join(available) or 'none'}; "
            "say which with --columns (columns=)",
            path=path,
        )
    return available
