"""The folder that `KnowledgeGraph.save` writes: Parquet files of ids and vocabularies, from which every id comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.formats.base import FolderFormat
from transa.data.formats.parquet import read_checked
from transa.data.graph import SPLITS, KnowledgeGraph
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError


class SavedGraph(FolderFormat):
    """A graph with everything it has: ids, names, descriptions and labels."""

    name = "parquet"
    description = "a saved graph, which keeps ids, names and labels"
    holds_labels = True
    files = ("entities.parquet", "relations.parquet", *(f"{split}.parquet" for split in SPLITS))

    def is_mine(self, folder: Path) -> bool:
        """Tell whether both vocabularies are there, and no triples as an array (`transa.data.formats.mapped`)."""
        both = (folder / "entities.parquet").exists() and (folder / "relations.parquet").exists()
        return both and not (folder / "train.triples").exists()

    def read(self, folder: Path) -> KnowledgeGraph:
        """Read a saved graph, id for id."""
        try:
            entities, relations = (
                Vocabulary.from_table(read_checked(folder / f"{kind}.parquet")) for kind in ("entities", "relations")
            )
            tables = {
                split: read_checked(folder / f"{split}.parquet")
                for split in SPLITS
                if split == "train" or (folder / f"{split}.parquet").exists()
            }
            triples = {
                split: np.stack([_numbers(table[name]) for name in ("head", "relation", "tail")], axis=1)
                for split, table in tables.items()
            }
            labels = {
                split: _numbers(table["label"]) for split, table in tables.items() if "label" in table.column_names
            }
            return KnowledgeGraph.from_ids(
                triples["train"],
                triples.get("valid"),
                triples.get("test"),
                entities=entities,
                relations=relations,
                valid_labels=labels.get("valid"),
                test_labels=labels.get("test"),
            )
        except (OSError, KeyError, pa.ArrowException, InputError) as error:
            raise InputError(f"not a readable graph folder ({error})", path=folder) from None

    def write(self, graph: KnowledgeGraph, folder: Path) -> None:
        """Write vocabularies and splits, each to a file of its own."""
        for kind, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
            pq.write_table(vocabulary.to_table(), folder / f"{kind}.parquet")
        for split in SPLITS:
            head, relation, tail = graph.triples(split).T
            columns = {"head": head, "relation": relation, "tail": tail}
            labels = graph.labels(split)
            if labels is not None:
                columns["label"] = labels
            pq.write_table(pa.table(columns), folder / f"{split}.parquet")


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers as an array. `to_numpy` of pyarrow would load pandas for it."""
    if column.null_count or not pa.types.is_integer(column.type):
        found = "a missing one (null)" if column.null_count else str(column.type)
        raise InputError(f"expected whole numbers, found {found}")
    numbers = column.cast(pa.int64()).combine_chunks()
    return np.frombuffer(numbers.buffers()[1] or b"", np.int64)[numbers.offset : numbers.offset + len(numbers)]
