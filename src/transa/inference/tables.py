"""Small tables of names that people write: questions and triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from transa.data.readers.parquet import checked_schema
from transa.data.readers.rows import records
from transa.data.readers.streams import check_exists, format_suffix, reading
from transa.errors import InputError, quote

SUFFIXES = (".csv", ".tsv", ".parquet")


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row, from 1 and without the header, and its values, those that are missing as empty strings.

    Raises
    ------
    InputError
        If the file is no .csv, .tsv or .parquet, lacks one of the columns, or has no rows.
    """
    check_exists(path)
    suffix = format_suffix(path)
    if suffix not in SUFFIXES:
        raise InputError(f"unknown suffix {suffix!r}; expected .csv, .tsv or .parquet", path=path)
    rows = _parquet(path) if suffix == ".parquet" else _text(path, "\t" if suffix == ".tsv" else ",")
    header = [name.strip().lower() for name in next(rows, [])]
    missing = [name for name in columns if header.count(name) != 1]
    if missing:
        found = ", ".join(map(quote, header[:20])) or "nothing"
        raise InputError(f"expected the columns {', '.join(columns)} in the first line, found {found}", path=path)
    places = {name: header.index(name) for name in columns}
    number = 0
    for number, fields in enumerate(rows, start=1):
        if len(fields) != len(header):
            raise InputError(
                f"expected {len(header)} columns, found {len(fields)}: {quote(', '.join(fields))}",
                path=path,
                line=number,
                unit="row",
            )
        yield number, {name: fields[place].strip() for name, place in places.items()}
    if not number:
        raise InputError("the file holds no rows", path=path)


def _text(path: Path, delimiter: str) -> Iterator[list[str]]:
    for _, fields in records(path, delimiter, quoting=True):
        if any(field.strip() for field in fields):
            yield fields


def _parquet(path: Path) -> Iterator[list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path):
        try:
            checked_schema(path)
            table = pq.read_table(path, partitioning=None)
            table.validate(full=True)
        except pa.ArrowException as error:
            raise InputError(f"not a readable Parquet file ({error})", path=path) from None
    yield list(table.column_names)
    for row in table.to_pylist():
        yield ["" if value is None else str(value) for value in row.values()]
