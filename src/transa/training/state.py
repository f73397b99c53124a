"""Load tables and notes of a checkpoint, and check them first: the file may be damaged or come from someone else."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from transa.errors import InputError


def put_in_place(tables: dict[str, Tensor], kept: dict[str, Tensor], prefix: str = "") -> None:
    """Copy kept tables into the tables of the same names.

    Raises
    ------
    InputError
        If one is missing, has another shape or type, or holds NaN or infinity.
    """
    for name, table in tables.items():
        found = kept.get(f"{prefix}{name}")
        if found is None or found.shape != table.shape or found.dtype != table.dtype:
            what = "nothing" if found is None else f"{found.dtype} {tuple(found.shape)}"
            raise InputError(f"expected {prefix}{name}: {table.dtype} {tuple(table.shape)}, found {what}")
        if not bool(torch.isfinite(found).all()):
            raise InputError(f"{prefix}{name} holds NaN or infinity")
        table.copy_(found)


def plain(values: Any) -> dict[str, Any] | None:
    """Return a dictionary, or None, as it is.

    Raises
    ------
    ValueError
        If a value is neither a text, a finite number nor None.
    """
    if values is None:
        return None
    if not isinstance(values, dict):
        raise ValueError("a table is of another kind")
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is not a number")
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"{name} is of another kind")
    return values
