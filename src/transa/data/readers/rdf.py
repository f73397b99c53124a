"""RDF in any of its syntaxes, parsed by Oxigraph.

A statement between resources is a triple. Literals carry no edge: rdfs:label gives the readable name of a resource (English or
untagged before other languages), rdfs:comment its description, and any other is skipped and counted. Blank nodes are kept as
``_:name``. Names that are no IRIs travel as ``urn:transa:`` followed by their percent-encoded form, see `term` and `key`.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote as percent_encode
from urllib.parse import unquote as percent_decode

import pyoxigraph as rdf

from transa.data.readers.streams import format_suffix, open_bytes, reading
from transa.data.table import TableBuilder, TripleTable
from transa.errors import InputError

FORMATS = {
    ".nt": rdf.RdfFormat.N_TRIPLES,
    ".nq": rdf.RdfFormat.N_QUADS,
    ".ttl": rdf.RdfFormat.TURTLE,
    ".trig": rdf.RdfFormat.TRIG,
    ".rdf": rdf.RdfFormat.RDF_XML,
    ".owl": rdf.RdfFormat.RDF_XML,
    ".xml": rdf.RdfFormat.RDF_XML,
}

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
SCHEME = "urn:transa:"


def read_rdf(path: Path) -> TripleTable:
    """Read one RDF file, plain or compressed."""
    builder = TableBuilder()
    texts = {LABEL: _Texts(), COMMENT: _Texts()}
    literals = 0
    base = path.absolute().as_uri()
    with reading(path), open_bytes(path) as file:
        try:
            for quad in rdf.parse(file, format=FORMATS[format_suffix(path)], base_iri=base):
                subject, predicate, value = quad.subject, quad.predicate.value, quad.object
                if isinstance(subject, rdf.Triple) or isinstance(value, rdf.Triple):
                    raise InputError("a statement about a statement (RDF-star) cannot be an edge", path=path)
                if isinstance(value, rdf.Literal):
                    if predicate in texts:
                        texts[predicate].add(key(subject), value)
                    else:
                        literals += 1
                else:
                    builder.add(key(subject), key(quad.predicate), key(value))
        except SyntaxError as error:
            raise InputError(f"malformed RDF: {error.msg}", path=path, line=error.lineno) from None
    if not len(builder):
        raise InputError(f"no triple between resources ({literals:,} with literals skipped)", path=path)
    notes = (f"{path}: {literals:,} statements with literals skipped",) if literals else ()
    return builder.table(names=texts[LABEL].chosen, descriptions=texts[COMMENT].chosen, notes=notes)


def key(node: rdf.NamedNode | rdf.BlankNode) -> str:
    """Return the name of a node: its IRI, ``_:name`` for a blank one, or the plain name that `term` encoded."""
    if isinstance(node, rdf.BlankNode):
        return f"_:{node.value}"
    iri = node.value
    return percent_decode(iri[len(SCHEME) :]) if iri.startswith(SCHEME) else iri


def term(name: str, *, blank: bool = True) -> rdf.NamedNode | rdf.BlankNode:
    """Return the node of a name: an absolute IRI as it is, a blank node where allowed, anything else encoded."""
    try:
        if blank and name.startswith("_:"):
            return rdf.BlankNode(name[2:])
        if not name.startswith(SCHEME):
            return rdf.NamedNode(name)
    except ValueError:
        pass
    return rdf.NamedNode(SCHEME + percent_encode(name, safe=""))


class _Texts:
    """The best literal seen for each key: English or untagged wins over other languages, earlier over later."""

    def __init__(self) -> None:
        self.chosen: dict[str, str] = {}
        self._foreign: set[str] = set()

    def add(self, name: str, literal: rdf.Literal) -> None:
        foreign = literal.language is not None and not literal.language.startswith("en")
        if name not in self.chosen or (name in self._foreign and not foreign):
            self.chosen[name] = literal.value
            self._foreign.discard(name)
            if foreign:
                self._foreign.add(name)
