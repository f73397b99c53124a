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
from transa.models.loop_prior import loop_free_relations
from transa.training.run import RunFolder
from transa.training.sharded.model import ShardedModel
from transa.training.sharded.rows import ShardedRows
from transa.training.sharded.slices import FOLDERS, Slice, folder_of, slices_of
from transa.training.sharded.workers import Workers

#: What is kept: the state from which training resumes, the tables of the best epoch, and the trained ones.
Kind = Literal["checkpoint", "best", "weights"]


@dataclass(frozen=True)
class Part:
    """A slice of a table of this worker, in the table's own memory."""

    slice: Slice
    values: Array


def write(folder: RunFolder, kind: Kind, held: ShardedModel, **notes: Any) -> None:
    """Write the rows of all workers, with the state of the optimiser if training is to resume from them.

    Parameters
    ----------
    folder, kind
        Where, and as what.
    held
        Whose rows; the loop prior of its model goes with them.
    notes
        Plain values, which are kept in the file that names the folder.
    """
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    workers = held.workers
    name = workers.tell(free_name(folder, kind) if workers.is_first else None)
    parts = list(_parts(held, state=kind == "checkpoint"))
    named = {str(part.slice): torch.from_numpy(part.values) for part in parts}
    if held.model.loop_free is not None and workers.is_first and kind != "checkpoint":
        named["relation.loop_free"] = held.model.loop_free.to(torch.uint8)
    files = {str(each): each.file for each in slices_of(held.model, held.recipe, state=kind == "checkpoint")}
    files["relation.loop_free"] = 1
    writer = HuggingFaceStorageWriter(str(folder.path / name), fqn_to_index_mapping=files, save_distributed=True)
    with _quiet():
        save(named, storage_writer=writer, no_dist=workers.count == 1)
    if workers.is_first:
        folder.write_json(f"{kind}.json", {"folder": name, "steps": held.steps, **notes})
        for other in FOLDERS:
            if other != name.rpartition(".")[2]:
                shutil.rmtree(folder.path / f"{kind}.{other}", ignore_errors=True)
    workers.any(False)  # nobody goes on before the checkpoint is whole


def read(folder: RunFolder, kind: Kind, held: ShardedModel) -> dict[str, Any]:
    """Read the rows of this worker back, and return the notes."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    notes = folder.read_json(f"{kind}.json")
    parts = list(_parts(held, state=kind == "checkpoint"))
    named = {str(part.slice): torch.from_numpy(part.values) for part in parts}
    try:
        place = folder.place(folder_of(notes))
        reader = HuggingFaceStorageReader(str(place))
        with _quiet():
            load(named, storage_reader=reader, no_dist=held.workers.count == 1)
        held.steps = int(notes["steps"])
    except InputError:
        raise
    except Exception as error:  # DCP turns whatever happened on any worker into errors of many kinds
        raise InputError(f"damaged or not readable ({error!r:.200})", path=folder.path / f"{kind}.json") from None
    broken = any(not np.isfinite(part.values).all() for part in parts)
    if held.workers.any(broken):
        raise InputError("the tables hold NaN or infinity", path=folder.path / f"{kind}.json")
    return notes


def opened(folder: RunFolder, workers: Workers) -> ShardedModel:
    """Read the part of a finished run of workers that this one holds.

    Raises
    ------
    InputError
        If training has not finished, files are damaged, or one process trained.
    """
    check_finished(folder)
    recipe, graph = folder.recipe(), folder.graph()
    held = ShardedModel(folder.empty_model(), recipe, workers)
    read(folder, "weights", held)
    if recipe.loop_limit:
        held.model.loop_free = loop_free_relations(graph.train, len(graph.relations), recipe.loop_limit)
    return held


def check_finished(folder: RunFolder) -> None:
    """Raise an `InputError` if a folder holds no finished run of workers."""
    folder.check_finished()
    if not folder.holds("weights.json"):
        folder.config()  # says so if this is no run at all
        raise InputError("was trained by one process; leave out --workers and --sharded", path=folder.path)


def free_name(folder: RunFolder, kind: Kind) -> str:
    """Return the name of the folder that is not in use, and clear it."""
    used = folder_of(folder.read_json(f"{kind}.json")) if folder.holds(f"{kind}.json") else ""
    name = next(f"{kind}.{letter}" for letter in FOLDERS if f"{kind}.{letter}" != used)
    shutil.rmtree(folder.path / name, ignore_errors=True)
    return name


def _parts(held: ShardedModel, *, state: bool) -> Iterator[Part]:
    """Yield the slices of this worker."""
    roles: dict[str, ShardedRows] = {"entity": held.entities, "relation": held.relations}
    for each in slices_of(held.model, held.recipe, state=state):
        if each.lane in held.workers.lanes:
            rows = roles[each.role]
            table = rows.tables[each.table] if each.what == "values" else getattr(rows.steps[each.table], each.what)
            start = rows.lane(each.lane).start + each.start
            yield Part(each, table[start : start + each.count])


class _quiet(warnings.catch_warnings):  # noqa: N801
    """Keep torch from telling a single worker that it is alone."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
