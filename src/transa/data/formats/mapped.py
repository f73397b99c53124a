"""A graph whose triples and index of training facts are read where they lie, from files that all processes of a machine share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.facts import Answers, KnownFacts
from transa.data.formats.base import FolderFormat
from transa.data.formats.parquet import read_checked
from transa.data.graph import SPLITS, KnowledgeGraph
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.storage import check_regular

#: The arrays of the index: for (head, relation, ?) and (?, relation, tail), the questions, where their answers begin, and the answers.
INDEX: dict[str, np.dtype[Any]] = {"queries": np.dtype("<i8"), "offsets": np.dtype("<i8"), "answers": np.dtype("<i4")}
#: The type of ids in triples.
ID: np.dtype[Any] = np.dtype("<i4")


class MappedGraph(FolderFormat):
    """A folder with plain arrays: ``train.triples`` holds three numbers of 32 bits a triple, little-endian."""

    name = "mapped"
    description = "a large graph, whose triples are read where they lie"
    files = (
        *("entities.parquet", "relations.parquet", *(f"{split}.triples" for split in SPLITS)),
        *(f"{side}.{part}" for side in ("heads", "tails") for part in INDEX),
    )

    def is_mine(self, folder: Path) -> bool:
        """Tell whether there are training triples as an array."""
        return (folder / "train.triples").exists()

    def read(self, folder: Path) -> KnowledgeGraph:
        """Map a graph into memory."""
        try:
            entities, relations = (
                Vocabulary.from_table(read_checked(folder / f"{kind}.parquet")) for kind in ("entities", "relations")
            )
            triples = {
                split: _mapped(folder / f"{split}.triples", ID).reshape(-1, 3)
                for split in SPLITS
                if split == "train" or (folder / f"{split}.triples").exists()
            }
            none = np.empty((0, 3), ID)
            valid, test = triples.get("valid", none), triples.get("test", none)
            graph = KnowledgeGraph(entities, relations, triples["train"], valid, test)
            sides = {side: _answers(folder, side, graph) for side in ("heads", "tails")}
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"not a readable graph folder ({error})", path=folder) from None
        facts = KnownFacts(graph.train, len(entities), len(relations))
        facts.heads, facts.tails = sides["heads"], sides["tails"]
        vars(graph)["training_facts"] = facts
        return graph

    def write(self, graph: KnowledgeGraph, folder: Path) -> None:
        """Write vocabularies, triples and the index."""
        for kind, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
            pq.write_table(vocabulary.to_table(), folder / f"{kind}.parquet")
        for split in SPLITS:
            graph.triples(split).astype(ID).tofile(folder / f"{split}.triples")
        for side in ("heads", "tails"):
            answers: Answers = getattr(graph.training_facts, side)
            for part, kind_of_number in INDEX.items():
                getattr(answers, part).astype(kind_of_number).tofile(folder / f"{side}.{part}")


def _mapped(path: Path, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the array in a file; what is written to it stays in this process."""
    check_regular(path)
    if path.stat().st_size % kind.itemsize:
        raise ValueError(f"{path.name} is cut short")
    if not path.stat().st_size:
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="c").view(np.ndarray)


def _answers(folder: Path, side: str, graph: KnowledgeGraph) -> Answers:
    """Return one direction of the index, after a check of its order and of all its bounds: kernels rely on them."""
    queries, offsets, answers = (_mapped(folder / f"{side}.{part}", kind) for part, kind in INDEX.items())
    whole = len(offsets) == len(queries) + 1 and offsets[0] == 0 and offsets[-1] == len(answers)
    inside = not len(answers) or (int(answers.min()) >= 0 and int(answers.max()) < len(graph.entities))
    asked = not len(queries) or (queries[0] >= 0 and queries[-1] < len(graph.entities) * len(graph.relations))
    if not (whole and inside and asked and _rises(queries) and _rises(offsets)):
        raise ValueError(f"the index of {side} is damaged")
    return Answers(queries, offsets, answers)


def _rises(values: npt.NDArray[Any]) -> bool:
    """Tell whether each number is larger than the one before."""
    step = 1 << 24
    return all(bool((np.diff(values[at : at + step + 1]) > 0).all()) for at in range(0, len(values), step))
