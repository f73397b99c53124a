"""Names become ids: the vocabularies and rows of a graph from tables of named triples, or the vocabularies from ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transa.choices import Split
from transa.data.ids import SPLITS, Labels, Triples
from transa.data.name_notes import notes_on_names
from transa.data.triple_table import TripleTable
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError

#: With ids alone, up to so many times as many are named as the triples hold; beyond, the largest id is taken for a mistake.
SPARSE = 1000


class Indexed(NamedTuple):
    """What tables of named triples hold, by id."""

    entities: Vocabulary
    relations: Vocabulary
    triples: dict[Split, Triples]
    labels: dict[Split, Labels | None]
    notes: tuple[str, ...]


def tables_of(
    sources: Sequence[Any], columns: Sequence[str] | None = None, labelled: Sequence[str] | None = None
) -> dict[Split, TripleTable]:
    """Return train, valid and test as tables; `labelled` are the columns of valid and test."""
    tables: dict[Split, TripleTable] = {}
    for split, source in zip(SPLITS, sources, strict=True):
        if source is not None:
            table = TripleTable.of(source, columns if split == "train" else labelled)
            if split == "train" and not len(table):
                raise InputError("train: there is no triple")
            tables[split] = table.trainable() if split == "train" else table
    return tables


def index_tables(tables: Mapping[Split, TripleTable], listed: Sequence[str] = ()) -> Indexed:
    """Give ids to the names in tables, sorted, and to further entities that are `listed`."""
    present = [split for split in SPLITS if split in tables]
    sides = [side for split in present for side in (tables[split].heads, tables[split].tails)]
    entities, entity_ids = index_names(sides, listed)
    relations, relation_ids = index_names([tables[split].relations for split in present], ())
    triples = {
        split: np.stack((entity_ids[2 * place], relation_ids[place], entity_ids[2 * place + 1]), axis=1)
        for place, split in enumerate(present)
    }
    last_to_first = [tables[split] for split in reversed(present)]  # names in train replace those in valid and test
    names = {key: name for table in last_to_first for key, name in table.names.items()}
    descriptions = {key: text for table in last_to_first for key, text in table.descriptions.items()}
    types, domains, ranges = (
        united([getattr(table, kind) for table in tables.values()]) for kind in ("types", "domains", "ranges")
    )
    return Indexed(
        Vocabulary(entities).described(names, descriptions).typed(types=types),
        Vocabulary(relations).described(names, descriptions).typed(domains=domains, ranges=ranges),
        triples,
        {split: tables[split].labels for split in present},
        (*(note for split in present for note in tables[split].notes), *notes_on_names(entities, relations)),
    )


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
