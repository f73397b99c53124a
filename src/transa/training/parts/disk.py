"""Rows on disk: whole lanes are read and written one after the other, never single rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from transa.errors import InputError
from transa.kernels.arguments import Array
from transa.models.loop_prior import loop_free_relations
from transa.storage import sync, writing
from transa.training.lanes import Numbering
from transa.training.run import RunFolder
from transa.training.sharded.checkpoints import check_finished
from transa.training.sharded.model import columns_of
from transa.training.sharded.rows import Column, ShardedRows
from transa.training.sharded.slices import Slice, folder_of, numberings, slices_of
from transa.training.sharded.workers import Workers

Places = npt.NDArray[np.int64]


class Files:
    """A folder of slices, as `transa.training.sharded.checkpoints` writes them too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: dict[str, Path] = {}
        for path in sorted(folder.glob("*.safetensors")):
            with _reading(path) as file:
                self._file |= dict.fromkeys(file.keys(), path)

    def __contains__(self, name: str) -> bool:
        return name in self._file

    def read(self, name: str) -> Array:
        """Return what a file holds under a name.

        Raises
        ------
        InputError
            If it is missing, or a file is damaged.
        """
        path = self._file.get(name)
        if path is None:
            raise InputError(f"{name} is missing", path=self.folder)
        with _reading(path) as file:
            found: Array = file.get_tensor(name)
            return found

    def read_slice(self, each: Slice) -> Array:
        """Return the rows of a slice."""
        found = self.read(str(each))
        if found.shape != (each.count, each.width) or not np.isfinite(found).all():
            raise InputError(f"{each} is of another shape, or holds NaN or infinity", path=self._file[str(each)])
        return found

    def write(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Write one file, in the place of one of the same name."""
        path = self.folder / f"{name}.safetensors"
        with writing(path, sum(array.nbytes for array in arrays.values())):
            save_file({each: np.ascontiguousarray(array) for each, array in arrays.items()}, path)
            sync(path)
        self._file |= dict.fromkeys(arrays, path)


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    """Open a file of slices; whatever is wrong with it is an `InputError`."""
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (OSError, SafetensorError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"damaged or not readable ({error})", path=path) from None


class DiskRows:
    """The rows of all entities on disk, of which one lane at a time is in memory; see `transa.training.sharded.rows.HeldRows`.

    Parameters
    ----------
    files
        Where they are; it may be replaced.
    numbering, columns, kind
        As those of `transa.training.sharded.rows.ShardedRows`.
    slices
        Those of the model.
    """

    def __init__(
        self,
        files: Files,
        numbering: Numbering,
        columns: dict[str, Column],
        kind: npt.DTypeLike,
        slices: Iterable[Slice],
    ) -> None:
        self.files = files
        self.numbering = numbering
        self.columns = columns
        self.kind = np.dtype(kind)
        self._slices: dict[int, list[Slice]] = {lane: [] for lane in range(numbering.lanes)}
        for each in slices:
            if each.role == "entity":
                self._slices[each.lane].append(each)

    def slices(self, lane: int) -> list[Slice]:
        """Return the slices of a lane."""
        return self._slices[lane]

    def by_file(self, lane: int) -> Iterator[tuple[str, list[Slice]]]:
        """Yield the files of a lane by name, each with its slices."""
        slices = self._slices[lane]
        for number in sorted({each.file for each in slices}):
            yield f"{slices[0].role}-{number:05}", [each for each in slices if each.file == number]

    def of_lane(self, number: int, name: str) -> Array:
        """Return the rows of a lane in a table."""
        found = [each for each in self._slices[number] if each.table == name and each.what == "values"]
        return np.concatenate([self.files.read_slice(each) for each in found])

    def pull(self, rows: Places, names: tuple[str, ...]) -> Array:
        """Return some rows of some tables side by side; `rows` are sorted."""
        lanes, places = np.divmod(rows, self.numbering.block)
        parts = [
            np.concatenate([self.of_lane(lane, name)[places[lanes == lane]] for name in names], axis=1)
            for lane in np.unique(lanes).tolist()
        ]
        width = sum(self.columns[name].width for name in names)
        return np.concatenate([np.empty((0, width), self.kind), *parts])


class DiskModel:
    """A finished run whose entities stay on disk, to rank by and to ask: one lane at a time is in memory.

    Parameters
    ----------
    folder
        The run folder; workers or parts trained it.

    Raises
    ------
    InputError
        If training has not finished, files are damaged, or one process trained in memory.
    """

    def __init__(self, folder: RunFolder) -> None:
        check_finished(folder)
        self.recipe = folder.recipe()
        self.model = folder.empty_model()
        self.workers = Workers(self.recipe.lanes)
        files = Files(folder.place(folder_of(folder.read_json("weights.json"))))
        dealt, kind = numberings(self.model, self.recipe), np.dtype(self.recipe.precision)
        slices = list(slices_of(self.model, self.recipe, state=False))
        self.entities = DiskRows(files, dealt["entity"], columns_of("entity", self.model, {}), kind, slices)
        self.relations = ShardedRows(dealt["relation"], self.workers, columns_of("relation", self.model, {}), kind)
        for each in slices:
            if each.role == "relation":
                start = self.relations.lane(each.lane).start + each.start
                self.relations.tables[each.table][start : start + each.count] = files.read_slice(each)
        if self.recipe.loop_limit:
            graph = folder.graph()
            self.model.loop_free = loop_free_relations(graph.train, len(graph.relations), self.recipe.loop_limit)
