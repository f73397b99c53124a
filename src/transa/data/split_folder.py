"""Folders with train, valid and test in files of their own, and side files for what triples cannot hold.

The files may be in any format that the registry knows, each in its own. For the side files see `transa.data.side_files`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from transa.data.formats import FileFormat, ReadOptions, format_of_file, read_file, written_extensions
from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.side_files import SIDE_FILES, described, read_list, write_side_files
from transa.data.streams import stem
from transa.data.triple_table import TripleTable
from transa.errors import InputError

#: The names under which splits are found.
ALIASES = {"valid": ("valid", "validation", "dev"), "test": ("test",), "train": ("train", "training")}


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
    return described(KnowledgeGraph.from_tables(tables, read_list(folder)), folder)


def write_split_folder(graph: KnowledgeGraph, folder: Path, chosen: FileFormat) -> None:
    """Write each split that holds triples to a file, and the side files that are needed."""
    untyped = replace(graph, entities=graph.entities.untyped(), relations=graph.relations.untyped())
    for split in SPLITS:  # types have side files of their own, and RDF would write them into each split
        if len(graph.triples(split)):
            with (folder / f"{split}{chosen.extensions[0]}").open("wb") as file:
                chosen.write(untyped, [split], file)
    write_side_files(graph, folder, names=not chosen.holds_names)


def split_folder_files() -> set[str]:
    """Return the names of all files that `write_split_folder` may make, in any format."""
    splits = {f"{split}{extension}" for split in SPLITS for extension in written_extensions()}
    return splits | SIDE_FILES


def _holds(entry: Path, split: Split) -> bool:
    return entry.is_file() and stem(entry).lower() in ALIASES[split] and format_of_file(entry) is not None
