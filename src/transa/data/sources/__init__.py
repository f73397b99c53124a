"""Graphs that are not files: what a SPARQL endpoint or a database answers, and datasets of PyKEEN. One module each.

A source is written ``scheme:address``. Its module has a function ``read(address, query)`` that returns a graph.
"""

from __future__ import annotations

from importlib import import_module

from transa.data.graph import KnowledgeGraph

#: What may stand before the colon.
SCHEMES = ("sparql", "duckdb", "pykeen")


def scheme_of(source: str) -> str | None:
    """Return the scheme of a source, or None if it is a name or a path."""
    scheme, colon, _ = source.partition(":")
    return scheme if colon and scheme in SCHEMES else None


def read_source(source: str, query: str | None) -> KnowledgeGraph:
    """Return the graph of a source that has a scheme.

    Parameters
    ----------
    source
        As `transa.load` takes it, such as ``"duckdb:facts.db"``.
    query
        What to ask there, if anything.
    """
    scheme, _, address = source.partition(":")
    graph: KnowledgeGraph = import_module(f"{__name__}.{scheme}").read(address, query)
    return graph
