"""Records of runs: one JSON file for each, with all that the tables show of it and all that it takes to repeat it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transa.data import KnowledgeGraph
from transa.data.graph import SPLITS
from transa.errors import InputError
from transa.format1 import upgrade
from transa.reproduction.first_defaults import FIRST
from transa.reproduction.plan import Cell, Task
from transa.reproduction.provenance import provenance
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
    """Return the identity of a run: a hash of its recipe, dataset and split.

    Settings at their first default are left out (`FIRST`). So neither a setting that a later version adds nor a default that it
    changes gives an old run another key, and runs with different settings have different keys.
    """
    chosen = {name: value for name, value in settings.model_dump().items() if name not in FIRST or value != FIRST[name]}
    text = json.dumps({"recipe": chosen, "dataset": fingerprint, "split": split}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Results:
    """The records in a folder.

    Parameters
    ----------
    folder
        The folder. Its JSON files are read; those that are not records are ignored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, dict[str, Any]] = {}
        self._files: dict[str, str] = {}
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
                # The key comes from the settings, not from the file, which may have the names of an earlier format.
                settings = recipe_from(FIRST | record["recipe"])
                record["recipe"] = settings.model_dump()
                key = run_key(settings, record["dataset"]["fingerprint"], record["split"])
                self.records[key], self._files[key] = record, path.name
        except (KeyError, TypeError) as error:
            raise InputError(f"not a record of a run ({error} is missing)", path=path) from None
        except InputError:
            return  # this version does not have these settings and cannot repeat the run

    def find(self, cell: Cell, fingerprint: str | None = None, task: Task | None = None) -> dict[str, Any] | None:
        """Return the record of a cell, or None.

        Parameters
        ----------
        cell
            The settings and the dataset.
        fingerprint
            The checksum of the dataset. Without one, the dataset is identified by its name.
        task
            A task whose measures the record must hold.
        """
        if fingerprint is not None:
            found = self.records.get(run_key(cell.settings, fingerprint))
        else:
            settings = cell.settings.model_dump()
            named = (one for one in self.records.values() if one["dataset"]["name"] == cell.dataset)
            found = next((one for one in named if one["recipe"] == settings), None)
        return found if found is not None and (task is None or task in found) else None

    def add(self, cell: Cell, fingerprint: str, **parts: Any) -> Path:
        """Write what was measured; what the record of the same run already holds is kept."""
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
        return self._write(self._files.setdefault(key, f"{cell.name}_{key[:8]}.json"), record)

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
