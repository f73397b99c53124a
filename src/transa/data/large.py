"""Text with more triples than memory holds: DuckDB sorts names and numbers triples on disk, within a limit of memory.

The result is a folder of the format `transa.data.formats.mapped`, with the same ids that `transa.load` gives: names in the order of
their bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from transa.data.facts import check_size
from transa.data.formats.mapped import ID, INDEX, MappedGraph
from transa.data.graph import SPLITS, Split
from transa.data.side_files import SIDE_FILES, described
from transa.data.streams import check_exists, format_suffix, stem
from transa.errors import InputError, amount
from transa.storage import atomic_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What is missing without the extra.
NEEDS_DUCKDB = "reading within a limit of memory needs duckdb: pip install 'transa[large]'"
#: The least memory that DuckDB is given, and what Python and Arrow take of the limit.
LEAST, OURS = 200_000_000, 500_000_000
#: Rows that come from DuckDB at a time.
ROWS = 1 << 16
#: Text that is read: the suffix, and the delimiter.
DELIMITERS = {".tsv": "\t", ".txt": "\t", ".csv": ",", "": "\t"}


def convert_large(
    source: Path, target: Path, *, memory: int, delimiter: str | None = None, overwrite: bool = False
) -> dict[str, int]:
    """Turn text into a folder whose triples are read where they lie.

    Parameters
    ----------
    source
        A file of three columns without a header, plain or compressed, or a folder with such files called train, valid and test;
        names, descriptions and types of such a folder are read as usual, in memory.
    target
        The folder to write; it appears complete or not at all.
    memory
        Bytes that may be used. The rest goes to the disk beside `target`.
    delimiter
        Between columns; by default a tab, or a comma in .csv.
    overwrite
        Whether a graph that is there already may be replaced.

    Returns
    -------
    dict
        How many entities and relations there are, and triples in each split.

    Raises
    ------
    InputError
        If a file cannot be read, memory is too small, or DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise InputError(NEEDS_DUCKDB) from None
    if memory < LEAST + OURS:
        raise InputError(f"--memory: expected at least {amount(LEAST + OURS)}, found {amount(memory)}")
    files = _files(source)
    with (
        atomic_folder(target, overwrite=overwrite, ours=MappedGraph.files.__contains__) as folder,
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=".duckdb-") as work,
    ):
        base = duckdb.connect(str(Path(work) / "triples.db"))
        try:
            base.execute(f"SET memory_limit='{(memory - OURS) // 1_000_000}MB'")
            base.execute(f"SET temp_directory='{work}/spilt'")
            base.execute("SET threads=2")  # each takes memory of its own
            for split, path in files.items():
                _read(base, split, path, delimiter or DELIMITERS.get(format_suffix(path), "\t"))
            sizes = _write(base, list(files), folder)
        except duckdb.OutOfMemoryException as error:
            raise InputError(f"--memory: too little ({str(error).splitlines()[0]})", path=source) from None
        finally:
            base.close()
        if source.is_dir() and any((source / name).exists() for name in SIDE_FILES):
            graph = described(MappedGraph().read(folder), source)
            for kind in ("entities", "relations"):
                pq.write_table(getattr(graph, kind).to_table(), folder / f"{kind}.parquet")
        return sizes


def _files(source: Path) -> dict[Split, Path]:
    """Return the file of each split."""
    check_exists(source)
    if not source.is_dir():
        return {"train": source}
    found: dict[Split, Path] = {}
    for split in SPLITS:
        named = sorted(path for path in source.iterdir() if stem(path) == split and format_suffix(path) in DELIMITERS)
        if len(named) > 1:
            raise InputError(f"{named[0].name} and {named[1].name} both hold {split}", path=source)
        if named:
            found[split] = named[0]
    if "train" not in found:
        raise InputError("holds no file called train (.tsv, .txt, .csv, plain or compressed)", path=source)
    return found


