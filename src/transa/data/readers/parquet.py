"""Parquet files of triples by name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.readers.delimited import TextOptions, usual_columns
from transa.data.readers.streams import check_exists, reading
from transa.data.table import TripleTable
from transa.errors import InputError, suggest


def read_parquet(path: Path, options: TextOptions | None = None) -> TripleTable:
    """Read head, relation, tail and perhaps label from the named columns, from usual names, or from the first three or four."""
    check_exists(path)
    with reading(path):
        try:
            available = pq.read_schema(path).names
            columns = _columns(path, available, options.columns if options else None)
            table = pq.read_table(path, columns=columns, read_dictionary=columns[:3], partitioning=None).select(columns)
        except pa.ArrowException as error:
            raise InputError(f"not a readable Parquet file ({error})", path=path) from None
    if not table.num_rows:
        raise InputError("the file holds no triple", path=path)
    return TripleTable.from_frame(table, path=path)


def _columns(path: Path, available: list[str], asked: tuple[str | int, ...] | None) -> list[str]:
    if asked is None:
        usual = usual_columns(available)
        if usual is None and len(available) not in (3, 4):
            raise InputError(
                f"expected 3 or 4 columns, or columns named head, relation and tail; found {', '.join(available) or 'none'}; "
                "say which with --columns (columns=)",
                path=path,
            )
        return [available[position] for position in usual or range(len(available))]
    chosen = []
    for column in asked:
        if isinstance(column, int) and not 0 <= column < len(available):
            raise InputError(f"no column {column}: the file has columns 0 to {len(available) - 1}", path=path)
        name = available[column] if isinstance(column, int) else column
        if name not in available:
            raise InputError(f"no column {name!r} among {', '.join(available)}{suggest(name, available)}", path=path)
        chosen.append(name)
    return chosen
