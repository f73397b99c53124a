"""Files beside the splits of a folder, for what triples cannot hold.

``entities.txt`` lists entities that occur in no triple. ``entity_names.tsv``, ``entity_descriptions.tsv``, ``relation_names.tsv`` and
``relation_descriptions.tsv`` hold a key, a tab and a text on each line, without quoting. ``entity_types.tsv`` holds an entity and one
of its types on each line, ``relation_types.tsv`` a relation, a type of its heads and a type of its tails, of which one may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from transa.data.graph import SPLITS, KnowledgeGraph
from transa.data.text_files import is_one_field, text_lines, write_lines
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote

LISTED = "entities.txt"
DESCRIBED = {kind: tuple(f"{kind}_{what}.tsv" for what in ("names", "descriptions")) for kind in ("entity", "relation")}
ENTITY_TYPES, RELATION_TYPES = "entity_types.tsv", "relation_types.tsv"
#: All of them.
SIDE_FILES = {LISTED, *DESCRIBED["entity"], *DESCRIBED["relation"], ENTITY_TYPES, RELATION_TYPES}

_LINE_ENDS = re.compile(r"[\r\n]+")


def read_list(folder: Path) -> list[str]:
    """Return the entities that a folder lists."""
    path = folder / LISTED
    lines = text_lines(path) if path.is_file() else ()
    return list(dict.fromkeys(line.rstrip("\r\n") for line in lines if line.strip()))


def described(graph: KnowledgeGraph, folder: Path) -> KnowledgeGraph:
    """Return a graph with the names, descriptions and types that the side files of a folder give."""
    vocabularies = []
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        texts = [read_descriptions(folder / file) for file in DESCRIBED[kind]]
        vocabularies.append(vocabulary.described(*texts) if any(texts) else vocabulary)
    types = _read_types(folder / ENTITY_TYPES, ("an entity", "a type"))
    sides = _read_types(folder / RELATION_TYPES, ("a relation", "the type of its heads", "the type of its tails"))
    return replace(
        graph,
        entities=vocabularies[0].typed(types=types[0]),
        relations=vocabularies[1].typed(domains=sides[0], ranges=sides[1]),
    )


def write_side_files(graph: KnowledgeGraph, folder: Path, *, names: bool) -> None:
    """Write the side files that a graph needs: the list of entities, types and, if asked, names and descriptions."""
    _write_list(graph, folder)
    _write_types(graph, folder)
    if names:
        _write_descriptions(graph, folder)


def _read_types(path: Path, fields: tuple[str, ...]) -> list[dict[str, set[str]]]:
    """Read lines of a key and types, separated by tabs; return a dictionary for each column of types."""
    found: list[dict[str, set[str]]] = [{} for _ in fields[1:]]
    lines = enumerate(text_lines(path), start=1) if path.is_file() else ()
    for number, line in lines:
        if not line.strip():
            continue
        key, *types = line.rstrip("\r\n").split("\t")
        if len(types) != len(fields) - 1 or not key.strip() or not any(map(str.strip, types)):
            wanted = ", ".join(fields[:-1]) + " and " + fields[-1]
            raise InputError(f"expected {wanted}, separated by tabs, found {quote(line)}", path=path, line=number)
        for column, name in zip(found, types, strict=True):
            if name.strip():
                column.setdefault(key, set()).add(name)
    return found


def _write_types(graph: KnowledgeGraph, folder: Path) -> None:
    """Write the types of entities, and of the sides of relations."""
    entities, relations = graph.entities, graph.relations
    if entities.types is not None:
        pairs = zip(entities, entities.types.to_pylist(), strict=True)
        write_lines(folder / ENTITY_TYPES, _typed_lines((key, name) for key, names in pairs for name in names))
    if relations.domains is not None or relations.ranges is not None:
        rows = zip(relations, *map(_listed, (relations, relations), ("domains", "ranges")), strict=True)
        lines = ((key, *pair) for key, heads, tails in rows for pair in zip_longest(heads, tails, fillvalue=""))
        write_lines(folder / RELATION_TYPES, _typed_lines(lines))


def _listed(vocabulary: Vocabulary, name: str) -> list[list[str]]:
    column = getattr(vocabulary, name)
    return [[]] * len(vocabulary) if column is None else column.to_pylist()


def _typed_lines(rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        for field in row:
            if not is_one_field(field):
                raise InputError(
                    f"a file of types cannot hold {quote(field)}, which has a tab or a line end; use parquet"
                )
        yield "\t".join(row)


def _write_list(graph: KnowledgeGraph, folder: Path) -> None:
    occurring = np.unique(np.concatenate([graph.triples(split)[:, [0, 2]] for split in SPLITS]))
    if len(occurring) == len(graph.entities):
        return
    alone = [graph.entities[entity] for entity in np.setdiff1d(np.arange(len(graph.entities)), occurring)]
    for name in alone:
        if any(mark in name for mark in "\n\r\ufeff"):
            raise InputError(f"{LISTED} cannot hold the entity {quote(name)}, which occurs in no triple; use parquet")
    write_lines(folder / LISTED, alone)


def read_descriptions(path: Path) -> dict[str, str] | None:
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
