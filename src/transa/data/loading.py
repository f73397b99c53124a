"""Load a graph from a dataset's name, a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transa.data.download_bar import download_bar
from transa.data.formats import ReadOptions, format_of_folder, read_file
from transa.data.graph import KnowledgeGraph
from transa.data.registry import DATASETS, canonical, locate, whereabouts
from transa.data.split_folder import read_split_folder
from transa.data.splitting import split_graph
from transa.data.statistics import unseen_rows
from transa.data.streams import check_exists, reading
from transa.errors import InputError, quote, suggest


def load(
    source: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
    split: Sequence[float] | None = None,
    seed: int = 0,
) -> KnowledgeGraph:
    """Load a knowledge graph.

    Parameters
    ----------
    source
        The name of a dataset (``"umls"``, ``"FB15k-237"``; see ``transa datasets``) or a path: a file of triples (TSV, CSV,
        Parquet, N-Triples, Turtle, RDF/XML and others; see ``transa formats``; text and RDF also as .gz or .zst), a folder with train,
        valid and test files, an OpenKE folder, or a folder written by `KnowledgeGraph.save`. A string that is a dataset's name means
        the dataset; ``"./umls"`` is a path.
    columns
        Head, relation, tail and perhaps label: names in the header, or positions counted from 0. By default columns with usual
        names are taken, otherwise the first three columns, and a fourth as the label (1 or -1).
    header
        Whether the first line of a text file names the columns. By default that depends on the line.
    delimiter
        The character between the fields of a text file. By default the file is tried with the usual ones.
    quotes
        Whether a field that starts with ``"`` is quoted.
    split
        Fractions of train, valid and test, for a graph that has no valid and test triples yet.
    seed
        The seed of that split.

    Returns
    -------
    KnowledgeGraph
        Its `notes` say what a user should know about how it was read. Its `name` is the dataset's, if `source` names one.

    Raises
    ------
    InputError
        If the source cannot be read; the message names the file, the line and the value.

    Examples
    --------
    >>> load("umls")
    KnowledgeGraph(135 entities, 46 relations, 5,216 train / 652 valid / 661 test triples)
    """
    options = ReadOptions(None if columns is None else tuple(columns), header, delimiter, quotes)
    name = canonical(source) if isinstance(source, str) else None
    path = Path(source) if name is None else _dataset_folder(name)
    try:
        check_exists(path)
    except InputError:
        if isinstance(source, str) and not set(source) & {"/", "\\", "."}:
            raise InputError(f"no dataset, file or folder is called {quote(source)}{_suggest(source)}") from None
        raise
    if path.is_dir():
        graph = read_folder(path, options)
    else:
        graph = KnowledgeGraph.from_tables({"train": read_file(path, options).trainable(path)})
    if split is not None:
        graph = split_graph(graph, split, seed)
    return replace(graph, name=name, notes=(*graph.notes, *_unseen(graph)))


def read_folder(folder: Path, options: ReadOptions | None = None) -> KnowledgeGraph:
    """Read a folder: in a format that recognises it, otherwise as one with train, valid and test files."""
    with reading(folder):
        found = format_of_folder(folder)
        return read_split_folder(folder, options or ReadOptions()) if found is None else found.read(folder)


def _dataset_folder(name: str) -> Path:
    place = whereabouts(name)
    if place is not None:
        return place
    with download_bar() as progress:
        return locate(name, progress)


def _suggest(source: str) -> str:
    return suggest(source, [*DATASETS, *(entry.name for entry in Path().iterdir())]) or (
        f"; the datasets are {', '.join(DATASETS)}"
    )


def _unseen(graph: KnowledgeGraph) -> list[str]:
    notes = []
    for split, triples in (("valid", graph.valid), ("test", graph.test)):
        count = int(unseen_rows(graph, triples).sum())
        if count:
            notes.append(
                f"{count:,} {split} triples have an entity or relation that does not occur in train; they are kept"
            )
    return notes
