"""OpenKE folders: ``entity2id.txt``, ``relation2id.txt`` and ``train2id.txt`` (``valid2id.txt``, ``test2id.txt``).

Each file starts with a line that counts the others. Vocabulary lines are ``name id``; triples are ids in the order head, tail,
relation. The ids of the files are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from transa.data.formats.base import FolderFormat
from transa.data.graph import SPLITS, KnowledgeGraph, Triples
from transa.data.text_files import is_one_field, text_lines, write_lines
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote

#: Rows that are turned into text at a time.
CHUNK = 1 << 16

_DIGITS = re.compile(r"[0-9\s]*", re.ASCII)


class OpenKE(FolderFormat):
    """Folders that OpenKE reads."""

    name = "openke"
    description = "entity2id.txt, relation2id.txt, train2id.txt, ... of OpenKE"
    files = tuple(f"{kind}2id.txt" for kind in ("entity", "relation", *SPLITS))

    def is_mine(self, folder: Path) -> bool:
        """Tell whether there is a file of entities or of training triples."""
        return (folder / "train2id.txt").exists() or (folder / "entity2id.txt").exists()

    def read(self, folder: Path) -> KnowledgeGraph:
        """Read a folder; its ids are kept."""
        for name in ("entity2id.txt", "relation2id.txt", "train2id.txt"):
            if not (folder / name).exists():
                raise InputError(f"an OpenKE folder needs {name}", path=folder)
        entities = _read_vocabulary(folder / "entity2id.txt")
        relations = _read_vocabulary(folder / "relation2id.txt")
        bounds = (len(entities), len(entities), len(relations))
        triples = {
            split: _read_triples(folder / f"{split}2id.txt", bounds)
            for split in SPLITS
            if (folder / f"{split}2id.txt").exists()
        }
        return KnowledgeGraph.from_ids(
            triples["train"], triples.get("valid"), triples.get("test"), entities=entities, relations=relations
        )

    def write(self, graph: KnowledgeGraph, folder: Path) -> None:
        """Write vocabularies and triples, each file with its count in the first line."""
        for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
            for name in vocabulary:
                if not is_one_field(name):
                    raise InputError(f"the name {quote(name)} holds a tab or a line end, which OpenKE files cannot")
            lines = (f"{name}\t{index}" for index, name in enumerate(vocabulary))
            write_lines(folder / f"{kind}2id.txt", chain([str(len(vocabulary))], lines))
        for split in SPLITS:
            triples = graph.triples(split)
            with (folder / f"{split}2id.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.write(f"{len(triples)}\n")
                for start in range(0, len(triples), CHUNK):
                    rows = triples[start : start + CHUNK].tolist()
                    file.write("".join(f"{head} {tail} {relation}\n" for head, relation, tail in rows))


def _counted_lines(path: Path) -> tuple[int, Iterator[tuple[int, str]]]:
    """Return the count of the first line, and the lines that follow with their numbers."""
    lines = enumerate(text_lines(path), start=1)
    first = next(lines, (1, ""))[1].strip()
    if not _is_id(first):
        raise InputError(f"expected the number of lines that follow, found {quote(first)}", path=path, line=1)
    return int(first), ((number, line.rstrip("\r\n")) for number, line in lines if line.strip())


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19  # so that it fits into 64 bits


def _check_count(path: Path, announced: int, found: int) -> None:
    if announced != found:
        raise InputError(f"{announced:,} lines announced, {found:,} found", path=path, line=1)


def _read_vocabulary(path: Path) -> Vocabulary:
    announced, lines = _counted_lines(path)
    names: dict[int, str] = {}
    seen: set[str] = set()
    for number, line in lines:
        name, separator, position = line.rpartition("\t")
        if not separator:
            name, _, position = line.rstrip().rpartition(" ")
        position = position.strip()
        if not _is_id(position) or not name.strip():
            raise InputError(f"expected a name and an id, found {quote(line)}", path=path, line=number)
        index = int(position)
        if index >= announced:
            raise InputError(
                f"the id {index:,} is out of range (expected 0 to {announced - 1:,})", path=path, line=number
            )
        if index in names:
            raise InputError(f"the id {index:,} occurs twice", path=path, line=number)
        if name in seen:
            raise InputError(f"the name {quote(name)} occurs twice", path=path, line=number)
        names[index] = name
        seen.add(name)
    _check_count(path, announced, len(names))
    return Vocabulary(names[index] for index in range(len(names)))


def _read_triples(path: Path, bounds: tuple[int, int, int]) -> Triples:
    announced, lines = _counted_lines(path)
    start = next(lines, None)
    if start is None:
        _check_count(path, announced, 0)
        return np.empty((0, 3), dtype=np.int32)
    try:
        ids = np.loadtxt(_only_digits(chain([start], lines)), dtype=np.int64, comments=None, ndmin=2)
    except ValueError:
        ids = np.empty((1, 0), dtype=np.int64)
    if ids.shape[1] != 3 or ((ids < 0) | (ids >= bounds)).any():
        _find_wrong_triple(path, bounds)
    _check_count(path, announced, len(ids))
    return ids[:, [0, 2, 1]].astype(np.int32)


def _only_digits(lines: Iterable[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if not _DIGITS.fullmatch(line):  # loadtxt would take 1.5 for a whole number
            raise ValueError(line)
        yield line


def _find_wrong_triple(path: Path, bounds: tuple[int, int, int]) -> None:
    """Go through the lines again, one by one, to say which is wrong and why."""
    for number, line in _counted_lines(path)[1]:
        fields = line.split()
        if len(fields) != 3:
            raise InputError(
                f"expected 3 ids (head, tail, relation), found {len(fields)}: {quote(line)}", path=path, line=number
            )
        for field, bound, kind in zip(fields, bounds, ("head", "tail", "relation"), strict=True):
            if not _is_id(field):
                raise InputError(f"expected a {kind} id, found {quote(field)}", path=path, line=number)
            if int(field) >= bound:
                raise InputError(
                    f"the {kind} id {int(field):,} is out of range (expected 0 to {bound - 1:,})",
                    path=path,
                    line=number,
                )
    raise InputError("expected 3 ids (head, tail, relation) in each line", path=path)
