"""Download files: resume where a connection broke off, check the SHA-256, and put a file in place whole or not at all.

The package pooch would do this too, but it cannot resume: it starts each attempt at the first byte.
"""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from filelock import FileLock

from transa.errors import TransaError
from transa.storage import sync

#: How often a connection is tried; each attempt goes on where the last one broke off.
ATTEMPTS = 3
TIMEOUT = 30.0
PAUSE = 0.5
BLOCK = 1 << 16

Progress = Callable[[int, int | None], None]


class DownloadError(TransaError):
    """A file could not be downloaded."""


def download(url: str, target: Path, sha256: str, progress: Progress | None = None, *, pause: float = PAUSE) -> None:
    """Download `url` to `target`.

    What has arrived is kept in ``target.part``, and a later attempt goes on from there. The file gets its name only if its SHA-256
    is right; otherwise it is deleted. Two processes that want the same file take turns.

    Parameters
    ----------
    url, target, sha256
        From where, to where, and the checksum that the file must have.
    progress
        Called with the bytes that have arrived and the bytes expected (None if the server does not say).
    pause
        Seconds between attempts.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists() or checksum(target) != sha256:
                _download(url, target, sha256, progress, pause)
    except OSError as error:  # of the disk; those of the network are dealt with below
        raise DownloadError(f"{url}: cannot be kept in {target} ({error})") from None


def _download(url: str, target: Path, sha256: str, progress: Progress | None, pause: float) -> None:
    part = target.with_name(f"{target.name}.part")
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause)
        try:
            _fetch(url, part, progress)
            break
        except urllib.error.HTTPError as error:
            reason = f"the server answered {error.code} {error.reason}"
            if error.code < 500:  # asking again would bring the same answer
                raise DownloadError(f"{url}: {reason}") from None
        except (OSError, HTTPException, ValueError) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    else:
        raise DownloadError(f"{url}: not fetched after {ATTEMPTS} attempts ({reason})")
    found = checksum(part)
    if found != sha256:
        part.unlink()
        raise DownloadError(f"{url}: wrong checksum (SHA-256 expected {sha256}, found {found}); the file was deleted")
    sync(part)
    part.replace(target)
    sync(target.parent)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: Path, progress: Progress | None) -> None:
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})  # noqa: S310
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == 416 and done:  # nothing is left to send: the checksum will tell whether that is right
            return
        raise
    with response:
        if response.status != 206:
            done = 0  # the server sends it all again
        length = response.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with part.open("ab" if done else "wb") as file:
            while block := response.read(BLOCK):
                file.write(block)
                done += len(block)
                if progress:
                    progress(done, total)
        if total is not None and done < total:
            raise OSError(f"the connection broke off after {done:,} of {total:,} bytes")
