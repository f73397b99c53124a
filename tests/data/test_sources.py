"""Graphs from a SPARQL endpoint (Oxigraph behind HTTP), a DuckDB database and PyKEEN's datasets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import duckdb
import pyoxigraph
import pytest

import transa
from tests.conftest import Result
from transa import InputError, KnowledgeGraph

FACTS = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ada :knows :bob ; rdfs:label "Ada"@en ; :born 1815 .
:bob :knows :eve ; rdfs:label "Bob"@en .
:eve :likes :ada ; :wrote [ :about :bob ] .
"""
KNOWS = "SELECT ?head ?relation ?tail WHERE { ?head ?relation ?tail . FILTER(?relation = <http://example.org/knows>) }"


class Endpoint(BaseHTTPRequestHandler):
    """The SPARQL protocol, as far as a query by POST goes; answers to some paths are wrong."""

    store: pyoxigraph.Store

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if self.path == "/html":
            return self.answer(200, "text/html", b"<p>Welcome</p>")
        if self.path == "/broken":
            return self.answer(200, "application/sparql-results+json", b'{"head": {"vars": ["head"')
        if self.path == "/short":
            return self.answer(200, "application/n-triples", b"<a:a> <a:b> <a:c> .\n", length=1000)
        try:
            found = self.store.query(form["query"][0])
        except SyntaxError as error:
            return self.answer(400, "text/plain", str(error).encode())
        if isinstance(found, pyoxigraph.QueryTriples):
            return self.answer(200, "application/n-triples", found.serialize(format=pyoxigraph.RdfFormat.N_TRIPLES))
        json = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        return self.answer(200, "application/sparql-results+json; charset=utf-8", json)

    def answer(self, code: int, kind: str, content: bytes | None, length: int | None = None) -> None:
        assert content is not None and self.headers["User-Agent"].startswith("transa/")
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    store = pyoxigraph.Store()
    store.load(FACTS.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Endpoint,), {"store": store}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"sparql:http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_all_triples_of_an_endpoint_are_those_of_the_file(endpoint: str, tmp_path: Path) -> None:
    found = transa.load(endpoint)
    (tmp_path / "sparql.ttl").write_text(FACTS)
    expected = transa.load(tmp_path / "sparql.ttl")
    assert len(found.train) == len(expected.train) == 5 and set(found.relations) == set(expected.relations)
    assert found.entities.name(found.entities.id("http://example.org/ada")) == "Ada"
    assert any("1 statement with literals skipped" in note for note in found.notes)


def test_a_select_query_brings_rows(endpoint: str) -> None:
    found = transa.load(endpoint, query=KNOWS)
    web = "http://example.org/"
    expected = {(f"{web}ada", f"{web}knows", f"{web}bob"), (f"{web}bob", f"{web}knows", f"{web}eve")}
    assert {tuple(row.values()) for row in found.named("train").to_pylist()} == expected


def test_labels_and_literals_of_a_select_query_are_names(endpoint: str) -> None:
    query = """PREFIX : <http://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    SELECT ?who ?how ?year ?whoLabel WHERE { ?who ?how ?year ; rdfs:label ?whoLabel . FILTER(isLiteral(?year) && ?how = :born) }"""
    found = transa.load(endpoint, query=query)
    assert list(found.entities) == ["1815", "http://example.org/ada"] and found.entities.name(1) == "Ada"
    assert any("in their order" in note for note in found.notes)


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        ("", "SELECT nothing", "the endpoint answered 400"),
        ("", "ASK { ?a ?b ?c }", "an ASK query has no rows"),
        ("", f"{KNOWS} LIMIT 0", "the query has no rows"),
        ("", "SELECT ?head ?tail WHERE { ?head ?b ?tail }", "expected 3 or 4 columns"),
        (
            "",
            "SELECT ?head ?relation ?tail WHERE { ?head ?relation ?x . OPTIONAL { ?x <a:b> ?tail } }",
            "row 1: a missing name",
        ),
        ("/html", KNOWS, "answered neither rows nor RDF but text/html: '<p>Welcome</p>'"),
        ("/broken", KNOWS, "answered what is not application/sparql-results"),
        ("/short", None, "broke off after 20 of 1,000 bytes"),
    ],
)
def test_what_went_wrong_at_an_endpoint_is_said(endpoint: str, path: str, query: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        transa.load(endpoint + path, query=query)
    assert str(error.value).startswith("http://127.0.0.1") or "columns" in message


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("sparql:ftp://example.org", {}, "expected an address such as sparql:https://example.org/sparql"),
        ("sparql:http://127.0.0.1:1/", {}, "no answer from the endpoint"),
        ("sparql:http://127.0.0.1:1/", {"columns": (0, 1, 2)}, "a query selects"),
        ("umls", {"query": KNOWS}, "a query goes with sparql:, duckdb: and pykeen:"),
        ("duckdb:", {}, "needs a query"),
        ("duckdb:", {"query": "SELECT 1 +"}, "syntax error"),
        ("duckdb:", {"query": "SELECT 1 AS head"}, "expected 3 or 4 columns"),
        ("duckdb:no.db", {"query": "SELECT 1"}, "no such file"),
        ("pykeen:nation", {}, "PyKEEN has no dataset 'nation'; did you mean 'nations'"),
        ("pykeen:nations", {"query": "SELECT"}, "answers no query"),
    ],
)
def test_a_source_that_cannot_be_read_says_why(source: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        transa.load(source, **options)  # type: ignore[arg-type]


def test_a_database_is_asked_by_sql(tmp_path: Path) -> None:
    path = tmp_path / "facts.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE facts (head VARCHAR, relation VARCHAR, tail VARCHAR, score DOUBLE)")
        rows = [("ada", "knows", "bob", 0.9), ("bob", "knows", "eve", 0.2), ("eve", "likes", "ada", 0.8)]
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?)", rows)
    found = transa.load(
        f"duckdb:{path}", query="SELECT head, relation, tail FROM facts WHERE score > 0.5 ORDER BY head"
    )
    assert found == KnowledgeGraph.from_triples([rows[0][:3], rows[2][:3]])
    with pytest.raises(InputError, match="read-only"):
        transa.load(f"duckdb:{path}", query="DROP TABLE facts")


def test_files_are_asked_by_sql(tmp_path: Path, command) -> None:
    (tmp_path / "films.csv").write_text("film,person,how\nVertigo,Kim Novak,with\nVertigo,Alfred Hitchcock,by\n")
    query = f"SELECT film AS head, how AS relation, person AS tail FROM '{tmp_path / 'films.csv'}'"
    result: Result = command("convert", "duckdb:", "-", "--query", query)
    assert result.code == 0 and result.out.splitlines() == ["Vertigo\twith\tKim Novak", "Vertigo\tby\tAlfred Hitchcock"]
