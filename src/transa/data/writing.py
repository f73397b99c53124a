"""Write a graph to a folder or a file. Whatever is written, `transa.load` reads back."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast

from transa.data.formats import (
    FILE_FORMATS,
    FOLDER_FORMATS,
    FileFormat,
    FolderFormat,
    Format,
    targets,
    written_extensions,
)
from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.split_folder import split_folder_files, write_split_folder
from transa.data.streams import COMPRESSIONS, check_suffix, format_suffix
from transa.errors import InputError
from transa.storage import atomic_file, atomic_folder


def write(graph: KnowledgeGraph, path: str | Path, *, format: str = "parquet", overwrite: bool = False) -> Path:  # noqa: A002
    """Write a graph to a folder.

    Parameters
    ----------
    graph
        What to write.
    path
        The folder. It appears complete or not at all.
    format
        The name of a format, see ``transa formats``. ``"parquet"`` keeps everything: ids, names, descriptions and labels. A format
        of single files gives a file for each split, and side files for names.
    overwrite
        Whether a graph that is there already may be replaced.
    """
    path = Path(path)
    chosen = targets().get(format)
    if chosen is None:
        raise InputError(f"unknown format {format!r}; expected one of {', '.join(targets())}")
    _check_labels(graph, SPLITS, chosen)
    if isinstance(chosen, FileFormat) and not len(graph.train):
        raise InputError(
            f"no train triples, which a folder of {format} files needs; use {' or '.join(FOLDER_FORMATS)}", path=path
        )
    size = sum(graph.triples(split).nbytes for split in SPLITS) + graph.entities.keys.nbytes
    with atomic_folder(path, overwrite=overwrite, ours=_may_be_ours, size=size) as folder:
        if isinstance(chosen, FolderFormat):
            chosen.write(graph, folder)
        else:
            write_split_folder(graph, folder, chosen)
    return path


def write_file(graph: KnowledgeGraph, path: str | Path, splits: Iterable[Split], *, overwrite: bool = False) -> Path:
    """Write the triples of some splits to one file. Its suffix tells the format, and most formats can also be written as .gz."""
    path = Path(path)
    suffix = format_suffix(path)
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    known = written_extensions()
    check_suffix(path, suffix, tuple(known))
    found = known[suffix]
    if compression == ".zst" or (compression and not found.compressible):
        raise InputError(f"cannot write {suffix}{compression}", path=path)
    filled = _filled(graph, splits, found, path)
    with atomic_file(path, overwrite=overwrite) as file:
        if compression:
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                found.write(graph, filled, cast(BinaryIO, packed))
        else:
            found.write(graph, filled, file)
    return path


def write_stream(graph: KnowledgeGraph, file: BinaryIO, splits: Iterable[Split], *, format: str = "tsv") -> None:  # noqa: A002
    """Write the triples of some splits to an open binary file, such as standard output, in a format of single files."""
    found = FILE_FORMATS.get(format)
    if found is None:
        raise InputError(f"{format!r} is no format of single files; expected one of {', '.join(FILE_FORMATS)}")
    found.write(graph, _filled(graph, splits, found), file)


def _filled(
    graph: KnowledgeGraph, splits: Iterable[Split], chosen: FileFormat, path: Path | None = None
) -> list[Split]:
    """Return the splits that have triples, if one file can hold them."""
    named = list(splits)
    filled = [split for split in named if len(graph.triples(split))]
    if not filled:
        raise InputError(f"no triples in {' and '.join(named) or 'the graph'}", path=path)
    _check_labels(graph, filled, chosen)
    if len({graph.labels(split) is None for split in filled}) > 1:
        raise InputError("labelled and unlabelled splits cannot share a file; name a folder instead", path=path)
    return filled


def _check_labels(graph: KnowledgeGraph, splits: Iterable[Split], chosen: Format) -> None:
    if not chosen.holds_labels and any(graph.labels(split) is not None for split in splits):
        *others, last = (name for name, each in targets().items() if each.holds_labels)
        raise InputError(
            f"the graph has labelled triples, which {chosen.name} cannot hold; use {', '.join(others)} or {last}"
        )


def _may_be_ours(name: str) -> bool:
    """Tell whether `write` could have made a file of that name, in whatever format."""
    return name in split_folder_files() or any(name in each.files for each in FOLDER_FORMATS.values())
