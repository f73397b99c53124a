"""Graphs of other libraries become ours and ours become theirs, without a loss."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rdflib
from rdflib.namespace import RDF, RDFS

import transa
from transa import InputError, KnowledgeGraph
from transa.data.vocabulary import Vocabulary

DRUGS = {
    "gene": ["PTGS1", "VKORC1", "ALB"],
    "drug": ["aspirin", "warfarin", "aspirin"],
    "how": ["inhibits", "inhibits", "binds"],
}
ROWS = [("aspirin", "inhibits", "PTGS1"), ("warfarin", "inhibits", "VKORC1"), ("aspirin", "binds", "ALB")]
NAMED = {"head": "drug", "relation": "how", "tail": "gene"}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_with_columns_of_any_name_is_a_graph(kind: type) -> None:
    assert KnowledgeGraph.from_frame(kind(DRUGS), **NAMED) == KnowledgeGraph.from_triples(ROWS)


def test_a_frame_of_valid_may_have_labels_and_other_columns() -> None:
    train, valid = pd.DataFrame(DRUGS), pd.DataFrame(DRUGS).assign(true=[1, -1, 1], year=1950)
    found = KnowledgeGraph.from_frame(train, valid, **NAMED, label="true")
    assert found.valid_labels is not None and found.valid_labels.tolist() == [1, -1, 1]
    assert any("year" in note for note in found.notes)


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (
            pd.DataFrame(DRUGS),
            {**NAMED, "tail": "genes"},
            "no column 'genes' among 'gene', 'drug', 'how'; did you mean",
        ),
        (pd.DataFrame(DRUGS), {**NAMED, "tail": "drug"}, "column 'drug' is asked for twice"),
        (ROWS, NAMED, "expected a pandas, polars or Arrow frame, found list"),
        (pd.DataFrame(DRUGS)[:0], NAMED, "train: there is no triple"),
        (pd.DataFrame({**DRUGS, "gene": ["PTGS1", None, "ALB"]}), NAMED, "index 1: a missing name"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said(frame: object, columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KnowledgeGraph.from_frame(frame, **columns)


def test_a_split_is_a_frame_of_pandas_and_of_polars() -> None:
    graph = transa.load("nations")
    theirs = graph.to_pandas("test")
    assert list(theirs.columns) == ["head", "relation", "tail"] and len(theirs) == len(graph.test)
    assert KnowledgeGraph.from_frame(graph.to_pandas()) == KnowledgeGraph.from_frame(graph.to_polars())
    assert graph.to_polars("valid").rows() == list(theirs_of(graph, "valid"))


def theirs_of(graph: KnowledgeGraph, split: str) -> zip:
    return zip(*graph.named(split).to_pydict().values(), strict=True)


def described() -> KnowledgeGraph:
    graph = KnowledgeGraph.from_triples(sorted(ROWS))  # NetworkX has the edges of a node together
    names = ["Albumin", None, None, "Aspirin", None]
    types = [["gene"], ["gene"], ["gene"], ["drug", "pain killer"], ["drug"]]
    entities = Vocabulary(graph.entities.keys, names, [None, "an enzyme", None, None, None], types)
    return KnowledgeGraph(entities, graph.relations, graph.train)


def test_networkx_and_back_keeps_names_descriptions_and_types() -> None:
    graph = described()
    network = graph.to_networkx()
    assert network.has_edge("aspirin", "PTGS1", key="inhibits") and network.nodes["aspirin"]["name"] == "Aspirin"
    assert KnowledgeGraph.from_networkx(network) == graph
    assert KnowledgeGraph.from_networkx(network, relation=None) == graph


def test_a_network_has_edges_by_attribute_and_nodes_without_edges() -> None:
    network = nx.DiGraph()
    network.add_edge(1, 2, kind="cites")
    network.add_node(3)
    found = KnowledgeGraph.from_networkx(network, relation="kind")
    assert list(found.entities) == ["1", "2", "3"] and found.train.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("network", "relation", "message"),
    [
        (nx.Graph([("a", "b")]), "relation", "undirected"),
        (nx.DiGraph([("a", "b")]), "relation", "the edge 'a' -> 'b' has no attribute 'relation' but none"),
        (nx.DiGraph([("a", "b", {"kind": "x"})]), "relation", "has no attribute 'relation' but 'kind'"),
        (nx.DiGraph([("a", "b")]), None, "only a multigraph has keys"),
        (nx.DiGraph(), "relation", "no edge"),
    ],
)
def test_what_is_wrong_with_a_network_is_said(network: nx.Graph, relation: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        KnowledgeGraph.from_networkx(network, relation)


def test_rdflib_and_back_keeps_labels_and_comments() -> None:
    web = "http://example.org/"
    theirs = rdflib.Graph()
    ada, knows, bob = (rdflib.URIRef(web + name) for name in ("ada", "knows", "bob"))
    theirs.add((ada, knows, bob))
    theirs.add((bob, RDF.type, rdflib.URIRef(web + "Person")))
    theirs.add((ada, RDFS.label, rdflib.Literal("Ada", lang="en")))
    theirs.add((ada, RDFS.comment, rdflib.Literal("a countess")))
    theirs.add((ada, rdflib.URIRef(web + "born"), rdflib.Literal(1815)))
    graph = KnowledgeGraph.from_rdflib(theirs)
    assert len(graph.train) == 2 and graph.entities.name(graph.entities.id(web + "ada")) == "Ada"
    assert any("1 statement with literals skipped" in note for note in graph.notes)
    back = graph.to_rdflib()
    assert (ada, knows, bob) in back and KnowledgeGraph.from_rdflib(back) == graph


def test_rdflib_gets_names_that_are_no_iris() -> None:
    graph = KnowledgeGraph.from_triples(sorted(ROWS))  # rdflib has no order, and what comes from it is sorted
    assert KnowledgeGraph.from_rdflib(graph.to_rdflib()) == graph
    assert len(graph.to_rdflib("test")) == 0


def test_rdflib_has_no_place_for_labels() -> None:
    graph = KnowledgeGraph.from_triples(ROWS, [(*row, 1) for row in ROWS])
    with pytest.raises(InputError, match="valid: RDF has no place for the labels"):
        graph.to_rdflib("valid")


def test_a_notebook_shows_a_graph_with_its_first_triples() -> None:
    html = KnowledgeGraph.from_triples([("<b>", "r", "x & y"), ("a", "r", "b")])._repr_html_()
    assert "KnowledgeGraph(4 entities, 1 relation, 2 train" in html
    assert "&lt;b&gt;" in html and "x &amp; y" in html and "<b>" not in html
