"""Whether the first line of a file names the columns, where its words alone do not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transa.data.columns import ENDS, RELATIONS
from transa.data.triple_table import TripleTable

#: How many other lines it takes to call the first one a header: where a word of it names columns elsewhere, and where none does.
HINTED, UNHINTED = 3, 10
#: Names of columns: words, with digits or punctuation after the first letter.
_COLUMN = re.compile(r"[^\W\d_][\w .-]{0,39}")


def may_be_header(fields: Sequence[str]) -> bool:
    """Tell whether some fields could be names of columns: short words, all different."""
    lowered = [field.strip().lower() for field in fields]
    return len(set(lowered)) == len(lowered) and all(map(_COLUMN.fullmatch, lowered))


def starts_with_header(table: TripleTable) -> bool:
    """Tell whether the first triple of a table is a header: no name in it ever comes again, while all other relations do.

    Where a word names such columns elsewhere (``interaction`` for relations, ``source`` and ``target`` for ends), the others need not.
    """
    if len(table) <= HINTED:
        return False
    head, relation, tail = (column[0].as_py() for column in (table.heads, table.relations, table.tails))
    if not may_be_header((head, relation, tail)) or _count(table.relations, relation) > 1:
        return False
    if _count(table.heads, head) > 1 or _count(table.tails, tail) > 1:
        return False
    ends, edge = (head.strip().lower(), tail.strip().lower()), relation.strip().lower()
    if ends in ENDS or edge in RELATIONS:
        return True
    if len(table) <= UNHINTED or _count(table.tails, head) or _count(table.heads, tail):
        return False
    chunks = table.relations.unify_dictionaries().chunks
    counts = sum(np.bincount(chunk.indices.to_numpy(), minlength=len(chunk.dictionary)) for chunk in chunks)
    return int((np.asarray(counts) == 1).sum()) == 1


def _count(column: pa.ChunkedArray, name: str) -> int:
    """Return how often a name stands in a column."""
    count = 0
    for chunk in column.chunks:
        place = pc.index(chunk.dictionary, pa.scalar(name, chunk.dictionary.type)).as_py()
        count += int((chunk.indices.to_numpy() == place).sum()) if place >= 0 else 0
    return count
