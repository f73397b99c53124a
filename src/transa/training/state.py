"""Taking up what was kept, having looked at it: a file may be damaged, or made by someone else."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from transa.errors import InputError


def put_in_place(tables: dict[str, Tensor], kept: dict[str, Tensor], prefix: str = "") -> None:
    """Fill tables with those that were kept under the same names.

    Raises
    ------
    InputError
        If one is missing, is of another shape or type, or holds NaN or infinity.
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
    """Return a dictionary of texts and finite numbers as it is, None for None."""
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
