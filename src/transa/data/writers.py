"""Writers, one per format. Whatever they write, `transa.load` reads back."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, get_args
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.readers.delimited import usual_columns
from transa.data.readers.rows import MAX_LINE, MAX_NAME
from transa.data.readers.streams import COMPRESSIONS, format_suffix
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError, quote
from transa.storage import atomic_file, atomic_folder

Format = OneOf["parquet", "tsv", "csv", "nt", "ttl", "rdf", "openke"]
FORMATS: tuple[Format, ...] = get_args(Format)

#: Rows that are turned into text at a time.
CHUNK = 1 << 16

_LINE_ENDS = re.compile(r"[\r\n]+")
#: Characters that XML has no way to write.
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write(graph: KnowledgeGraph, path: Path, *, format: Format = "parquet", overwrite: bool = False) -> Path:  # noqa: A002
    """Write a graph to a folder.

    Parameters
    ----------
    graph
        What to write.
    path
        The folder; it appears complete or not at all.
    format
        ``"parquet"``: the package's own, which keeps ids, names, descriptions and labels. ``"tsv"``, ``"csv"``: text, quoted where
        needed. ``"nt"``, ``"ttl"``, ``"rdf"``: N-Triples, Turtle, RDF/XML. ``"openke"``: ``*2id.txt`` files.
    overwrite
        Whether a graph that is there already may be replaced.
    """
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    _check_labels(graph, SPLITS, format)
    if not len(graph.train) and format not in ("parquet", "openke"):
        raise InputError(f"no train triples, which a folder of {format} files needs; use parquet or openke", path=path)
    size = sum(graph.triples(split).nbytes for split in SPLITS) + graph.entities.keys.nbytes
    with atomic_folder(path, overwrite=overwrite, ours=_ours, size=size) as folder:
        if format == "parquet":
            _write_own(graph, folder)
        elif format == "openke":
            _write_openke(graph, folder)
        else:
            for split in SPLITS:
                if len(graph.triples(split)) or split == "train":
                    with (folder / f"{split}.{format}").open("wb") as file:
                        _write_triples(graph, [split], file, f".{format}")
            _write_side_files(graph, folder, with_labels=format in ("tsv", "csv"))
    return path


def write_file(graph: KnowledgeGraph, path: Path, splits: Iterable[Split], *, overwrite: bool = False) -> Path:
    """Write the triples of some splits into one file, whose suffix tells the format (.tsv, .csv, .nt, .ttl, .rdf, .parquet, each
    but the last also .gz).
    """
    suffix = format_suffix(path)
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    if suffix.lstrip(".") not in FORMATS or suffix == ".openke":
        raise InputError(f"unknown suffix {suffix!r}; expected .tsv, .csv, .parquet, .nt, .ttl or .rdf", path=path)
    if compression == ".zst" or (compression and suffix == ".parquet"):
        raise InputError(f"cannot write {suffix}{compression}", path=path)
    chosen = list(splits)
    if not any(len(graph.triples(split)) for split in chosen):
        raise InputError(f"no triples in {' and '.join(chosen) or 'the graph'}", path=path)
    _check_labels(graph, chosen, suffix.lstrip("."))
    if len({graph.labels(split) is None for split in chosen if len(graph.triples(split))}) > 1:
        raise InputError("labelled and unlabelled splits cannot share a file; name a folder instead", path=path)
    with atomic_file(path, overwrite=overwrite) as file:
        if compression:
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                _write_triples(graph, chosen, packed, suffix)  # type: ignore[arg-type]
        else:
            _write_triples(graph, chosen, file, suffix)
    return path


def _write_triples(graph: KnowledgeGraph, splits: list[Split], file: BinaryIO, suffix: str) -> None:
    if suffix == ".parquet":
        pq.write_table(pa.concat_tables([graph.named(split) for split in splits]), file)
    elif suffix in (".tsv", ".csv"):
        _write_text(graph, splits, file, "\t" if suffix == ".tsv" else ",")
    else:
        _write_rdf(graph, splits, file, suffix)


# ---------------------------------------------------------------------- text


def _write_text(graph: KnowledgeGraph, splits: list[Split], file: BinaryIO, delimiter: str) -> None:
    """Write delimited text. CSV gets a header; TSV gets one only where its first triple would be taken for one."""
    entities, relations = (_escaped(names, delimiter) for names in (graph.entities, graph.relations))
    first = next(graph.triples(split)[0] for split in splits if len(graph.triples(split)))
    labelled = any(graph.labels(split) is not None for split in splits)
    opening = [graph.entities[first[0]], graph.relations[first[1]], graph.entities[first[2]]]
    if delimiter == "," or usual_columns(opening) is not None:
        file.write(delimiter.join(["head", "relation", "tail", *(["label"] if labelled else [])]).encode() + b"\n")
    for split in splits:
        triples, labels = graph.triples(split), graph.labels(split)
        for start in range(0, len(triples), CHUNK):
            rows = triples[start : start + CHUNK].tolist()
            lines = [delimiter.join((entities[h], relations[r], entities[t])) for h, r, t in rows]
            if labels is not None:
                marks = labels[start : start + CHUNK].tolist()
                lines = [f"{line}{delimiter}{mark}" for line, mark in zip(lines, marks, strict=True)]
            file.write(("\n".join(lines) + "\n").encode())


def _escaped(names: Vocabulary, delimiter: str) -> list[str]:
    for name in names:
        if "\0" in name or len(name) > MAX_NAME:
            raise InputError(
                f"the name {quote(name)} holds a NUL character or is too long for a text file; use parquet"
            )
    special = (delimiter, '"', "\n", "\r", "\ufeff")
    return ['"' + name.replace('"', '""') + '"' if any(mark in name for mark in special) else name for name in names]


def _write_side_files(graph: KnowledgeGraph, folder: Path, *, with_labels: bool) -> None:
    """Write what triples cannot hold: entities that occur in none, and for text formats readable names and descriptions.

    These files have no quoting; keys with a tab or a line end stay out of them, and line ends in texts become spaces.
    """
    occurring = np.unique(np.concatenate([graph.triples(split)[:, [0, 2]] for split in SPLITS]))
    if len(occurring) < len(graph.entities):
        alone = [graph.entities[entity] for entity in np.setdiff1d(np.arange(len(graph.entities)), occurring)]
        for name in alone:
            if any(mark in name for mark in "\n\r\ufeff"):
                raise InputError(
                    f"entities.txt cannot hold the entity {quote(name)}, which occurs in no triple; use parquet"
                )
        _write_lines(folder / "entities.txt", alone)
    if not with_labels:
        return
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        for what, column in (("names", vocabulary.names), ("descriptions", vocabulary.descriptions)):
            if column is not None:
                pairs = zip(vocabulary, column.to_pylist(), strict=True)
                lines = [f"{key}\t{_LINE_ENDS.sub(' ', text)}" for key, text in pairs if text and _is_one_line(key)]
                _write_lines(folder / f"{kind}_{what}.tsv", lines)


def _is_one_line(name: str) -> bool:
    return not any(mark in name for mark in "\t\n\r\ufeff")


def _write_lines(path: Path, lines: list[str]) -> None:
    for line in lines:
        if "\0" in line or len(line.encode()) >= MAX_LINE:
            raise InputError(f"{quote(line)} holds a NUL character or is too long for a text file; use parquet")
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


# ---------------------------------------------------------------------- RDF


def _write_rdf(graph: KnowledgeGraph, splits: list[Split], file: BinaryIO, suffix: str) -> None:
    import pyoxigraph as rdf

    from transa.data.readers.rdf import COMMENT, FORMATS, LABEL, term

    xml = suffix == ".rdf"
    entities = [term(name, xml=xml) for name in graph.entities]
    relations = [term(name, blank=False, xml=xml) for name in graph.relations]

    def statements() -> Iterator[rdf.Triple]:
        triples = np.concatenate([graph.triples(split) for split in splits])
        for h, r, t in triples.tolist():
            yield rdf.Triple(entities[h], relations[r], entities[t])
        used_entities, used_relations = np.unique(triples[:, [0, 2]]), np.unique(triples[:, 1])
        for nodes, vocabulary, used in (
            (entities, graph.entities, used_entities),
            (relations, graph.relations, used_relations),
        ):
            for predicate, column in ((LABEL, vocabulary.names), (COMMENT, vocabulary.descriptions)):
                texts = {} if column is None else {index: column[index].as_py() for index in used.tolist()}
                for index, text in texts.items():
                    if text is not None:
                        if xml and _NOT_XML.search(text):
                            raise InputError(f"XML cannot hold the text {quote(text)}; use nt, ttl or parquet")
                        yield rdf.Triple(nodes[index], rdf.NamedNode(predicate), rdf.Literal(text))

    rdf.serialize(statements(), file, format=FORMATS[suffix])


# ---------------------------------------------------------------------- OpenKE


def _write_openke(graph: KnowledgeGraph, folder: Path) -> None:
    for kind, vocabulary in (("entity", graph.entities), ("relation", graph.relations)):
        for name in vocabulary:
            if not _is_one_line(name):
                raise InputError(f"the name {quote(name)} holds a tab or a line end, which OpenKE files cannot")
        lines = [f"{name}\t{index}" for index, name in enumerate(vocabulary)]
        _write_lines(folder / f"{kind}2id.txt", [str(len(lines)), *lines])
    for split in SPLITS:
        triples = graph.triples(split)
        with (folder / f"{split}2id.txt").open("w", encoding="utf-8", newline="\n") as file:
            file.write(f"{len(triples)}\n")
            for start in range(0, len(triples), CHUNK):
                rows = triples[start : start + CHUNK].tolist()
                file.write("".join(f"{head} {tail} {relation}\n" for head, relation, tail in rows))


# ---------------------------------------------------------------------- the package's own folders


def _write_own(graph: KnowledgeGraph, folder: Path) -> None:
    for kind, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
        pq.write_table(vocabulary.to_table(), folder / f"{kind}.parquet")
    for split in SPLITS:
        head, relation, tail = graph.triples(split).T
        columns = {"head": head, "relation": relation, "tail": tail}
        labels = graph.labels(split)
        if labels is not None:
            columns["label"] = labels
        pq.write_table(pa.table(columns), folder / f"{split}.parquet")


# ---------------------------------------------------------------------- what may be written and replaced


def _check_labels(graph: KnowledgeGraph, splits: Iterable[Split], format: str) -> None:  # noqa: A002
    labelled = any(graph.labels(split) is not None for split in splits)
    if labelled and format in ("nt", "ttl", "rdf", "openke"):
        raise InputError(f"the graph has labelled triples, which {format} cannot hold; use tsv, csv or parquet")


def _ours(name: str) -> bool:
    sides = [f"{kind}_{what}.tsv" for kind in ("entity", "relation") for what in ("names", "descriptions")]
    known = {f"{split}.{suffix}" for split in SPLITS for suffix in FORMATS}
    known |= {f"{kind}2id.txt" for kind in ("entity", "relation", *SPLITS)}
    known |= {"entities.parquet", "relations.parquet", "entities.txt", *sides}
    return name in known
