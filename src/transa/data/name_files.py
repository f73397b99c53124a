"""Read columns of names from a .csv, .tsv or .parquet file, such as a list of questions that somebody wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from transa.data.formats.parquet import read_checked
from transa.data.result_files import SUFFIXES
from transa.data.streams import check_exists, check_suffix, format_suffix, reading
from transa.data.text_files import records
from transa.errors import InputError, quote


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row: its number, counted from 1 after the header, and the values of the columns. A missing value is an empty string.

    Raises
    ------
    InputError
        If the file is not a .csv, .tsv or .parquet file, lacks one of the columns, or has no rows.
    """
    check_exists(path)
    suffix = format_suffix(path)
    check_suffix(path, suffix, SUFFIXES)
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

    with reading(path):
        try:
            table = read_checked(path)
        except pa.ArrowException as error:
            raise InputError(f"not a readable Parquet file ({error})", path=path) from None
    yield list(table.column_names)
    for row in table.to_pylist():
        yield ["" if value is None else str(value) for value in row.values()]
