"""Writing files and folders so that either the old or the new content remains, never half of it."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from transa.errors import InputError, amount

#: Errors of the system if there is no space: on the disk, in a quota, or below a limit on the size of files.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}

#: The largest file that `read_small` reads, in bytes.
SMALL = 1 << 26


def sync(path: Path) -> None:
    """Sync a file or folder to the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_regular(path: Path) -> None:
    """Raise an `InputError` if `path` is a pipe, a device or a socket: reading one may hang or never end."""
    if path.is_fifo():
        raise InputError("is a pipe, but files are read more than once; write it to a file first", path=path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError("is a device or a socket, not a file", path=path)


def read_small(path: Path) -> str:
    """Return the whole text of a small file, such as settings or a log.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    InputError
        If it is not a regular file, larger than `SMALL`, or not UTF-8.
    """
    try:
        check_regular(path)
        with path.open("rb") as file:
            content = file.read(SMALL + 1)
        if len(content) > SMALL:
            raise InputError(f"larger than {SMALL:,} bytes", path=path)
        return content.decode("utf-8")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"not readable (invalid UTF-8: {error.reason} at byte {error.start:,})", path=path) from None
    except OSError as error:
        raise InputError(f"not readable ({error.strerror or error})", path=path) from None


def _hidden_sibling(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")


def _check_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist", path=path)


def leftovers(folder: Path, name: str) -> list[Path]:
    """Return the temporary files that processes left in a folder when they were killed while writing `name`."""
    return sorted(folder.glob(f".{name}.????????.tmp"))


@contextmanager
def writing(path: Path, size: int | None = None) -> Iterator[Path]:
    """Yield `path` with its links resolved, and turn errors of the system while writing there into an `InputError`.

    If there is no space, the message says how much is free and, if `size` is given, how much is needed.
    """
    place = path.resolve()
    try:
        yield place
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        if error.errno in _FULL:
            need = "" if size is None else f"it needs {amount(size)}, and "
            message += f"; {need}{amount(shutil.disk_usage(place.parent).free)} are free in {place.parent}"
        raise InputError(message, path=path) from error


@contextmanager
def atomic_file(path: Path, *, overwrite: bool = False, size: int | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` for writing, and rename it to `path` if the block ends without an error.

    Parameters
    ----------
    path
        Where the file goes.
    overwrite
        Whether an existing file may be replaced.
    size
        How many bytes will be written, if known; the error for a full disk names it.
    """
    with writing(path, size) as place:
        _check_parent(place)
        if place.is_dir():
            raise InputError("is a folder", path=path)
        if place.exists() and not overwrite:
            raise InputError("exists already; pass --overwrite (overwrite=True) to replace it", path=path)
        temporary = _hidden_sibling(place)
        try:
            with temporary.open("wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(place)
            sync(place.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(
    path: Path, *, overwrite: bool = False, ours: Callable[[str], bool], size: int | None = None
) -> Iterator[Path]:
    """Yield an empty temporary folder, and put it in the place of `path` if the block ends without an error.

    Parameters
    ----------
    path
        Where the folder goes.
    overwrite
        Whether an existing folder may be replaced. Even then, a folder with files other than `ours` is refused.
    ours
        Tells from the name of a file whether this program could have written it.
    size
        About how many bytes will be written, if known.
    """
    with writing(path, size) as place:
        _check_parent(place)
        if place.exists():
            _check_replaceable(path, place, overwrite, ours)
        temporary, former = _hidden_sibling(place), _hidden_sibling(place)
        temporary.mkdir()
        try:
            yield temporary
            for entry in temporary.iterdir():
                sync(entry)
            sync(temporary)
            if place.exists():
                place.rename(former)
            temporary.rename(place)
            sync(place.parent)
        finally:
            if former.exists() and not place.exists():
                former.rename(place)  # the exchange failed half-way: put the old folder back
            for leftover in (temporary, former):
                shutil.rmtree(leftover, ignore_errors=True)


def _check_replaceable(path: Path, place: Path, overwrite: bool, ours: Callable[[str], bool]) -> None:
    if not place.is_dir():
        raise InputError("exists already and is not a folder", path=path)
    if place == Path.cwd():
        raise InputError("is the current folder, which cannot be replaced; name one in it", path=path)
    foreign = sorted(entry.name for entry in place.iterdir() if entry.is_dir() or not ours(entry.name))
    if foreign:
        raise InputError(f"not overwritten, since it holds other files ({foreign[0]!r})", path=path)
    if any(place.iterdir()) and not overwrite:
        raise InputError("exists already; pass --overwrite (overwrite=True) to replace it", path=path)
