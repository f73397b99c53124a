"""Open files, plain or compressed, and report what is wrong before the first byte."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from transa.errors import InputError, suggest
from transa.storage import check_regular

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

#: A file may unpack to so many bytes in any case, and to more only up to so many times its own size. Triples of text shrink to a tenth.
UNPACKED, EXPANSION = 1 << 24, 100


def format_suffix(path: Path | str) -> str:
    """Return the suffix that tells the format, in lower case: ``.csv`` for ``Films.CSV.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def check_suffix(path: Path, suffix: str, known: tuple[str, ...]) -> None:
    """Raise an `InputError` if the suffix of a file is none of those known."""
    if suffix not in known:
        raise InputError(f"unknown suffix {suffix!r}; expected {', '.join(known[:-1])} or {known[-1]}", path=path)


def stem(path: Path) -> str:
    """Return the name of a file without the suffixes of format and compression: ``train`` for ``train.tsv.gz``."""
    name = path.name
    if path.suffix.lower() in COMPRESSIONS:
        name = name[: -len(path.suffix)]
    return Path(name).stem


def check_exists(path: Path) -> None:
    """Raise an `InputError` that suggests similar names if there is nothing at `path`."""
    try:
        if path.exists():
            return
        folder = next((parent for parent in path.parents if parent.is_dir()), None)
        siblings = [entry.name for entry in folder.iterdir()] if folder == path.parent and folder else []
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    raise InputError(f"no such file or folder{suggest(path.name, siblings)}", path=path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of the operating system about a file into an `InputError`."""
    try:
        yield
    except PermissionError:
        raise InputError("permission denied", path=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", path=path) from None
    except UnicodeEncodeError:
        raise InputError("the name of the file is not valid Unicode; give it another", path=path) from None
    except OSError as error:
        if path.suffix.lower() in COMPRESSIONS:
            raise InputError(f"the compressed file is cut short or damaged ({error})", path=path) from None
        raise InputError(f"cannot be read: {error}", path=path) from None


def open_bytes(path: Path) -> io.BufferedReader:
    """Open a file for reading, and unpack it if its name ends in .gz or .zst."""
    check_exists(path)
    with reading(path):
        if path.is_dir():
            raise IsADirectoryError
        check_regular(path)
        compression = COMPRESSIONS.get(path.suffix.lower())
        source: Any = pa.input_stream(str(path), compression=compression)
        return io.BufferedReader(source if compression is None else _Unpacked(source, path), 1 << 20)


def check_unpacked(path: Path, size: int) -> None:
    """Raise an `InputError` if a file unpacks to far more than files of triples do."""
    if size > UNPACKED and size > EXPANSION * path.stat().st_size:
        raise InputError(
            f"unpacks to more than {EXPANSION} times its size, as no graph does; unpack it first if it is meant to be read",
            path=path,
        )


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a file; reading stops with an error if there are too many for its size."""

    def __init__(self, source: Any, path: Path) -> None:
        self._source = source
        self._path = path
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._source.readinto(buffer)
        self._size += count
        check_unpacked(self._path, self._size)
        return count

    def close(self) -> None:
        self._source.close()
        super().close()
