"""Text files: their lines and their delimited records, read with care so that every error names a line.

`records` is the `csv` module in strict mode over lines that are checked one by one. `transa.data.formats.delimited` has a faster reader
for plain text and uses this one for the rest, so that what this module accepts is what the package accepts.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from transa.data.streams import open_bytes, reading
from transa.errors import InputError, quote

#: The longest name, in characters.
MAX_NAME = 65_536
#: The longest line, in bytes.
MAX_LINE = 1 << 20

_BOM = b"\xef\xbb\xbf"


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or compressed, with their ends. A byte-order mark at the start is dropped.

    Lines end in LF, CR LF or CR, as everywhere in this package, so that the fast and the careful reader see the same ones.
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


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines that `text_lines` reads back; they hold no line ends."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            if "\0" in line or len(line.encode()) >= MAX_LINE:
                raise InputError(f"{quote(line)} holds a NUL character or is too long for a text file; use parquet")
            file.write(f"{line}\n")


def is_one_field(name: str) -> bool:
    """Tell whether a name fits between tabs in a line without quotes."""
    return not any(mark in name for mark in "\t\n\r\ufeff")


def _byte_lines(path: Path) -> Iterator[bytes]:
    """Yield lines with their ends. A line longer than `MAX_LINE` comes as a first piece that is also longer, and is the last one."""
    rest = b""
    with reading(path), open_bytes(path) as file:
        while block := file.readline(MAX_LINE + 1):
            if not rest and block.endswith(b"\n") and b"\r" not in block:
                yield block
                continue
            lines = (rest + block).splitlines(keepends=True)
            # Without LF, the last line may go on in the next block.
            rest = b"" if block.endswith(b"\n") else lines.pop()
            yield from lines
            if len(rest) > MAX_LINE:
                break
    if rest:
        yield rest


def records(path: Path, delimiter: str, *, quoting: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not a blank line, with the number of its first line."""
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
        if not any(map(str.strip, fields)) and (len(fields) < 2 or delimiter.isspace()):
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
