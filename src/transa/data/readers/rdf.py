"""RDF in any of its syntaxes, parsed by Oxigraph.

A statement between resources is a triple. Literals carry no edge: rdfs:label gives the readable name of a resource (English or
untagged before other languages), rdfs:comment its description, and any other is skipped and counted. Blank nodes are kept as
``_:name``; those without a name are numbered, so that reading twice gives the same graph. Names that are no IRIs travel as
``urn:transa:`` followed by their percent-encoded form, see `term` and `name_of`.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent_encode
from urllib.parse import unquote as percent_decode
from xml.parsers import expat

import pyoxigraph as rdf

from transa.data.readers.streams import format_suffix, open_bytes, reading, stem
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

#: What the parser calls a blank node without a name: a random number of 128 bits.
_GENERATED = re.compile(r"[a-f][0-9a-f]{23,31}")
#: Names of blank nodes that RDF/XML takes; it takes some more.
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
#: IRIs that RDF/XML does not take for relations.
_XML_SYNTAX = re.compile(
    r"http://www\.w3\.org/1999/02/22-rdf-syntax-ns#"
    r"(RDF|ID|Description|about(Each(ID)?)?|bagID|datatype|li|nodeID|parseType|resource)"
)

#: The longest text that an entity of a document type may stand for.
MAX_ENTITY = 1 << 16
#: Elements that may stand in each other; the time of the parser for RDF grows with the square of it.
MAX_DEPTH = 1000
_REFERENCE = re.compile(r"&([^;&\s]+);")
_MULTIPLIED = "malformed RDF: entities that multiply each other beyond measure"
#: What the second parser calls entities that multiply where they are used.
_AMPLIFIED = 43

_CUT_SHORT = (
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
)


def read_rdf(path: Path) -> TripleTable:
    """Read one RDF file, plain or compressed."""
    builder = TableBuilder()
    texts = {LABEL: _Texts(), COMMENT: _Texts()}
    literals = 0
    syntax = FORMATS[format_suffix(path)]
    name = _Names(stem(path))
    with reading(path), open_bytes(path) as file:
        watched = _WatchedXml(file, path)
        source = io.BufferedReader(watched) if syntax == rdf.RdfFormat.RDF_XML else file
        try:
            for quad in rdf.parse(source, format=syntax, base_iri=path.absolute().as_uri()):
                subject, predicate, value = quad.subject, quad.predicate.value, quad.object
                if isinstance(subject, rdf.Triple) or isinstance(value, rdf.Triple):
                    raise InputError("a statement about a statement (RDF-star) cannot be an edge", path=path)
                if isinstance(value, rdf.Literal):
                    if predicate in texts:
                        texts[predicate].add(name(subject), value)
                    else:
                        literals += 1
                else:
                    builder.add(name(subject), name(quad.predicate), name(value))
        except SyntaxError as error:
            watched.finish()
            raise InputError(
                f"malformed RDF: {error.msg}", path=path, line=error.lineno or watched.wrong_line
            ) from None
        if watched.cut_short:
            raise InputError("malformed RDF: the XML ends before its last tag", path=path, line=watched.wrong_line)
    if not len(builder):
        raise InputError(f"no triple between resources ({literals:,} with literals skipped)", path=path)
    notes = (f"{path}: {literals:,} statements with literals skipped",) if literals else ()
    return builder.table(names=texts[LABEL].chosen, descriptions=texts[COMMENT].chosen, notes=notes)


def name_of(node: rdf.NamedNode | rdf.BlankNode) -> str:
    """Return the name of a node: its IRI, ``_:name`` for a blank one, or the plain name that `term` encoded."""
    if isinstance(node, rdf.BlankNode):
        return f"_:{node.value}"
    iri = node.value
    plain = percent_decode(iri[len(SCHEME) :]) if iri.startswith(SCHEME) else ""
    return plain if plain.strip() else iri


def term(name: str, *, blank: bool = True, xml: bool = False) -> rdf.NamedNode | rdf.BlankNode:
    """Return the node of a name: an absolute IRI as it is, a blank node where allowed, anything else encoded.

    Parameters
    ----------
    name
        Of an entity or a relation.
    blank
        Whether it may be a blank node, as entities may and relations may not.
    xml
        Whether it is meant for RDF/XML, which has rules of its own for names.
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


class _Names:
    """Names nodes, and numbers the blank ones that have no name. `prefix` keeps those of different files apart."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers: dict[str, int] = {}

    def __call__(self, node: rdf.NamedNode | rdf.BlankNode) -> str:
        if isinstance(node, rdf.BlankNode) and _GENERATED.fullmatch(node.value):
            return f"_:{self._prefix}-{self._numbers.setdefault(node.value, len(self._numbers) + 1)}"
        return name_of(node)


class _WatchedXml(io.RawIOBase):
    """XML that a second parser sees in passing, since the one for RDF/XML tells no lines and takes a file that is cut short.

    The second one knows fewer letters, so that its word does not count for anything else.
    """

    def __init__(self, file: io.BufferedReader, path: Path) -> None:
        self._file = file
        self._path = path
        self._parser = expat.ParserCreate()
        self._parser.EntityDeclHandler = self._declared
        self._parser.StartElementHandler = self._opened
        self._parser.EndElementHandler = self._closed
        self._entities: dict[str, int] = {}
        self._depth = 0
        self._begun = self._done = False
        self.wrong_line: int | None = None
        self.cut_short = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        self._begun = True
        if not self._done:
            self._done = not block
            try:
                self._parser.Parse(block, self._done)
            except expat.ExpatError as error:
                self._done = True
                self.wrong_line = error.lineno
                self.cut_short = expat.ErrorString(error.code) in _CUT_SHORT
                if error.code == _AMPLIFIED:
                    raise InputError(_MULTIPLIED, path=self._path, line=error.lineno) from None
            except InputError:
                raise
            except (LookupError, ValueError):  # an encoding that it does not know
                self._done = True
        buffer[: len(block)] = block
        return len(block)

    def _declared(self, name: str, parameter: bool, value: str | None, *rest: object) -> None:
        """Add up what an entity stands for with those it names; the parser for RDF would write them out."""
        if value is not None and not parameter:
            named = (self._entities.get(other, 0) for other in _REFERENCE.findall(value))
            self._entities[name] = size = len(value) + sum(named)
            if size > MAX_ENTITY:
                raise InputError(_MULTIPLIED, path=self._path, line=self._parser.CurrentLineNumber)

    def _opened(self, name: str, attributes: object) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InputError(
                f"malformed RDF: more than {MAX_DEPTH:,} elements in each other",
                path=self._path,
                line=self._parser.CurrentLineNumber,
            )

    def _closed(self, name: str) -> None:
        self._depth -= 1

    def finish(self) -> None:
        """Look for a wrong line in what has not been read yet, as far as that is soon done."""
        block = bytearray(1 << 20)
        for _ in range(64):
            if self._done or not self._begun:
                break
            self.readinto(block)


class _Texts:
    """The best literal seen for each key: English or untagged wins over other languages, earlier over later."""

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