def _read(base: DuckDBPyConnection, split: Split, path: Path, delimiter: str) -> None:
    """Read a file into a table of names, and refuse blank ones."""
    import duckdb

    columns = "columns={'head': 'VARCHAR', 'relation': 'VARCHAR', 'tail': 'VARCHAR'}"
    how = f"header=false, quote='', escape='', nullstr='\\0', auto_detect=false, {columns}"
    text = f"read_csv($path, delim=$delimiter, new_line='\\n', {how})"
    try:
        base.execute(
            f"CREATE TABLE {split} AS SELECT * FROM {text}",  # noqa: S608
            {"path": str(path), "delimiter": delimiter},
        )
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        said = " ".join(str(error).split())
        raise InputError(f"not a file of three columns ({said:.300})", path=path) from None
    blank = base.execute(
        f"SELECT rowid FROM {split} WHERE trim(head) = '' OR trim(relation) = '' OR trim(tail) = '' ORDER BY rowid LIMIT 1"  # noqa: S608
    ).fetchone()
    if blank is not None:
        raise InputError("a name is blank", path=path, line=blank[0] + 1)
    if not base.execute(f"SELECT count(*) FROM {split}").fetchall()[0][0]:  # noqa: S608
        raise InputError("the file holds no triple", path=path)


def _write(base: DuckDBPyConnection, splits: list[Split], folder: Path) -> dict[str, int]:
    """Give numbers to names, and write all files of the folder."""
    every = " UNION ALL ".join(f"SELECT * FROM {split}" for split in splits)  # noqa: S608
    base.execute(
        f"CREATE TABLE entities AS SELECT DISTINCT name FROM (SELECT unnest([head, tail]) AS name FROM ({every})) ORDER BY name"  # noqa: S608
    )
    base.execute(f"CREATE TABLE relations AS SELECT DISTINCT relation AS name FROM ({every}) ORDER BY name")  # noqa: S608
    sizes = {}
    for kind in ("entities", "relations"):
        sizes[kind] = int(base.execute(f"SELECT count(*) FROM {kind}").fetchall()[0][0])  # noqa: S608
        with pq.ParquetWriter(folder / f"{kind}.parquet", pa.schema([("key", pa.large_string())])) as writer:
            for batch in _batches(base, f"SELECT name AS key FROM {kind} ORDER BY rowid"):  # noqa: S608
                writer.write_table(pa.Table.from_batches([batch]).cast(writer.schema))
    check_size(sizes["entities"], sizes["relations"])
    for split in splits:
        # the rows of the sorted tables of names are the ids
        base.execute(
            f"CREATE TABLE {split}_ids AS SELECT h.rowid::INTEGER AS head, r.rowid::INTEGER AS relation, t.rowid::INTEGER AS tail "  # noqa: S608
            f"FROM {split} s JOIN entities h ON s.head = h.name JOIN entities t ON s.tail = t.name "
            f"JOIN relations r ON s.relation = r.name ORDER BY s.rowid"
        )
        base.execute(f"DROP TABLE {split}")
        sizes[split] = 0
        with (folder / f"{split}.triples").open("wb") as file:
            for batch in _batches(base, f"SELECT * FROM {split}_ids ORDER BY rowid"):  # noqa: S608
                np.stack([column.to_numpy() for column in batch.columns], axis=1).astype(ID).tofile(file)
                sizes[split] += len(batch)
    tails = f"head::BIGINT * {sizes['relations']} + relation AS query, tail AS answer"
    heads = f"relation::BIGINT * {sizes['entities']} + tail AS query, head AS answer"
    for side, columns in (("tails", tails), ("heads", heads)):
        index = _batches(base, f"SELECT DISTINCT {columns} FROM train_ids ORDER BY query, answer")  # noqa: S608
        with (
            (folder / f"{side}.queries").open("wb") as queries,
            (folder / f"{side}.offsets").open("wb") as offsets,
            (folder / f"{side}.answers").open("wb") as answers,
        ):
            _write_index(index, queries, offsets, answers)
    return sizes


def _write_index(index: Iterator[pa.RecordBatch], queries: BinaryIO, offsets: BinaryIO, answers: BinaryIO) -> None:
    """Write sorted pairs of question and answer as one direction of the index."""
    last, done = -1, 0
    for batch in index:
        asked = batch.column("query").to_numpy()
        first = np.flatnonzero(np.diff(asked, prepend=last))
        asked[first].astype(INDEX["queries"]).tofile(queries)
        (first + done).astype(INDEX["offsets"]).tofile(offsets)
        batch.column("answer").to_numpy().astype(INDEX["answers"]).tofile(answers)
        last, done = int(asked[-1]), done + len(asked)
    np.array([done], INDEX["offsets"]).tofile(offsets)


def _batches(base: DuckDBPyConnection, query: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query, some at a time."""
    reader: Any = base.sql(query).to_arrow_reader(ROWS)
    yield from (batch for batch in reader if len(batch))
