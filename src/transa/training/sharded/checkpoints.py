"""Checkpoints of several workers: each writes the rows of its lanes, and any number of workers reads them.

``torch.distributed.checkpoint`` writes them as safetensors, in slices, so that no worker ever holds its rows twice. A checkpoint is a
folder of such files; ``checkpoint.json`` names the folder once all workers have written theirs. Until then it names the one before.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from transa.errors import InputError
from transa.kernels.arguments import Array
from transa.training.run import RunFolder
from transa.training.sharded.engine import ShardedEngine
from transa.training.sharded.rows import ShardedRows
from transa.training.sharded.slices import FOLDERS, Slice, folder_of, slices_of

#: What is kept: the state from which training resumes, the tables of the best epoch, and the trained ones.
Kind = Literal["checkpoint", "best", "weights"]


@dataclass(frozen=True)
class Part:
    """A slice of a table of this worker, in the table's own memory."""

    slice: Slice
    values: Array


def write(folder: RunFolder, kind: Kind, engine: ShardedEngine, **notes: Any) -> None:
    """Write the rows of all workers, with the state of the optimiser if training is to resume from them.

    Parameters
    ----------
    folder, kind
        Where, and as what.
    engine
        Whose rows; the loop prior of its model goes with them.
    notes
        Plain values, which are kept in the file that names the folder.
    """
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    workers = engine.workers
    name = workers.tell(_free_name(folder, kind) if workers.is_first else None)
    parts = list(_parts(engine, state=kind == "checkpoint"))
    named = {str(part.slice): torch.from_numpy(part.values) for part in parts}
    if engine.model.loop_free is not None and workers.is_first and kind != "checkpoint":
        named["relation.loop_free"] = engine.model.loop_free.to(torch.uint8)
    files = {str(each): each.file for each in slices_of(engine.model, engine.recipe, state=kind == "checkpoint")}
    files["relation.loop_free"] = 1
    writer = HuggingFaceStorageWriter(str(folder.path / name), fqn_to_index_mapping=files, save_distributed=True)
    with _quiet():
        save(named, storage_writer=writer, no_dist=workers.count == 1)
    if workers.is_first:
        folder.write_json(f"{kind}.json", {"folder": name, "steps": engine.steps, **notes})
        for other in FOLDERS:
            if other != name.rpartition(".")[2]:
                shutil.rmtree(folder.path / f"{kind}.{other}", ignore_errors=True)
    workers.any(False)  # nobody goes on before the checkpoint is whole


def read(folder: RunFolder, kind: Kind, engine: ShardedEngine) -> dict[str, Any]:
    """Read the rows of this worker back, and return the notes."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    notes = folder.read_json(f"{kind}.json")
    parts = list(_parts(engine, state=kind == "checkpoint"))
    named = {str(part.slice): torch.from_numpy(part.values) for part in parts}
    try:
        place = folder.place(folder_of(notes))
        reader = HuggingFaceStorageReader(str(place))
        with _quiet():
            load(named, storage_reader=reader, no_dist=engine.workers.count == 1)
        engine.steps = int(notes["steps"])
    except InputError:
        raise
    except Exception as error:  # DCP turns whatever happened on any worker into errors of many kinds
        raise InputError(f"damaged or not readable ({error!r:.200})", path=folder.path / f"{kind}.json") from None
    broken = any(not np.isfinite(part.values).all() for part in parts)
    if engine.workers.any(broken):
        raise InputError("the tables hold NaN or infinity", path=folder.path / f"{kind}.json")
    return notes


def _free_name(folder: RunFolder, kind: Kind) -> str:
    """Return the name of the folder that is not in use, and clear it."""
    used = folder_of(folder.read_json(f"{kind}.json")) if folder.holds(f"{kind}.json") else ""
    name = next(f"{kind}.{letter}" for letter in FOLDERS if f"{kind}.{letter}" != used)
    shutil.rmtree(folder.path / name, ignore_errors=True)
    return name


def _parts(engine: ShardedEngine, *, state: bool) -> Iterator[Part]:
    """Yield the slices of this worker."""
    rows: dict[str, ShardedRows] = {"entity": engine.entities, "relation": engine.relations}
    for each in slices_of(engine.model, engine.recipe, state=state):
        if each.lane in engine.workers.lanes:
            held = rows[each.role]
            table = held.tables[each.table] if each.what == "values" else getattr(held.steps[each.table], each.what)
            start = held.lane(each.lane).start + each.start
            yield Part(each, table[start : start + each.count])


class _quiet(warnings.catch_warnings):  # noqa: N801
    """Keep torch from telling a single worker that it is alone."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
