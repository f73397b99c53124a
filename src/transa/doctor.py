"""What is installed here, what is missing, and how fast this machine is: what `transa doctor` reports."""

from __future__ import annotations

import os
import platform
import re
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from transa import __version__
from transa.data.registry import DATASETS, ENVIRONMENT, cache_folder, whereabouts
from transa.free_memory import free_memory

#: Extras for those who work on the package itself.
_OURS = ("test", "bench")
#: Epochs of the small training that is timed.
_EPOCHS = 20


def examine(*, speed: bool = True) -> dict[str, Any]:
    """Return what is known of this installation and this machine, as values that JSON can hold.

    Parameters
    ----------
    speed
        Whether to train a moment to see how fast that is. It compiles kernels where they have not been yet.
    """
    found: dict[str, Any] = {
        "transa": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "free_memory": free_memory(),
        **_packages(),
        "kernels": _kernels(),
        "data": {
            "folder": os.environ.get(ENVIRONMENT),
            "cache": str(cache_folder()),
            "datasets": {name: whereabouts(name) is not None for name in DATASETS},
        },
    }
    if speed and not any(one is None for one in found["required"].values()):
        found["speed"] = _speed()
    return found


def _packages() -> dict[str, Any]:
    """Return the versions of the packages that transa needs, and of those that each extra adds; None for what is missing."""
    required: dict[str, str | None] = {}
    extras: dict[str, dict[str, str | None]] = {}
    try:
        lines = requires("transa") or []
    except PackageNotFoundError:  # run from its source, without being installed
        lines = []
    for line in lines:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name is not None and (extra is None or extra[1] not in _OURS):
            (required if extra is None else extras.setdefault(extra[1], {}))[name[0]] = _version(name[0])
    return {"required": required, "extras": extras}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _kernels() -> dict[str, Any]:
    """Return where compiled kernels are kept, and whether those of the default model are there."""
    from transa.kernels import softmax
    from transa.kernels.cache import KernelCache, is_kept

    cache = getattr(softmax._score, "_cache", None)
    folder = str(cache.index.parent) if isinstance(cache, KernelCache) else None
    return {"folder": folder, "compiled": is_kept(softmax._score)}


def _speed() -> dict[str, Any]:
    """Train TransE on UMLS for a moment, and rank its validation triples."""
    from transa.data import load
    from transa.evaluation import link_prediction
    from transa.training import Trainer, recipe_from

    graph = load("umls")
    paces: list[float] = []
    trainer = Trainer(graph, recipe_from({"model": "transe", "dim": 50, "epochs": _EPOCHS, "batch_size": 512}))
    started = time.perf_counter()
    model = trainer.fit(lambda progress: paces.append(progress.triples_per_second))
    trained = time.perf_counter()
    known = graph.known("train", "valid")
    link_prediction(model, graph.valid[:1], known)  # loads the kernels
    ready = time.perf_counter()
    link_prediction(model, graph.valid, known)
    return {
        "first_epochs_seconds": trained - started,
        "triples_per_second": sorted(paces)[len(paces) // 2],
        "ranks_per_second": 2 * len(graph.valid) / (time.perf_counter() - ready),
        "threads": trainer.threads,
    }
