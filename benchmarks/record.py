"""What every benchmark writes down beside its figures."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "results"


def save(name: str, started: float, **figures: Any) -> Path:
    """Write figures to results/NAME.json, with the command, commit, versions and wall time they belong to."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    record = {
        "command": " ".join(["python", _place(Path(sys.argv[0]).resolve()), *map(_word, sys.argv[1:])]),
        "commit": _git("rev-parse", "HEAD") + ("+changes" if _git("status", "--porcelain", "src") else ""),
        "wall_seconds": round(time.time() - started, 1),
        "machine": {"processor": _processor(), "cores": _cores(), "python": platform.python_version()},
        "versions": {
            package: _version(package) for package in ("transa", "numpy", "numba", "pyarrow", "torch", "pykeen")
        },
        **figures,
    }
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path


def load(name: str) -> dict[str, Any]:
    """Return what results/NAME.json holds, nothing where there is none."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _word(argument: str) -> str:
    """Return an argument of the command line without what it says of this machine."""
    option, sign, value = argument.rpartition("=")
    return f"{option}{sign}{_place(Path(value))}" if Path(value).is_absolute() else argument


def _place(path: Path) -> str:
    """Return an absolute path as one within the project, or its last name alone."""
    return str(path.relative_to(RESULTS.parent)) if path.is_relative_to(RESULTS.parent) else path.name


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=RESULTS.parent).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
