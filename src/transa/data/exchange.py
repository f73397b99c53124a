"""Graphs of NetworkX and rdflib, in and out. `KnowledgeGraph` has them as methods."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from transa.choices import Split
from transa.data.triple_table import TripleTable
from transa.data.vocabulary import as_name
from transa.errors import InputError, quote
from transa.frames import needed

if TYPE_CHECKING:
    from transa.data.graph import KnowledgeGraph


def table_of_network(network: Any, relation: str | None) -> tuple[TripleTable, list[str]]:
    """Return the edges of a NetworkX graph as triples, and the names of all its nodes; see `KnowledgeGraph.from_networkx`."""
    if not network.is_directed():
        raise InputError("the graph is undirected; its to_directed() has every edge in both directions")
    if relation is None:
        if not network.is_multigraph():
            raise InputError("only a multigraph has keys; say which attribute of an edge is the relation")
        edges = ((head, key, tail) for head, tail, key in network.edges(keys=True))
    else:
        edges = ((head, _related(head, tail, edge, relation), tail) for head, tail, edge in network.edges(data=True))
    table = TripleTable.from_rows(edges)
    if not len(table):
        raise InputError("the graph has no edge")
    for node, attributes in network.nodes(data=True):
        key = as_name(node)
        for texts, attribute in ((table.names, "name"), (table.descriptions, "description")):
            if attributes.get(attribute) is not None:
                texts[key] = str(attributes[attribute])
        if attributes.get("types"):
            table.types[key] = set(map(str, attributes["types"]))
    return table, [as_name(node) for node in network.nodes]


def _related(head: Any, tail: Any, edge: dict[str, Any], relation: str) -> Any:
    if relation in edge:
        return edge[relation]
    found = ", ".join(map(quote, edge)) or "none"
    ends = f"{quote(head)} -> {quote(tail)}"
    raise InputError(f"the edge {ends} has no attribute {quote(relation)} but {found}; relation=None takes keys")


def network_of(graph: KnowledgeGraph, split: Split) -> Any:
    """Return a split as a `networkx.MultiDiGraph`; see `KnowledgeGraph.to_networkx`."""
    network = needed("networkx", "to_networkx").MultiDiGraph()
    keys = graph.entities.keys.to_pylist()
    network.add_nodes_from(keys)
    columns = (
        ("name", graph.entities.names),
        ("description", graph.entities.descriptions),
        ("types", graph.entities.types),
    )
    for attribute, column in columns:
        for key, value in zip(keys, [] if column is None else column.to_pylist(), strict=False):
            if value:
                network.nodes[key][attribute] = value
    for row in graph.named(split).to_pylist():
        edge = {name: row[name] for name in ("relation", "label") if name in row}
        network.add_edge(row["head"], row["tail"], key=row["relation"], **edge)
    return network


def table_of_rdflib(statements: Any) -> TripleTable:
    """Return the statements of an rdflib graph as triples, by way of sorted N-Triples: a graph of rdflib has no order."""
    rdf = needed("pyoxigraph", "from_rdflib", "'transa[rdf]'")
    from transa.data.oxigraph import table_of

    written = b"\n".join(sorted(statements.serialize(format="nt", encoding="utf-8").splitlines()))
    return table_of(rdf.parse(written, format=rdf.RdfFormat.N_TRIPLES), "rdflib", "rdflib")


def rdflib_of(graph: KnowledgeGraph, split: Split) -> Any:
    """Return a split as an `rdflib.Graph`; see `KnowledgeGraph.to_rdflib`."""
    from transa.data.oxigraph import write_statements

    statements = needed("rdflib", "to_rdflib").Graph()
    if graph.labels(split) is not None:
        raise InputError(f"{split}: RDF has no place for the labels 1 and -1")
    if len(graph.triples(split)):
        file = io.BytesIO()
        write_statements(graph, (split,), file, ".nt")
        statements.parse(data=file.getvalue(), format="nt")
    return statements
