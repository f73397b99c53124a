"""Folders: train, valid and test in files of their own, with side files for names; and the package's own Parquet folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.readers.delimited import TextOptions, read_delimited
from transa.data.readers.openke import is_openke, read_openke
from transa.data.readers.parquet import checked_schema, read_parquet
from transa.data.readers.rdf import FORMATS, read_rdf
from transa.data.readers.rows import text_lines
from transa.data.readers.streams import format_suffix, reading, stem
from transa.data.table import TripleTable
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote

TEXT_SUFFIXES = (".txt", ".tsv", ".csv", "")
#: Other names under which splits are found.
ALIASES = {"valid": ("valid", "validation", "dev"), "test": ("test",), "train": ("train", "training")}


def read_file(path: Path, options: TextOptions | None = None) -> TripleTable:
    """Read one file of triples, its suffix telling the format; what has no known suffix is read as delimited text."""
    suffix = format_suffix(path)
    if suffix == ".parquet":
        return read_parquet(path, options)
    if suffix in FORMATS:
        return read_rdf(path)
    return read_delimited(path, options)


def read_folder(folder: Path, options: TextOptions | None = None) -> KnowledgeGraph:
    """Read a folder: the package's own, OpenKE's, or one with train, valid and test files."""
    with reading(folder):
        if is_own(folder):
            return read_own(folder)
        if is_openke(folder):
            return read_openke(folder)
        return _read_splits(folder, options)


def _read_splits(folder: Path, options: TextOptions | None) -> KnowledgeGraph:
    entries = sorted(folder.iterdir())
    tables: dict[Split, TripleTable] = {}
    for split in SPLITS:
        files = [entry for entry in entries if _holds(entry, split)]
        if len(files) > 1:
            raise InputError(f"{split} is there twice: {files[0].name} and {files[1].name}", path=folder)
        if files:
            table = read_file(files[0], options)
            tables[split] = table.trainable(files[0]) if split == "train" else table
    if "train" not in tables:
        names = ", ".join(entry.name for entry in entries[:8]) or "nothing"
        raise InputError(f"no train file (train.txt, .tsv, .csv, .parquet, .nt, .ttl, …); found {names}", path=folder)
    listed = folder / "entities.txt"
    graph = KnowledgeGraph.from_tables(tables, _read_list(listed) if listed.is_file() else ())
    return _described(graph, folder)


def _holds(entry: Path, split: Split) -> bool:
    known = (*TEXT_SUFFIXES, ".parquet", *FORMATS)
    return entry.is_file() and stem(entry).lower() in ALIASES[split] and format_suffix(entry) in known


def _read_list(path: Path) -> list[str]:
    return list(dict.fromkeys(line.rstrip("\r\n") for line in text_lines(path) if line.strip()))


def _described(graph: KnowledgeGraph, folder: Path) -> KnowledgeGraph:
    """Add names and descriptions from the side files ``entity_names.tsv``, ``relation_names.tsv`` and their like."""
    vocabularies = []
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        texts = [_read_side_file(folder / f"{kind}_{what}.tsv") for what in ("names", "descriptions")]
        vocabularies.append(vocabulary.described(*texts) if any(texts) else vocabulary)
    return replace(graph, entities=vocabularies[0], relations=vocabularies[1])


def _read_side_file(path: Path) -> dict[str, str] | None:
    """Read ``key<TAB>text`` lines. Quotes are part of the text."""
    if not path.is_file():
        return None
    texts = {}
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        name, tab, text = line.rstrip("\r\n").partition("\t")
        if not tab:
            raise InputError(f"expected a key, a tab and a text, found {quote(name)}", path=path, line=number)
        texts[name] = text
    return texts


# ---------------------------------------------------------------------- the package's own folders


def is_own(folder: Path) -> bool:
    """Tell whether a folder was written by `KnowledgeGraph.save`."""
    return (folder / "entities.parquet").exists() and (folder / "relations.parquet").exists()


def read_own(folder: Path) -> KnowledgeGraph:
    """Read a graph that `KnowledgeGraph.save` wrote, id for id."""
    try:
        vocabularies = [
            Vocabulary.from_table(_read_own_table(folder / f"{kind}.parquet")) for kind in ("entities", "relations")
        ]
        tables = {
            split: _read_own_table(folder / f"{split}.parquet")
            for split in SPLITS
            if split == "train" or (folder / f"{split}.parquet").exists()
        }
        triples = {
            split: np.stack([table[name].to_numpy() for name in ("head", "relation", "tail")], axis=1)
            for split, table in tables.items()
        }
        labels = {split: table["label"].to_numpy() for split, table in tables.items() if "label" in table.column_names}
        return KnowledgeGraph.from_ids(
            triples["train"],
            triples.get("valid"),
            triples.get("test"),
            entities=vocabularies[0],
            relations=vocabularies[1],
            valid_labels=labels.get("valid"),
            test_labels=labels.get("test"),
        )
    except (OSError, KeyError, pa.ArrowException, InputError) as error:
        raise InputError(f"not a readable graph folder ({error})", path=folder) from None


def _read_own_table(path: Path) -> pa.Table:
    checked_schema(path)
    table = pq.read_table(path, partitioning=None)
    table.validate(full=True)
    return table
