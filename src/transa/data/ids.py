"""Triples as ids: rows of (head, relation, tail) and their labels in each split, how they are checked, and that they are read-only."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from transa.choices import Split
from transa.errors import InputError

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Triples = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int8]
Number = TypeVar("Number", bound=np.generic)


def no_triples() -> Triples:
    """Return no rows."""
    return np.empty((0, 3), dtype=np.int32)


def id_rows(values: npt.ArrayLike, split: Split) -> Triples:
    """Return rows of ids as an array of the type that graphs have; raise an `InputError` if they are something else."""
    array = np.asarray(values)
    if not array.size:
        return no_triples()
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{split}: expected whole numbers, found {array.dtype}; names go to from_triples")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{split}: expected rows of 3 ids, found an array of shape {array.shape}")
    limits = np.iinfo(np.int32)
    for extreme in (int(array.min()), int(array.max())):
        if not limits.min <= extreme <= limits.max:
            raise InputError(f"{split}: the id {extreme} is out of range (ids are 32-bit numbers)")
    return array.astype(np.int32, copy=False)


def checked_triples(values: npt.ArrayLike, split: Split, entities: int, relations: int) -> Triples:
    """Return the rows of a split, read-only; raise an `InputError` if an id is out of range."""
    triples = _frozen(id_rows(values, split))
    bounds = (entities, relations, entities)
    wrong = np.argwhere((triples < 0) | (triples >= bounds))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(
            f"{split}: the {('head', 'relation', 'tail')[column]} id {triples[row, column]} is out of range "
            f"(expected 0 to {bounds[column] - 1:,})",
            line=int(row) + 1,
            unit="row",
        )
    return triples


def checked_labels(values: npt.ArrayLike | None, split: Split, rows: int) -> Labels | None:
    """Return the labels of a split, read-only; raise an `InputError` unless there is 1 or -1 for each of its rows."""
    if values is None:
        return None
    labels = np.asarray(values)
    if labels.shape != (rows,) or not np.isin(labels, (1, -1)).all():
        raise InputError(f"{split}: expected a label of 1 or -1 for each triple")
    return _frozen(labels.astype(np.int8, copy=False))


def same_labels(left: Labels | None, right: Labels | None) -> bool:
    """Tell whether two splits have the same labels, or both none."""
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    array = np.ascontiguousarray(array).view()  # so that the caller's own array stays writeable
    array.flags.writeable = False
    return array
