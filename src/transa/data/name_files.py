"""Read columns of names from a .csv, .tsv or .parquet file, such as a list of questions that somebody wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from transa.data.formats.parquet import read_checked
from transa.data.places import Places
from transa.data.result_files import SUFFIXES
from transa.data.streams import check_exists, check_suffix, format_suffix, reading
from transa.data.text_files import records
from transa.errors import InputError, quote


def read_columns(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, str]], Places]:
    """Return the values of the columns of each row, and the places of the rows. A missing value is an empty string.

    Raises
    ------
    InputError
        If the file is not a .csv, .tsv or .parquet file, lacks one of the columns, or has no rows.
    """
    check_exists(path)
    suffix = format_suffix(path)
    check_suffix(path, suffix, SUFFIXES)
    rows = _parquet(path) if suffix == ".parquet" else _text(path, "\t" if suffix == ".tsv" else ",")
    _, first = next(rows, (0, []))
    header = [name.strip().lower() for name in first]
    missing = [name for name in columns if header.count(name) != 1]
    if missing:
        found = ", ".join(map(quote, header[:20])) or "nothing"
        raise InputError(f"expected the columns {', '.join(columns)} in the first line, found {found}", path=path)
    numbers: list[int] = []
    places = Places(path, "row" if suffix == ".parquet" else "line", numbers)
    values: list[dict[str, str]] = []
    for number, fields in rows:
        numbers.append(number)
        if len(fields) != len(header):
            wrong = f"expected {len(header)} columns, found {len(fields)}: {quote(', '.join(fields))}"
            raise places.error(wrong, len(values))
        values.append({name: fields[header.index(name)].strip() for name in columns})
    if not values:
        raise InputError("the file holds no rows", path=path)
    return values, places


def _text(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, with their lines."""
    for line, fields in records(path, delimiter, quoting=True):
        if any(field.strip() for field in fields):
            yield line, fields


def _parquet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the names of the columns, and the rows counted from 1."""
    import pyarrow as pa

    with reading(path):
        try:
            table = read_checked(path)
        except pa.ArrowException as error:
            raise InputError(f"not a readable Parquet file ({error})", path=path) from None
    yield 0, list(table.column_names)
    for number, row in enumerate(table.to_pylist(), start=1):
        yield number, ["" if value is None else str(value) for value in row.values()]
