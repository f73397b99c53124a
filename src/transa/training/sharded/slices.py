"""How tables are cut into slices for files, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transa.errors import InputError
from transa.models import Model
from transa.training.engine import training_model
from transa.training.lanes import Numbering
from transa.training.optimizers import state_shapes
from transa.training.recipe import Recipe
from transa.training.settings import table_settings

#: The two folders that take turns.
FOLDERS = ("a", "b")
#: Bytes of a file, about: what is in memory twice while it is written.
FILE = 64_000_000


@dataclass(frozen=True)
class Slice:
    """Some rows of a table, all of one lane.

    Attributes
    ----------
    role, table
        The table: of entities or relations, and its name.
    what
        The parameters, or which part of the optimiser's state.
    lane, start, count
        Rows `start` to `start + count` of the lane.
    width
        Numbers in a row.
    file
        The number of the file that holds it, from 1.
    """

    role: Literal["entity", "relation"]
    table: str
    what: Literal["values", "first", "second"]
    lane: int
    start: int
    count: int
    width: int
    file: int

    def __str__(self) -> str:
        return f"{self.role}.{self.table}.{self.what}.{self.lane}.{self.start}"


def numberings(model: Model, recipe: Recipe) -> dict[str, Numbering]:
    """Return to which lanes entities and relations are dealt."""
    sizes = {"entity": model.num_entities, "relation": model.num_relations}
    return {role: Numbering(size, recipe.lanes, recipe.seed) for role, size in sizes.items()}


def slices_of(model: Model, recipe: Recipe, *, state: bool) -> Iterator[Slice]:
    """Yield all slices of a model, lane after lane, with the optimiser's state or without."""
    settings = table_settings(training_model(model, recipe), recipe)
    bytes_of_number = 8 if recipe.precision == "float64" else 4
    sizes: dict[Literal["entity", "relation"], tuple[int, dict[str, tuple[int, ...]]]] = {
        "entity": (model.num_entities, model.entity_tables()),
        "relation": (model.num_relations, model.relation_tables()),
    }
    file, filled = 1, 0
    for lane in range(recipe.lanes):
        for role, (number, tables) in sizes.items():
            rows = (lane + 1) * number // recipe.lanes - lane * number // recipe.lanes
            for table, shape in tables.items():
                learned = settings.get(f"{role}.{table}")
                shapes = state_shapes(learned.optimizer, rows, prod(shape)) if state and learned else ()
                whats: tuple[Literal["values", "first", "second"], ...] = ("values", "first", "second")
                for what, (_, width) in zip(whats, ((rows, prod(shape)), *shapes), strict=False):
                    each = max(1, FILE // max(width * bytes_of_number, 1))
                    for start in range(0, rows if width else 0, each):
                        count = min(each, rows - start)
                        size = count * width * bytes_of_number
                        if filled and filled + size > FILE:
                            file, filled = file + 1, 0
                        filled += size
                        yield Slice(role, table, what, lane, start, count, width, file)
        file, filled = file + 1, 0  # lanes share no file: workers write side by side


def merged(folder: Path, model: Model, recipe: Recipe) -> dict[str, Tensor]:
    """Return whole tables from a folder of slices.

    Raises
    ------
    InputError
        If a file is damaged, or a slice is missing or of another shape.
    """
    kind = getattr(torch, recipe.precision)
    tables = {name: torch.empty(shape, dtype=kind) for name, shape in model.shapes().items()}
    dealt = numberings(model, recipe)
    missing = {str(each): each for each in slices_of(model, recipe, state=False)}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118
                    found = file.get_tensor(name)
                    if name == "relation.loop_free":
                        tables[name] = found != 0
                        continue
                    each = missing.pop(name, None)
                    if each is None or tuple(found.shape) != (each.count, each.width) or found.dtype != kind:
                        raise InputError(
                            f"does not expect {name[:60]!r}: {found.dtype} {tuple(found.shape)}", path=path
                        )
                    ids = dealt[each.role].members(each.lane)[each.start : each.start + each.count]
                    table = tables[f"{each.role}.{each.table}"]
                    table[torch.from_numpy(ids).long()] = found.reshape(each.count, *table.shape[1:])
        except (OSError, SafetensorError, ValueError, RuntimeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"damaged or not readable ({error})", path=path) from None
    if missing:
        raise InputError(f"{next(iter(missing))} is missing", path=folder)
    return tables


def folder_of(notes: dict[str, Any]) -> str:
    """Return the folder that holds the rows; other text than our own names is refused."""
    name = notes.get("folder")
    if not isinstance(name, str) or name.partition(".")[2] not in FOLDERS or "/" in name:
        raise InputError(f"names no folder of rows, found {name!r:.40}")
    return name
