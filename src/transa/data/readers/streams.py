"""Opening files: compression, and what can go wrong before the first byte."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from transa.errors import InputError, suggest

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def format_suffix(path: Path | str) -> str:
    """Return the suffix that tells the format, lower-cased: ``.csv`` for ``Films.CSV.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stem(path: Path) -> str:
    """Return the name of a file without the suffixes of format and compression: ``train`` for ``train.tsv.gz``."""
    name = path.name
    if path.suffix.lower() in COMPRESSIONS:
        name = name[: -len(path.suffix)]
    return Path(name).stem


def check_exists(path: Path) -> None:
    """Raise an `InputError` with near names if there is nothing at `path`."""
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
    """Turn what the system says about a file into an `InputError`."""
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
    """Open a file for reading, through its decompressor where its name ends in .gz or .zst."""
    check_exists(path)
    with reading(path):
        if path.is_dir():
            raise IsADirectoryError
        if path.is_fifo():
            raise InputError("is a pipe, and files are read more than once; write it to a file first", path=path)
        return io.BufferedReader(pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower())), 1 << 20)
