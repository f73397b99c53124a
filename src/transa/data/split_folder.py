"""Folders with train, valid and test in files of their own, and side files for what triples cannot hold.

The files may be in any format that the registry knows, each in its own. ``entities.txt`` lists entities that occur in no triple.
``entity_names.tsv``, ``entity_descriptions.tsv``, ``relation_names.tsv`` and ``relation_descriptions.tsv`` hold a key, a tab and a text
on each line, without quoting.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from transa.data.formats import FileFormat, ReadOptions, format_of_file, read_file, written_extensions
from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.streams import stem
from transa.data.text_files import is_one_field, text_lines, write_lines
from transa.data.triple_table import TripleTable
from transa.errors import InputError, quote

#: The names under which splits are found.
ALIASES = {"valid": ("valid", "validation", "dev"), "test": ("test",), "train": ("train", "training")}
#: The side files.
LISTED = "entities.txt"
DESCRIBED = {kind: tuple(f"{kind}_{what}.tsv" for what in ("names", "descriptions")) for kind in ("entity", "relation")}

_LINE_ENDS = re.compile(r"[\r\n]+")


def read_split_folder(folder: Path, options: ReadOptions) -> KnowledgeGraph:
    """Read a folder with a train file and perhaps others."""
    entries = sorted(folder.iterdir())
    tables: dict[Split, TripleTable] = {}
    for split in SPLITS:
        files = [entry for entry in entries if _holds(entry, split)]
        if len(files) > 1:
            raise InputError(f"{split} is there twice: {files[0].name} and {files[1].name}", path=folder)
        if files:
            table = read_file(files[0], options)
            tables[split] = table.trainable() if split == "train" else table
    if "train" not in tables:
        names = ", ".join(entry.name for entry in entries[:8]) or "nothing"
        known = ", ".join(f"train{extension}" for extension in written_extensions())
        raise InputError(f"no train file ({known}, …); found {names}", path=folder)
    listed = folder / LISTED
    graph = KnowledgeGraph.from_tables(tables, _read_list(listed) if listed.is_file() else ())
    return _described(graph, folder)


def write_split_folder(graph: KnowledgeGraph, folder: Path, chosen: FileFormat) -> None:
    """Write each split that holds triples to a file, and the side files that are needed."""
    for split in SPLITS:
        if len(graph.triples(split)):
            with (folder / f"{split}{chosen.extensions[0]}").open("wb") as file:
                chosen.write(graph, [split], file)
    _write_list(graph, folder)
    if not chosen.holds_names:
        _write_descriptions(graph, folder)


def split_folder_files() -> set[str]:
    """Return the names of all files that `write_split_folder` may make, in any format."""
    splits = {f"{split}{extension}" for split in SPLITS for extension in written_extensions()}
    return splits | {LISTED, *DESCRIBED["entity"], *DESCRIBED["relation"]}


def _holds(entry: Path, split: Split) -> bool:
    return entry.is_file() and stem(entry).lower() in ALIASES[split] and format_of_file(entry) is not None


# ---------------------------------------------------------------------- side files


def _read_list(path: Path) -> list[str]:
    return list(dict.fromkeys(line.rstrip("\r\n") for line in text_lines(path) if line.strip()))


def _write_list(graph: KnowledgeGraph, folder: Path) -> None:
    occurring = np.unique(np.concatenate([graph.triples(split)[:, [0, 2]] for split in SPLITS]))
    if len(occurring) == len(graph.entities):
        return
    alone = [graph.entities[entity] for entity in np.setdiff1d(np.arange(len(graph.entities)), occurring)]
    for name in alone:
        if any(mark in name for mark in "\n\r\ufeff"):
            raise InputError(f"{LISTED} cannot hold the entity {quote(name)}, which occurs in no triple; use parquet")
    write_lines(folder / LISTED, alone)


def _described(graph: KnowledgeGraph, folder: Path) -> KnowledgeGraph:
    """Return the graph with the names and descriptions of the side files."""
    vocabularies = []
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        texts = [_read_descriptions(folder / file) for file in DESCRIBED[kind]]
        vocabularies.append(vocabulary.described(*texts) if any(texts) else vocabulary)
    return replace(graph, entities=vocabularies[0], relations=vocabularies[1])


def _read_descriptions(path: Path) -> dict[str, str] | None:
    """Read lines of a key, a tab and a text. Quotes are part of the text."""
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


def _write_descriptions(graph: KnowledgeGraph, folder: Path) -> None:
    """Write names and descriptions. A key with a tab or a line end is left out, and line ends in texts become spaces."""
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        for file, column in zip(DESCRIBED[kind], (vocabulary.names, vocabulary.descriptions), strict=True):
            if column is not None:
                pairs = zip(vocabulary, column.to_pylist(), strict=True)
                lines = (f"{key}\t{_LINE_ENDS.sub(' ', text)}" for key, text in pairs if text and is_one_field(key))
                write_lines(folder / file, lines)
