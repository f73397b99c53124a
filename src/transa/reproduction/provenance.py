"""Where a record comes from: commit, versions and machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def provenance() -> dict[str, Any]:
    """Return commit, versions and machine."""
    packages = ("transa", "numpy", "numba", "scipy", "torch")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "commit": _commit(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in packages}},
        "machine": {"system": platform.system(), "architecture": platform.machine(), "cores": cores},
    }


def _commit() -> str | None:
    """Return the commit of the source, or None where the source is not a git checkout."""

    def git(*arguments: str) -> str | None:
        here = Path(__file__).resolve().parent
        try:
            found = subprocess.run(  # noqa: S603
                ["git", *arguments],  # noqa: S607
                capture_output=True,
                text=True,
                cwd=here,
                timeout=10,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return found.stdout.strip()

    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None  # the checkout around an installed package is somebody else's
    commit = git("rev-parse", "HEAD")
    return None if commit is None else commit + ("+changes" if git("status", "--porcelain", "..") else "")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
