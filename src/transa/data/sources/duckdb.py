"""SQL by DuckDB: of a database file, or of the CSV and Parquet files that a query names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from transa.data.graph import KnowledgeGraph
from transa.data.streams import check_exists
from transa.errors import InputError
from transa.frames import needed


def read(address: str, query: str | None) -> KnowledgeGraph:
    """Return the rows that a query selects as training triples. The database is opened for reading only.

    Parameters
    ----------
    address
        The file of a database; without one, the query names its files itself: ``FROM 'facts.parquet'``.
    query
        Selects columns head, relation and tail, and perhaps others, as a frame has them.
    """
    duckdb = needed("duckdb", "SQL", "'transa[sql]'")
    if query is None:
        raise InputError("duckdb: needs a query, such as query='SELECT head, relation, tail FROM facts'")
    if address:
        check_exists(Path(address))
    try:
        with duckdb.connect(address or ":memory:", read_only=bool(address)) as connection:
            selected = connection.sql(query)
            if selected is None:
                raise InputError(f"the query selects nothing: {query!r}", path=address or None)
            table = pa.table(selected)
    except duckdb.Error as error:
        raise InputError(str(error).strip(), path=address or None) from None
    return KnowledgeGraph.from_triples(table)
