"""Records of runs: one JSON file for each, with everything that a table needs and everything that it takes to repeat it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.data.graph import SPLITS
from transa.errors import InputError
from transa.format1 import upgrade
from transa.reproduction.plan import Cell, Task
from transa.storage import atomic_file, read_small
from transa.training import recipe_from
from transa.training.recipe import Recipe

KIND = "transa run"
STATISTICS = "transa dataset statistics"
FORMAT = 2

#: The split that is evaluated.
SPLIT = "test"


def dataset_fingerprint(graph: KnowledgeGraph) -> str:
    """Return a checksum of all triples and labels of a graph."""
    digest = hashlib.sha256(f"{len(graph.entities)} {len(graph.relations)}".encode())
    for split in SPLITS:
        labels = graph.labels(split)
        digest.update(np.ascontiguousarray(graph.triples(split)).tobytes())
        digest.update(b"" if labels is None else np.ascontiguousarray(labels).tobytes())
    return digest.hexdigest()


def run_key(settings: Recipe, fingerprint: str, split: str = SPLIT) -> str:
    """Return what two runs share if and only if they are the same: a hash of recipe, dataset and split.

    Settings at their default are left out, so that a setting that is new in a later version does not make old runs different.
    """
    chosen = settings.model_dump(exclude_defaults=True)
    text = json.dumps({"recipe": chosen, "dataset": fingerprint, "split": split}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Results:
    """The records in a folder.

    Parameters
    ----------
    folder
        Its JSON files are read; those that are no records are left alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, dict[str, Any]] = {}
        self.statistics: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            record = json.loads(read_small(path))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"not readable ({error})", path=path) from None
        if not isinstance(record, dict) or record.get("kind") not in (KIND, STATISTICS):
            return
        if record.get("format") == 1:
            record = upgrade(record) | {"format": FORMAT}
        if record.get("format") != FORMAT:
            raise InputError(
                f"written in format {record.get('format')!r}; this version reads 1 and {FORMAT}", path=path
            )
        try:
            if record["kind"] == STATISTICS:
                self.statistics |= record["datasets"]
            else:
                # From the settings, not from the key in the file: a default that has changed since makes another run.
                settings = recipe_from(record["recipe"])
                self.records[run_key(settings, record["dataset"]["fingerprint"], record["split"])] = record
        except (KeyError, TypeError) as error:
            raise InputError(f"not a record of a run ({error} is missing)", path=path) from None
        except InputError:
            return  # settings that this version does not have: a run that cannot be repeated with it

    def find(self, cell: Cell, fingerprint: str | None = None, task: Task | None = None) -> dict[str, Any] | None:
        """Return the record of a cell, or None.

        Parameters
        ----------
        cell
            Settings and dataset.
        fingerprint
            Of the dataset; without one, the dataset's name decides.
        task
            What the record must hold.
        """
        if fingerprint is not None:
            found = self.records.get(run_key(cell.settings, fingerprint))
        else:
            settings = cell.settings.model_dump(exclude_defaults=True)
            named = (one for one in self.records.values() if one["dataset"]["name"] == cell.dataset)
            same = (one for one in named if recipe_from(one["recipe"]).model_dump(exclude_defaults=True) == settings)
            found = next(same, None)
        return found if found is not None and (task is None or task in found) else None

    def add(self, cell: Cell, fingerprint: str, **parts: Any) -> Path:
        """Write what was measured; a task is added to what the record of the same run holds already."""
        key = run_key(cell.settings, fingerprint)
        record = {
            "kind": KIND,
            "format": FORMAT,
            "key": key,
            "model": cell.row.model,
            "recipe_name": cell.row.recipe,
            "dataset": {"name": cell.dataset, "fingerprint": fingerprint},
            "split": SPLIT,
            "seed": cell.settings.seed,
            **self.records.get(key, {}),
            **parts,
            "recipe": cell.settings.model_dump(),
        }
        self.records[key] = record
        return self._write(f"{cell.name}_{key[:8]}.json", record)

    def add_statistics(self, datasets: Mapping[str, Mapping[str, Any]]) -> Path:
        """Write statistics of datasets."""
        self.statistics |= {name: dict(values) for name, values in datasets.items()}
        record = {"kind": STATISTICS, "format": FORMAT, "datasets": self.statistics, **provenance()}
        return self._write("table1_statistics.json", record)

    def _write(self, name: str, record: Mapping[str, Any]) -> Path:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path=self.folder) from None
        path = self.folder / name
        with atomic_file(path, overwrite=True) as file:
            file.write((json.dumps(record, indent=2, allow_nan=False) + "\n").encode())
        return path


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
    """Return the commit of the source, where it is a git checkout."""

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
