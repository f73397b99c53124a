"""Load a graph from a dataset's name, a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from transa.data.download_bar import download_bar
from transa.data.formats import ReadOptions, format_of_folder, read_file
from transa.data.graph import KnowledgeGraph
from transa.data.registry import DATASETS, canonical, locate, whereabouts
from transa.data.selecting import select
from transa.data.sources import SCHEMES, read_source, scheme_of
from transa.data.split_folder import read_split_folder
from transa.data.splitting import split_graph
from transa.data.statistics import unseen_rows
from transa.data.streams import check_exists, reading
from transa.errors import InputError, quote, suggest
from transa.readable import counted, listed


class TextOptions(TypedDict, total=False):
    """How to read a text file; None means: find out."""

    header: bool | None
    delimiter: str | None
    quotes: bool


def load(
    source: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | None = None,
    query: str | None = None,
    minimum_confidence: tuple[str | int, float] | None = None,
    drop_relations: Sequence[str] = (),
    literals: bool = True,
    split: Sequence[float] | None = None,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> KnowledgeGraph:
    """Load a knowledge graph.

    Parameters
    ----------
    source
        The name of a dataset (``"umls"``, ``"FB15k-237"``; see ``transa datasets``) or a path: a file of triples (TSV, CSV,
        Parquet, N-Triples, Turtle, RDF/XML and others; see ``transa formats``; text and RDF also as .gz or .zst), a folder with train,
        valid and test files, an OpenKE folder, or a folder written by `KnowledgeGraph.save`. A string that is a dataset's name means
        the dataset; ``"./umls"`` is a path. Or a source with a scheme: ``"sparql:URL"``, an endpoint; ``"duckdb:FILE"``, a database;
        ``"pykeen:NAME"``, a dataset of PyKEEN.
    columns
        Head, relation, tail and perhaps label: names in the header, or positions counted from 0. By default columns with usual
        names are taken, otherwise the first three columns, and a fourth as the label (1 or -1).
    query
        What to ask an endpoint (in SPARQL) or a database (in SQL).
    minimum_confidence
        A column of numbers, by its name in the header or its position counted from 0, and the least of them with which a row is kept:
        ``("score", 0.7)``.
    drop_relations
        Relations whose triples are left out, by key.
    literals
        Whether to keep triples whose tail is a number or a date. Without them, a year or a rating does not become an entity; a number
        that is the head of a triple stays one. Of RDF, literals are never kept.
    split
        Fractions of train, valid and test, for a graph that has no valid and test triples yet.
    seed
        The seed of that split.
    text
        How to read a text file: ``header``, whether the first line names the columns (by default it does if it is a usual header, or if
        nothing in it comes again in the other lines); ``delimiter``, the character between fields (by default the usual ones are
        tried); ``quotes``, whether a field that starts with ``"`` is quoted (by default it is).

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
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"expected the name of a dataset or a path, found {type(source).__name__}; "
            "transa.KnowledgeGraph.from_triples takes rows and frames"
        )
    options = ReadOptions(None if columns is None else tuple(columns), minimum_confidence=minimum_confidence, **text)
    name = canonical(source) if isinstance(source, str) else None
    if isinstance(source, str) and scheme_of(source) is not None:
        if options != ReadOptions():
            raise InputError(
                "columns, confidence, header, delimiter and quotes are for files; a query selects", path=source
            )
        graph = read_source(source, query)
    elif query is not None:
        raise InputError(
            f"a query goes with {listed([f'{each}:' for each in SCHEMES])}, not with a file", path=os.fspath(source)
        )
    else:
        graph = _read(source, name, options)
    graph = select(graph, drop_relations, literals=literals)
    if split is not None:
        graph = split_graph(graph, split, seed)
    found = replace(graph, name=name, notes=(*graph.notes, *_unseen(graph)))
    if "training_facts" in vars(graph):  # an index that was read with the graph
        vars(found)["training_facts"] = graph.training_facts
    return found


def _read(source: str | os.PathLike[str], name: str | None, options: ReadOptions) -> KnowledgeGraph:
    """Read a dataset, whose name in the registry is given, or a file or a folder."""
    path = Path(source) if name is None else _dataset_folder(name)
    try:
        check_exists(path)
    except InputError:
        if isinstance(source, str) and not set(source) & {"/", "\\", "."}:
            raise InputError(f"no dataset, file or folder is called {quote(source)}{_suggest(source)}") from None
        raise
    if path.is_dir():
        return read_folder(path, options)
    return KnowledgeGraph.from_tables({"train": read_file(path, options).trainable()})


def read_folder(folder: Path, options: ReadOptions | None = None) -> KnowledgeGraph:
    """Read a folder: in a format that recognises it, otherwise as one with train, valid and test files."""
    with reading(folder):
        found = format_of_folder(folder)
        if found is None:
            return read_split_folder(folder, options or ReadOptions())
        if options is not None and options.minimum_confidence is not None:
            raise InputError(f"a folder of the format {found.name} has no column of confidence", path=folder)
        return found.read(folder)


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
            have = counted(count, f"{split} triple has", f"{split} triples have")
            notes.append(
                f"{have} an entity or relation that does not occur in train, and {'is' if count == 1 else 'are'} kept"
            )
    return notes
