"""SPARQL endpoints: what they answer to a query over HTTP becomes a graph.

A CONSTRUCT or DESCRIBE query brings statements, which are taken as those of an RDF file. A SELECT query brings rows, which are taken as
those of a frame; a variable ``?headLabel`` holds readable names of ``?head``, as the label service of Wikidata fills it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from transa.data.columns import in_order, unused, usual_columns
from transa.data.graph import KnowledgeGraph
from transa.data.triple_table import TableBuilder, TripleTable
from transa.data.vocabulary import as_name
from transa.errors import InputError, quote
from transa.frames import needed

#: What is asked if there is no query.
EVERYTHING = "CONSTRUCT { ?head ?relation ?tail } WHERE { ?head ?relation ?tail }"
#: What we can read: rows as JSON, statements in any syntax.
ACCEPTED = "application/sparql-results+json, application/n-triples, text/turtle;q=0.9, application/rdf+xml;q=0.8"
#: Seconds without a byte from the endpoint after which we give up.
TIMEOUT = 300.0
#: What the name of a variable that holds readable names ends with.
LABEL = "Label"


def read(address: str, query: str | None) -> KnowledgeGraph:
    """Return what an endpoint answers as training triples.

    Parameters
    ----------
    address
        The address of the endpoint.
    query
        In SPARQL; by default all triples of the default graph.
    """
    rdf = needed("pyoxigraph", "sparql:", "'transa[rdf]'")
    from transa.data.oxigraph import table_of

    with _asked(address, EVERYTHING if query is None else query) as (kind, answer):
        results, syntax = rdf.QueryResultsFormat.from_media_type(kind), rdf.RdfFormat.from_media_type(kind)
        if results is None and syntax is None:
            found = quote(answer.read(200).decode("utf-8", "replace"))
            raise InputError(f"answered neither rows nor RDF but {kind}: {found}", path=address)
        # Oxigraph's rows must not outlive this thread, and an error would keep what it was raised in: so it is raised outside.
        wrong = None
        try:
            if results is None:
                table = table_of(rdf.parse(answer, format=syntax), address, "sparql")
            else:
                variables, rows = _plain(rdf.parse_query_results(answer, format=results))
        except SyntaxError as error:
            wrong = error.msg
    if wrong is not None:
        raise InputError(f"answered what is not {kind}: {wrong}", path=address)
    if results is not None:
        table = _table(variables, rows, address)
    return KnowledgeGraph.from_tables({"train": table})


@contextmanager
def _asked(address: str, query: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the media type of an answer, and the whole of it in a temporary file."""
    from transa import __version__

    if not address.startswith(("http://", "https://")):
        raise InputError(
            f"sparql: expected an address such as sparql:https://example.org/sparql, found {quote(address)}"
        )
    headers = {"Accept": ACCEPTED, "User-Agent": f"transa/{__version__}"}
    request = Request(address, urlencode({"query": query}).encode(), headers)  # noqa: S310
    with tempfile.TemporaryFile() as file:
        try:
            with urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
                kind, length = response.headers.get_content_type(), response.headers.get("Content-Length")
                shutil.copyfileobj(response, file)
            if length is not None and file.tell() < int(length):
                raise OSError(f"the connection broke off after {file.tell():,} of {int(length):,} bytes")
        except HTTPError as error:
            said = error.read(500).decode("utf-8", "replace").strip()
            raise InputError(
                f"the endpoint answered {error.code} {error.reason}: {quote(said)}", path=address
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
            raise InputError(f"no answer from the endpoint ({reason})", path=address) from None
        file.seek(0)
        yield kind, file


def _plain(answers: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the variables and the rows of a SELECT query; of an ASK query, which has none, nothing."""
    variables = [variable.value for variable in getattr(answers, "variables", ())]
    return variables, [{name: row[name] for name in variables} for row in answers] if variables else []


def _table(variables: list[str], rows: list[dict[str, Any]], address: str) -> TripleTable:
    """Return rows as named triples; a literal is a name like any other, since the query asked for it."""
    if not variables:
        raise InputError("an ASK query has no rows; expected SELECT or CONSTRUCT", path=address)
    labels = {name: name + LABEL for name in variables if name + LABEL in variables}
    available = [name for name in variables if name not in labels.values()]
    usual = usual_columns(available)
    places, notes = in_order(available) if usual is None else (usual, unused(available, usual))
    chosen = [available[place] for place in places[:3]]
    builder, name, names = TableBuilder(), _naming(), dict[str, str]()
    for number, row in enumerate(rows, start=1):
        try:
            keys = [name(row[each]) for each in chosen]
        except InputError as error:
            raise InputError(str(error), path=address, line=number, unit="row") from None
        builder.add(*keys)
        for key, each in zip(keys, chosen, strict=True):
            label = row[labels[each]] if each in labels else None
            if label is not None:
                names.setdefault(key, label.value)
    if not len(builder):
        raise InputError("the query has no rows", path=address)
    return builder.table(names=names, notes=notes)


def _naming() -> Callable[[Any], str]:
    """Return what names a term: a literal by its text, anything else as in RDF."""
    import pyoxigraph as rdf

    from transa.data.oxigraph import BlankNames

    blank = BlankNames("sparql")

    def name(term: Any) -> str:
        if isinstance(term, rdf.Triple):
            raise InputError("a statement about a statement (RDF-star) cannot be a name")
        return blank(term) if isinstance(term, rdf.NamedNode | rdf.BlankNode) else as_name(term and term.value)

    return name
