"""Names as people read them: a prefix or the local name in the place of an IRI, and every name on one line."""

from __future__ import annotations

import re
from urllib.parse import unquote

#: Well-known namespaces and their usual prefixes.
PREFIXES = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2001/XMLSchema#": "xsd",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://www.w3.org/ns/prov#": "prov",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://schema.org/": "schema",
    "https://schema.org/": "schema",
    "http://dbpedia.org/resource/": "dbr",
    "http://dbpedia.org/ontology/": "dbo",
    "http://dbpedia.org/property/": "dbp",
    "http://www.wikidata.org/entity/": "wd",
    "http://www.wikidata.org/prop/direct/": "wdt",
    "http://purl.obolibrary.org/obo/": "obo",
}

#: Names that are IRIs: of a scheme with an authority, or URNs.
_IRI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)[^\s<>\"]+")
#: Characters by which a name could control a terminal or break a line: control characters, line separators, directions of writing.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def is_iri(key: str) -> bool:
    """Tell whether a key is an IRI, and not a name or an abbreviation such as ``GO:0008150``."""
    return _IRI.fullmatch(key) is not None


def short(key: str) -> str:
    """Return an IRI as people write it: with a well-known prefix, or else its local name; any other key as it is.

    >>> short("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), short("http://example.org/films/Film%201"), short("Film 1")
    ('rdf:type', 'Film 1', 'Film 1')
    """
    if not is_iri(key):
        return key
    ends = key.rstrip("/#")
    namespace, local = re.fullmatch(r"(.*[/#:])?(.*)", ends).groups()  # type: ignore[union-attr]
    prefix = PREFIXES.get(namespace or "")
    return (f"{prefix}:" if prefix and local else "") + unquote(local) or key


def called(key: str, name: str, *, full: bool = False) -> str:
    """Return a readable name, followed by the key if that says more.

    Parameters
    ----------
    key, name
        Of an entity or a relation; both are the same for one without a name.
    full
        Whether to show an IRI in full.
    """
    shown = key if full or name == key else short(key)
    return name if name == shown else f"{name} ({shown})"


def one_line(text: str) -> str:
    """Return a text with escapes in the place of characters that would break a line or control the terminal."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 triple`` or ``2,000 triples``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def graph_size(entities: int, relations: int) -> str:
    """Return ``3 entities, 1 relation``."""
    return f"{counted(entities, 'entity', 'entities')}, {counted(relations, 'relation')}"


def listed(words: list[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def is_number(text: str) -> bool:
    """Tell whether a text is a number, or ``-`` in the place of one."""
    try:
        float(text.replace(",", "").removesuffix("%").strip())
    except ValueError:
        return text == "-"
    return True
