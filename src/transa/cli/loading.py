"""Graphs and triples as the options of a command say; imports are inside, so that help answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transa.cli.options import GraphSelection, Selection, TextFormat, column_of

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph
    from transa.data.triple_table import TripleTable


def load_graph(
    source: str, text: TextFormat, selection: GraphSelection, split: str | None = None, seed: int = 0
) -> KnowledgeGraph:
    """Load a graph as the options of a command say."""
    from transa.data import load

    return load(
        source,
        **text.options(),
        query=selection.query,
        minimum_confidence=_confidence(selection.minimum_confidence),
        drop_relations=selection.drop_relation or (),
        literals=not selection.no_literals,
        split=None if split is None else _fractions(split),
        seed=seed,
    )


def load_triples(path: Path, text: TextFormat, selection: Selection) -> TripleTable:
    """Read the triples of a file that are put to a model, as the options of a command say; they know their lines."""
    from transa.data.formats import ReadOptions, read_file
    from transa.data.selecting import select_rows

    confidence = _confidence(selection.minimum_confidence)
    table = read_file(path, ReadOptions(**text.options(), minimum_confidence=confidence, lines=True))
    return select_rows(table, selection.drop_relation or (), literals=not selection.no_literals)


def _confidence(text: str | None) -> tuple[str | int, float] | None:
    from transa.errors import InputError, quote

    if text is None:
        return None
    column, equals, number = text.rpartition("=")
    try:
        if equals and column:
            return column_of(column), float(number)
    except ValueError:
        pass
    raise InputError(f"--minimum-confidence: expected a column and a number such as score=0.7, found {quote(text)}")


def _fractions(text: str) -> list[float]:
    from transa.errors import InputError, quote

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--split: expected three numbers such as 0.8,0.1,0.1, found {quote(text)}") from None
