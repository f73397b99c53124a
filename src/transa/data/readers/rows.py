"""Delimited text, record by record, with the line of everything that is wrong.

This is the careful way: the `csv` module in strict mode over lines that are checked one by one. `delimited` takes a faster way
where the text is plain, and comes here where it is not, so that what this module accepts is what the package accepts.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from transa.data.readers.streams import open_bytes, reading
from transa.errors import InputError, quote

#: The longest name, in characters.
MAX_NAME = 65_536
#: The longest line, in bytes.
MAX_LINE = 1 << 20

_BOM = b"\xef\xbb\xbf"


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their ends; a byte-order mark at the start is dropped.

    Lines end in LF, CR LF or CR, as everywhere in this package, so that both ways of reading see the same ones.
    """
    for number, line in enumerate(_byte_lines(path), start=1):
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line) > MAX_LINE:
            start = quote(line[:40].decode(errors="replace"))
            raise InputError(f"a line of more than {MAX_LINE:,} bytes, starting {start}", path=path, line=number)
        if b"\0" in line:
            raise InputError(
                f"a NUL byte in column {line.index(0) + 1}: this is not a text file", path=path, line=number
            )
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            wrong = f"byte 0x{line[error.start]:02x} in column {error.start + 1}"
            raise InputError(f"invalid UTF-8: {wrong}", path=path, line=number) from None


def _byte_lines(path: Path) -> Iterator[bytes]:
    """Yield lines with their ends, and of one that is longer than `MAX_LINE` only a piece that is longer too."""
    rest = b""
    with reading(path), open_bytes(path) as file:
        while block := file.readline(MAX_LINE + 1):
            if not rest and block.endswith(b"\n") and b"\r" not in block:
                yield block
                continue
            lines = (rest + block).splitlines(keepends=True)
            rest = (
                b"" if block.endswith(b"\n") else lines.pop()
            )  # without LF, the last line may go on in the next block
            yield from lines
            if len(rest) > MAX_LINE:
                break
    if rest:
        yield rest


def records(path: Path, delimiter: str, *, quoting: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not an empty line, with the number of its first line."""
    reader = csv.reader(
        text_lines(path),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        doublequote=True,
        strict=True,
    )
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(_explain(str(error), delimiter), path=path, line=line) from None
        if not fields:
            continue
        for field in fields:
            if len(field) > MAX_NAME:
                raise InputError(f"a field longer than {MAX_NAME:,} characters: {quote(field)}", path=path, line=line)
        yield line, fields


def _explain(error: str, delimiter: str) -> str:
    if "expected after" in error:
        return (
            f'text follows a closing quote; expected {delimiter!r} or the end of the line. Fields that start with " are read as '
            "quoted; pass --no-quotes (quotes=False) to take quotes literally"
        )
    if "unexpected end of data" in error:
        return 'a quoted field is not closed before the end of the file; pass --no-quotes (quotes=False) to take " literally'
    if "field larger" in error:
        return f"a field longer than {MAX_NAME:,} characters, perhaps a quote that is never closed"
    return f"cannot be parsed: {error}"
