"""RDF: N-Triples, Turtle and RDF/XML, parsed and written by Oxigraph (`transa.data.oxigraph`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from transa.data.formats.base import FileFormat, ReadOptions
from transa.data.graph import KnowledgeGraph, Split
from transa.data.triple_table import TripleTable


class _Rdf(FileFormat):
    """What all syntaxes share; the suffix tells Oxigraph which one it is."""

    holds_names = True

    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        """Read the statements of a file, plain or compressed."""
        from transa.data.oxigraph import read_statements

        return read_statements(path)

    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        """Write triples as statements, and names and descriptions as their labels and comments."""
        from transa.data.oxigraph import write_statements

        write_statements(graph, splits, file, self.extensions[0])


class NTriples(_Rdf):
    """One statement on each line."""

    name = "nt"
    description = "RDF as N-Triples; reads N-Quads without graph names"
    extensions = (".nt", ".nq")


class Turtle(_Rdf):
    """RDF for people to read."""

    name = "ttl"
    description = "RDF as Turtle; reads TriG without graph names"
    extensions = (".ttl", ".trig")


class RdfXml(_Rdf):
    """RDF in XML."""

    name = "rdf"
    description = "RDF as XML"
    extensions = (".rdf", ".owl", ".xml")
