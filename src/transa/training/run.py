"""Run folders hold everything needed to load a model, and to repeat or resume its training.

====================== =======================================================================
config.json            format and package version, recipe, source of the graph, engine
graph/                 the graph, so that evaluation and prediction need nothing else
log.jsonl              a line for each epoch
checkpoint.safetensors the state after an epoch, from which training resumes
best.safetensors       the tables of the epoch with the best validation score, if there is validation
weights.safetensors    the trained tables
metrics.json           a summary of the training
calibration.json       thresholds and probabilities from valid, written when first needed
tracking.json          under which names trackers know the run, if there are any
extension.json         which run `transa extend` started from, in a run that it wrote
KIND.json, KIND.a, .b  in place of checkpoint, best and weights, where several workers trained: folders of slices, and which holds
====================== =======================================================================

Every file but the log is written under a temporary name and then renamed: whatever happens, the folder holds the old file or the new
one, never half of one. The configuration is written first, so every folder that has it can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, isfinite

from transa import __version__
from transa.data import KnowledgeGraph, load
from transa.errors import InputError, suggest
from transa.format1 import upgrade
from transa.models import Model
from transa.storage import atomic_file, check_regular, leftovers, read_small, writing
from transa.training.recipe import Recipe, recipe_from

FORMAT = 2
#: The formats that this version reads.
READABLE = (1, FORMAT)
#: The trained tables, in a run and in a folder written by `transa.pretrained`.
WEIGHTS, PRETRAINED = "weights.safetensors", "model.safetensors"
#: What training writes, in the order in which the files first appear.
WRITTEN = (
    *("config.json", "graph", "checkpoint.safetensors", "log.jsonl", "best.safetensors"),
    *(WEIGHTS, "metrics.json", "tracking.json"),
    *(f"{kind}.{end}" for kind in ("checkpoint", "best", "weights") for end in ("json", "a", "b")),
)
#: How many runs a message names.
LISTED = 8


class RunFolder:
    """The files of one training run.

    It reads the configuration and the graph once and keeps them until it writes new ones. `transa.load_model` opens a finished
    run with everything that belongs to it.

    Parameters
    ----------
    path
        The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = FileLock(self.path / ".lock")
        self._config: dict[str, Any] | None = None
        self._graph: KnowledgeGraph | None = None

    def place(self, name: str) -> Path:
        """Return the path of a file of the run, and refuse a link that leads out of the folder.

        A run may come from anyone. Following its links could read files outside the run, or write a calibration over them.
        """
        path = self.path / name
        try:
            inside = path.resolve().is_relative_to(self.path.resolve())
            check_regular(path)
        except (OSError, RuntimeError) as error:
            raise InputError(f"not readable ({error})", path=path) from None
        if not inside:
            raise InputError("is a link that leads out of the run folder", path=path)
        return path

    # ------------------------------------------------------------------ one writer at a time

    def open(self, *, resume: bool) -> None:
        """Lock the folder for training: a new folder, or with `resume` one in which a run was started."""
        if resume:
            self.check_started()
        self._claim()
        if not resume:
            try:
                self.check_new()  # under the lock: another process may have just finished
            except InputError:
                self.close()
                raise
        self._config = self._graph = None  # another process may have written them before we held the lock
        for name in WRITTEN:
            for leftover in leftovers(self.path, name):
                shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)

    def check_new(self) -> None:
        """Raise an `InputError` if the folder holds a run."""
        if self.holds("config.json"):
            raise InputError("holds a run already; resume it with --resume or name another folder", path=self.path)

    def check_started(self) -> None:
        """Raise an `InputError` if no run was started in the folder."""
        if not self.started():
            raise InputError("holds no run to resume; start one without --resume", path=self.path)

    def started(self) -> bool:
        """Tell whether a run was started here, even if its process was killed before it wrote anything."""
        if self.holds("config.json") or not self.path.is_dir():
            return self.holds("config.json")
        ours = {".lock", ".owner", *(path.name for path in leftovers(self.path, "config.json"))}
        return all(entry.name in ours for entry in self.path.iterdir())

    def _claim(self) -> None:
        owner = self.path / ".owner"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.place(".lock")
            self._lock.acquire(timeout=0)
        except Timeout:
            who = ""
            with suppress(OSError):
                who = f" ({owner.read_text('utf-8')})"
            raise InputError(
                f"another process{who} is training in this folder; wait for it or name another folder", path=self.path
            ) from None
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path=self.path) from None
        with suppress(OSError):  # the lock decides; this file only tells others who holds it
            owner.write_text(f"{os.getpid()} on {platform.node()}", "utf-8")

    def close(self) -> None:
        """Unlock the folder for other processes."""
        with suppress(OSError):
            (self.path / ".owner").unlink(missing_ok=True)
        self._lock.release()

    def discard(self) -> None:
        """Delete the folder with its run, unless a process is training in it."""
        if self.holds("config.json"):
            self._claim()
            try:
                shutil.rmtree(self.path)
            except OSError as error:
                raise InputError(f"cannot be deleted: {error.strerror}", path=self.path) from None
            finally:
                self.close()

    def clear(self) -> None:
        """Delete the files of the run that this process has locked; the folder too, if nothing else is in it."""
        for name in WRITTEN:
            path = self.path / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self._config = self._graph = None
        with suppress(OSError):  # the folder holds something else
            for name in (".owner", ".lock"):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def check_same(self, graph: KnowledgeGraph, recipe: Recipe, engine: str) -> None:
        """Refuse to resume a run that has another graph, recipe or engine, or that has no checkpoint."""
        config = self.config()
        kept = config.get("graph")
        if not isinstance(kept, dict) or kept.get("train") != fingerprint(graph):
            raise InputError("the graph is not the one this run was started on", path=self.path)
        before, now = self.recipe().model_dump(), recipe.model_dump()
        changed = [name for name in before if before[name] != now[name]]
        if changed:
            raise InputError(f"the run was started with {changed[0]}={before[changed[0]]!r}", path=self.path)
        if config.get("engine") != engine:
            raise InputError(f"the run was started with the engine {config.get('engine')!r:.40}", path=self.path)
        if self.holds("weights.safetensors") and not self.holds("checkpoint.safetensors"):
            raise InputError("holds a model without a checkpoint, so training cannot be resumed", path=self.path)

    def holds(self, name: str) -> bool:
        """Tell whether the folder holds a file of this name."""
        return (self.path / name).exists()

    @property
    def weights(self) -> str:
        """The file of the trained tables."""
        return PRETRAINED if self.holds(PRETRAINED) else WEIGHTS

    # ------------------------------------------------------------------ writing

    def write_start(self, graph: KnowledgeGraph, recipe: Recipe, **details: Any) -> None:
        """Write the configuration and the graph, before training."""
        self.write_config(graph, recipe, **details)
        self._graph = None
        graph.save(self.place("graph"), overwrite=True)

    def write_config(self, graph: KnowledgeGraph, recipe: Recipe, **details: Any) -> None:
        """Write the configuration."""
        self.write_json(
            "config.json",
            {
                "format": FORMAT,
                "transa": __version__,
                "graph": {
                    "entities": len(graph.entities),
                    "relations": len(graph.relations),
                    "train": fingerprint(graph),
                },
                **details,
                "recipe": recipe.model_dump(),
            },
        )

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        self._write(name, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())

    def write_tensors(self, name: str, tensors: Mapping[str, Tensor], **notes: Any) -> None:
        """Write tables, and `notes` as JSON values in the header of the file."""
        packed = {key: table.detach().cpu().contiguous().clone() for key, table in tensors.items()}
        self._write(name, save(packed, {key: json.dumps(value) for key, value in notes.items()}))

    def _write(self, name: str, content: bytes) -> None:
        if name == "config.json":
            self._config = None
        with atomic_file(self.place(name), overwrite=True, size=len(content)) as file:
            file.write(content)

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        line = (json.dumps(entry) + "\n").encode()
        path = self.place("log.jsonl")
        with writing(path, len(line)), path.open("ab") as file:
            file.write(line)

    def cut_log(self, epochs: int) -> None:
        """Drop the lines of epochs after `epochs`, and a last line that was cut short: training will write them again."""
        path = self.place("log.jsonl")
        if not path.exists():
            return
        kept = []
        for line in read_small(path).splitlines():
            try:
                entry = upgrade(json.loads(line))
                if entry["epoch"] <= epochs:
                    kept.append(json.dumps(entry) + "\n")
            except (ValueError, KeyError, TypeError, RecursionError):
                break
        self._write("log.jsonl", "".join(kept).encode())

    # ------------------------------------------------------------------ reading

    def curve(self) -> list[tuple[int, float, float | None]]:
        """Return epoch, loss and score on valid (None where it was not measured) of each line of the log."""
        try:
            lines = (upgrade(json.loads(line)) for line in read_small(self.place("log.jsonl")).splitlines())
            return [
                (
                    int(line["epoch"]),
                    float(line["loss"]),
                    None if (score := line["validation"]) is None else float(score),
                )
                for line in lines
            ]
        except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"no readable log ({error})", path=self.path) from None

    def config(self) -> dict[str, Any]:
        """Return the configuration, after a check of its format."""
        if self._config is None:
            self._config = self._read_config()
        return self._config

    def _read_config(self) -> dict[str, Any]:
        config = self.read_json("config.json")
        path, written = self.path / "config.json", config.get("format")
        if written in READABLE and not isinstance(written, bool):
            return config if written == FORMAT else dict(upgrade(config))
        if not isinstance(written, int) or isinstance(written, bool):
            raise InputError("not the configuration of a run: it states no format", path=path)
        by = (
            f"written in format {_short(written)} by transa {_version(config)}; "
            f"this is transa {__version__}, which reads formats {READABLE[0]} to {FORMAT}"
        )
        if written > FORMAT:
            raise InputError(f"{by}: install the version that wrote it, or a later one", path=path)
        raise InputError(f"{by}: read it with the version that wrote it, or train again", path=path)

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the folder."""
        path = self.place(name)
        try:
            value = json.loads(read_small(path), parse_constant=_no_number, parse_float=_finite)
        except FileNotFoundError:
            raise InputError(_no_run(self.path, name), path=self.path) from None
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"not readable ({error})", path=path) from None
        if not isinstance(value, dict):
            raise InputError("expected a JSON object", path=path)
        return value

    def recipe(self) -> Recipe:
        """Return the recipe of the run."""
        recipe = self.config().get("recipe")
        if not isinstance(recipe, dict):
            raise InputError("expected a recipe", path=self.path / "config.json")
        try:
            return recipe_from(recipe)
        except InputError as error:
            by = _version(self.config())
            message = f"{error}; the run was written by transa {by}, and this is transa {__version__}"
            raise InputError(message, path=self.path / "config.json") from None

    def graph(self) -> KnowledgeGraph:
        """Return the graph of the run."""
        if self._graph is None:
            folder = self.place("graph")
            if folder.is_dir():
                for entry in folder.iterdir():
                    self.place(f"graph/{entry.name}")
            self._graph = load(folder)
        return self._graph

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the tables of a file, and the values in its header."""
        path = self.place(name)
        if not path.exists() and self.holds(f"{path.stem}.json"):
            return self._merged(path.stem)
        try:
            with safe_open(path, framework="pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                notes = upgrade({key: json.loads(value) for key, value in (file.metadata() or {}).items()})
        except FileNotFoundError:
            raise InputError(f"{name} is missing", path=self.path) from None
        except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"damaged or not readable ({error})", path=path) from None
        return tensors, notes

    def _merged(self, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Put together the tables that several workers wrote, and return them with their notes."""
        from transa.training.sharded.slices import folder_of, merged

        notes = self.read_json(f"{kind}.json")
        place = self.place(folder_of(notes))
        for entry in place.iterdir() if place.is_dir() else ():
            self.place(f"{place.name}/{entry.name}")
        return merged(place, self.empty_model(), self.recipe()), notes

    def model(self) -> Model:
        """Read the trained model.

        Raises
        ------
        InputError
            If training has not finished, or the tables are damaged.
        """
        model = self.empty_model()
        self.check_finished()
        tensors, _ = self.read_tensors(self.weights)
        try:
            model.load(tensors)
            for name, table in model.tensors().items():
                if not bool(isfinite(table).all()):
                    raise InputError(f"{name} holds NaN or infinity")
        except InputError as error:
            raise InputError(str(error), path=self.path / self.weights) from None
        if model.by_paths:
            model.bind(self.graph())
        return model

    def check_finished(self) -> None:
        """Raise an `InputError` if training has begun and not come to its end."""
        if self.holds(self.weights) or self.holds("weights.json"):
            return
        if self.holds("checkpoint.json"):
            notes = self.read_json("checkpoint.json")
        elif self.holds("checkpoint.safetensors"):
            _, notes = self.read_tensors("checkpoint.safetensors")
        else:
            return
        recipe = self.recipe()
        at = f" (the last checkpoint is of epoch {_short(notes.get('epoch'))} of {recipe.epochs:,})"
        go_on = "wait for it, or go on with `transa train … --resume`"
        raise InputError(f"training has not finished{at}; {go_on}", path=self.path)

    def empty_model(self) -> Model:
        """Return the model of the run without its tables; it tells how large they are."""
        recipe = self.recipe()
        sizes = self.config().get("graph", {})
        try:
            return recipe.build_model(int(sizes["entities"]), int(sizes["relations"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError("expected the numbers of entities and relations", path=self.path / "config.json") from None


def _no_run(path: Path, missing: str) -> str:
    """Say why a path is no run folder, and which runs may be meant."""
    if not path.is_dir():
        return f"there is no such run folder{suggest(path.name, (each.name for each in _runs_in(path.parent)))}"
    inside = _runs_in(path)
    more = f", … ({len(inside):,} in all)" if len(inside) > LISTED else ""
    holds = f"; it holds the runs {', '.join(map(str, inside[:LISTED]))}{more}" if inside else ""
    return f"not a run folder: {missing} is missing{holds}"


def _runs_in(folder: Path) -> list[Path]:
    """Return the runs in a folder."""
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if (path / "config.json").is_file())
    return []


def _short(value: object) -> str:
    """Return a plain value as messages show it, cut to 40 characters."""
    return f"{value!r:.40}" if isinstance(value, str | int | None) else "of another kind"


def _version(config: Mapping[str, Any]) -> str:
    """Return the version that wrote a run, or ``"?"`` if it does not say."""
    version = config.get("transa")
    return version[:40] if isinstance(version, str) else "?"


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:20])


def fingerprint(graph: KnowledgeGraph) -> str:
    """Return a checksum of the training triples."""
    return hashlib.sha256(graph.train.tobytes()).hexdigest()
