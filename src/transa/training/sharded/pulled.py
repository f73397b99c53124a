"""A model whose tables are held by several workers, to be asked as one that holds them itself."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import cast

import numpy as np
import torch
from torch import Tensor

from transa.models import Model, Rows
from transa.training.sharded.model import Held
from transa.training.sharded.rows import HeldRows


class PulledTable:
    """A table of which one asks for some rows at a time, as one indexes a tensor; all workers ask alike.

    Parameters
    ----------
    rows
        Who holds which row.
    name, shape
        The table, and its shape.
    """

    def __init__(self, rows: HeldRows, name: str, shape: tuple[int, ...]) -> None:
        self.rows = rows
        self.name = name
        self.shape = torch.Size(shape)
        self.dtype = torch.from_numpy(np.empty(0, rows.kind)).dtype
        self.device = torch.device("cpu")

    def __getitem__(self, ids: Tensor) -> Tensor:
        distinct, places = np.unique(self.rows.numbering.rows[ids.numpy()], return_inverse=True)
        found = self.rows.pull(distinct, (self.name,))[places.reshape(-1)]
        return torch.from_numpy(found).reshape(*ids.shape, *self.shape[1:])

    def split(self, size: int) -> Iterator[Tensor]:
        """Yield all rows, some at a time, as `torch.Tensor.split` does."""
        for start in range(0, self.shape[0], size):
            yield self[torch.arange(start, min(start + size, self.shape[0]))]

    def numel(self) -> int:
        """Return how many numbers the table has."""
        return self.shape.numel()


def pulled_model(held: Held) -> Model:
    """Return the model with tables that come from whoever holds them; what scores given triples needs no others."""
    model = copy(held.model)
    for role, rows in (("entity", held.entities), ("relation", held.relations)):
        tables = {name: PulledTable(rows, name, held.model.shapes()[f"{role}.{name}"]) for name in rows.columns}
        setattr(model, role, Rows(cast(dict[str, Tensor], tables)))
    return model
