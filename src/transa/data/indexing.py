"""Names become ids: the vocabularies of a graph from the names or ids in its triples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transa.data.vocabulary import Vocabulary
from transa.errors import InputError

#: With ids alone, up to so many times as many are named as the triples hold; beyond, the largest id is taken for a mistake.
SPARSE = 1000


def index_names(columns: list[pa.ChunkedArray], listed: Sequence[str]) -> tuple[pa.Array, list[npt.NDArray[np.int32]]]:
    """Return the sorted distinct names of all columns, and each column as positions in them."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    if listed:
        chunks.append(pa.array(listed, pa.string()).dictionary_encode())
    if not chunks:
        return pa.array([], pa.string()), [np.empty(0, np.int32) for _ in columns]
    unified = pa.chunked_array(chunks).unify_dictionaries().chunks
    names = unified[0].dictionary
    order = pc.sort_indices(names).to_numpy()
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    parts = iter(unified)
    ids = []
    for column in columns:
        pieces = [rank[next(parts).indices.to_numpy()] for _ in column.chunks]
        ids.append(np.concatenate(pieces) if pieces else np.empty(0, np.int32))
    return names.take(pa.array(order)), ids


def vocabulary_of(kind: str, given: Vocabulary | Iterable[str] | int | None, ids: npt.NDArray[np.int32]) -> Vocabulary:
    """Return what `KnowledgeGraph.from_ids` was given: a vocabulary, names, how many there are, or nothing but ids."""
    if isinstance(given, Vocabulary):
        return given
    if given is not None and not isinstance(given, int):
        return Vocabulary(given)
    count = given
    if count is None:
        count = int(ids.max()) + 1 if ids.size else 0
        if count > SPARSE * max(ids.size, SPARSE):
            raise InputError(
                f"the id {count - 1:,} would make {count:,} {kind}, far more than occur in the triples; say how many there are or "
                f"name them ({kind}=…), or give names to from_triples"
            )
    return Vocabulary(pa.array(np.arange(count)).cast(pa.large_string()))


def united(parts: list[dict[str, set[str]]]) -> dict[str, set[str]]:
    """Return the types that any of several tables gives to a key."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for key, types in part.items():
            found.setdefault(key, set()).update(types)
    return found
