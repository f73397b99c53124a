"""Write a table of results to a .csv, .tsv or .parquet file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from transa.data.streams import check_suffix
from transa.errors import InputError
from transa.storage import atomic_file

#: The suffixes of files that hold a table, written here and read by `transa.data.name_files`.
SUFFIXES = (".csv", ".tsv", ".parquet")

#: Rows that are turned into text at a time.
CHUNK = 1 << 14


def check_target(path: Path, suffixes: tuple[str, ...] = SUFFIXES, *, overwrite: bool = False) -> None:
    """Raise an `InputError` where a file cannot be written.

    Call it before the work whose result the file is to hold, so that nobody waits for a result that is then lost.
    """
    check_suffix(path, path.suffix.lower(), suffixes)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", path=path)
    if path.exists() and not overwrite:
        raise InputError("exists already; pass --overwrite (overwrite=True) to replace it", path=path)


def write_table(table: pa.Table, path: Path, *, overwrite: bool = False) -> Path:
    """Write a table. In text, numbers keep all their digits, and a missing value is an empty field."""
    check_target(path, overwrite=overwrite)
    with atomic_file(path, overwrite=overwrite) as file:
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, file)
        else:
            write_text(table, file, "," if path.suffix.lower() == ".csv" else "\t")
    return path


def write_text(table: pa.Table, file: BinaryIO, delimiter: str) -> None:
    """Write a table as delimited text to an open file."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=CHUNK):
        writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    text.detach()  # flushes; the file is closed by whoever opened it
