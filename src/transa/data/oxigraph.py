"""RDF as Oxigraph parses and writes it. Import this module only where RDF is at hand: it needs the extra `rdf`.

A statement between two resources is a triple. A literal is no entity: rdfs:label gives the readable name of a resource (English or
untagged before other languages), rdfs:comment its description, and any other literal is skipped and counted. Blank nodes are kept as
``_:name``; those without a name are numbered, so that reading twice gives the same graph. A name that is no IRI is written as
``urn:transa:`` and its percent-encoded form, see `term` and `name_of`. Types that a graph holds beside its triples are written as
rdf:type, rdfs:domain and rdfs:range, which come back as triples, from which `transa.data.types` takes them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote as percent_encode
from urllib.parse import unquote as percent_decode

import numpy as np

from transa.data.graph import KnowledgeGraph, Split
from transa.data.places import Places
from transa.data.streams import format_suffix, open_bytes, reading, stem
from transa.data.triple_table import TableBuilder, TripleTable
from transa.data.types import DOMAIN, RANGE, TYPE
from transa.data.watched_xml import WatchedXml
from transa.errors import InputError, quote
from transa.readable import counted

try:
    import pyoxigraph as rdf
except ImportError:
    raise InputError("RDF needs pyoxigraph: pip install 'transa[rdf]'") from None

#: What Oxigraph calls the syntax of a file, by suffix.
SYNTAXES = {
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
}

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
SCHEME = "urn:transa:"

#: What Oxigraph calls a blank node without a name: a random number of 128 bits.
_GENERATED = re.compile(r"[a-f][0-9a-f]{23,31}")
#: Names of blank nodes that RDF/XML takes; it takes some more.
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
#: IRIs that RDF/XML does not take for relations.
_XML_SYNTAX = re.compile(
    r"http://www\.w3\.org/1999/02/22-rdf-syntax-ns#"
    r"(RDF|ID|Description|about(Each(ID)?)?|bagID|datatype|li|nodeID|parseType|resource)"
)
#: Characters that XML cannot hold.
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_statements(path: Path) -> TripleTable:
    """Read the statements of a file, plain or compressed."""
    return table_of(_parsed(path), path, stem(path))


def table_of(statements: Iterable[rdf.Quad | rdf.Triple], source: str | Path, prefix: str) -> TripleTable:
    """Return statements as named triples; labels, comments and other literals are told apart.

    Parameters
    ----------
    statements
        What was parsed.
    source
        The file or the address that they come from, for messages.
    prefix
        What the names of blank nodes without a name begin with.
    """
    builder = TableBuilder()
    texts = {LABEL: _Texts(), COMMENT: _Texts()}
    literals = 0
    name = BlankNames(prefix)
    for quad in statements:
        subject, predicate, value = quad.subject, quad.predicate.value, quad.object
        if isinstance(subject, rdf.Triple) or isinstance(value, rdf.Triple):
            raise InputError("a statement about a statement (RDF-star) cannot be an edge", path=source)
        if not isinstance(value, rdf.Literal):
            builder.add(name(subject), name(quad.predicate), name(value))
        elif predicate in texts:
            texts[predicate].add(name(subject), value)
        else:
            literals += 1
    if not len(builder):
        raise InputError(f"no triple between resources ({literals:,} with literals skipped)", path=source)
    notes = (f"{source}: {counted(literals, 'statement')} with literals skipped",) if literals else ()
    return builder.table(
        names=texts[LABEL].chosen,
        descriptions=texts[COMMENT].chosen,
        notes=notes,
        places=Places(source if isinstance(source, Path) else None, "triple"),
    )


def write_statements(graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO, suffix: str) -> None:
    """Write triples as statements, names and descriptions as their labels and comments, and types."""
    serialize(_statements(graph, splits, xml=suffix == ".rdf"), file, suffix)


def serialize(statements: Iterable[rdf.Triple], file: BinaryIO, suffix: str) -> None:
    """Write statements in the syntax that a suffix tells."""
    rdf.serialize(statements, file, format=getattr(rdf.RdfFormat, SYNTAXES[suffix]))


def statement(head: str, relation: str, tail: str) -> rdf.Triple:
    """Return a triple as a statement."""
    return rdf.Triple(term(head), term(relation, blank=False), term(tail))  # type: ignore[arg-type]


def _parsed(path: Path) -> Iterator[rdf.Quad]:
    syntax = getattr(rdf.RdfFormat, SYNTAXES[format_suffix(path)])
    with reading(path), open_bytes(path) as file:
        watched = WatchedXml(file, path)
        source = io.BufferedReader(watched) if syntax == rdf.RdfFormat.RDF_XML else file
        try:
            yield from rdf.parse(source, format=syntax, base_iri=path.absolute().as_uri())
        except SyntaxError as error:
            watched.finish()
            raise InputError(
                f"malformed RDF: {error.msg}", path=path, line=error.lineno or watched.wrong_line
            ) from None
        if watched.cut_short:
            raise InputError("malformed RDF: the XML ends before its last tag", path=path, line=watched.wrong_line)


def _statements(graph: KnowledgeGraph, splits: Sequence[Split], *, xml: bool) -> Iterator[rdf.Triple]:
    entities = [term(name, xml=xml) for name in graph.entities]
    relations = [term(name, blank=False, xml=xml) for name in graph.relations]
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
    for nodes, predicate, column, used in (
        (entities, TYPE, graph.entities.types, used_entities),
        (relations, DOMAIN, graph.relations.domains, used_relations),
        (relations, RANGE, graph.relations.ranges, used_relations),
    ):
        lists = {} if column is None else {index: column[index].as_py() for index in used.tolist()}
        for index, names in lists.items():
            for name in names:
                yield rdf.Triple(nodes[index], rdf.NamedNode(predicate), term(name, xml=xml))


def name_of(node: rdf.NamedNode | rdf.BlankNode) -> str:
    """Return the name of a node: its IRI, ``_:name`` for a blank node, or the plain name that `term` encoded."""
    if isinstance(node, rdf.BlankNode):
        return f"_:{node.value}"
    iri = node.value
    plain = percent_decode(iri[len(SCHEME) :]) if iri.startswith(SCHEME) else ""
    return plain if plain.strip() else iri


def term(name: str, *, blank: bool = True, xml: bool = False) -> rdf.NamedNode | rdf.BlankNode:
    """Return the node of a name: an absolute IRI as it is, a blank node where allowed, any other name encoded.

    Parameters
    ----------
    name
        Of an entity or a relation.
    blank
        Whether it may be a blank node, as entities may and relations may not.
    xml
        Whether it is written as RDF/XML, which has rules of its own for names.
    """
    try:
        if blank and name.startswith("_:"):
            label = name[2:]
            if ":" not in label and not _GENERATED.fullmatch(label) and (not xml or _XML_NAME.fullmatch(label)):
                return rdf.BlankNode(label)
        elif not name.startswith(SCHEME) and not (xml and _XML_SYNTAX.fullmatch(name)):
            return rdf.NamedNode(name)
    except ValueError:
        pass
    return rdf.NamedNode(SCHEME + percent_encode(name, safe=""))


class BlankNames:
    """Names nodes and numbers blank nodes without a name. `prefix` keeps those of different files apart."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers: dict[str, int] = {}

    def __call__(self, node: rdf.NamedNode | rdf.BlankNode) -> str:
        """Return the name of a node."""
        if isinstance(node, rdf.BlankNode) and _GENERATED.fullmatch(node.value):
            return f"_:{self._prefix}-{self._numbers.setdefault(node.value, len(self._numbers) + 1)}"
        return name_of(node)


class _Texts:
    """The best literal for each key: English or untagged before other languages, earlier before later ones."""

    def __init__(self) -> None:
        self.chosen: dict[str, str] = {}
        self._foreign: set[str] = set()

    def add(self, name: str, literal: rdf.Literal) -> None:
        foreign = literal.language is not None and literal.language.partition("-")[0] != "en"
        if name not in self.chosen or (name in self._foreign and not foreign):
            self.chosen[name] = literal.value
            self._foreign.discard(name)
            if foreign:
                self._foreign.add(name)
