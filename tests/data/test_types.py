"""Types of entities and relations: read from every source, kept by everything that keeps a graph, and looked up."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import transa
from transa.analysis.entity_map import entity_map
from transa.data import KnowledgeGraph, load
from transa.data.constraints import mine_constraints
from transa.data.selecting import select
from transa.data.splitting import hold_out_entities, split_graph
from transa.data.types import Types
from transa.data.writing import write, write_file
from transa.errors import InputError

ROWS = [("ada", "born_in", "london"), ("bob", "born_in", "paris"), ("ada", "knows", "bob")]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "graph"
    place.mkdir()
    (place / "train.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS))
    (place / "entity_types.tsv").write_text("ada\tperson\nada\twriter\nbob\tperson\nlondon\tcity\nnobody\tghost\n")
    (place / "relation_types.tsv").write_text("born_in\tperson\tcity\nknows\tperson\t\n")
    return place


def test_side_files_give_types(folder):
    graph = load(folder)
    found = graph.types
    assert graph.entities.types_of(graph.entities.id("ada")) == ["person", "writer"]
    assert found.names == ("city", "person", "writer")  # a type of nothing in the graph is none
    assert found.of(graph.entities.id("ada")) == ["writer", "person"]  # the rarer one first
    assert found.of(graph.entities.id("paris")) == []
    assert found.counts.tolist() == [1, 2, 1]
    born, knows = graph.relations.id("born_in"), graph.relations.id("knows")
    assert found.allowed(born, "tail").tolist() == [0]
    assert found.allowed(knows, "tail").tolist() == []
    # paris has no type and fits everywhere, and nothing is said of the tails of knows
    assert dict(zip(graph.entities, found.fitting(born, "tail").tolist(), strict=True)) == {
        "ada": False,
        "bob": False,
        "london": True,
        "paris": True,
    }
    assert found.fitting(knows, "tail").all()


@pytest.mark.parametrize("way", ["parquet", "tsv", "csv", "nt", "jsonl"])
def test_a_folder_keeps_types(folder, tmp_path, way):
    graph = load(folder)
    again = load(write(graph, tmp_path / "copy", format=way))
    assert again == graph
    assert again.entities.types_of(0) == ["person", "writer"]
    assert again.relations.ranges.to_pylist() == [["city"], []]


def test_rdf_states_types_by_triples(folder, tmp_path):
    graph = load(folder)
    again = load(write_file(graph, tmp_path / "graph.ttl", ["train"]))
    assert len(again.train) == len(graph.train) + 4 + 3  # they come back as triples too
    of_ada = again.types.of(again.entities.id("ada"))
    assert of_ada == ["writer", "person"]
    assert again.types.allowed(again.relations.id("born_in"), "tail").tolist() == [again.types.names.index("city")]


@pytest.mark.parametrize("ending", ["csv", "csv with quotes", "parquet"])
def test_columns_give_types(tmp_path, ending):
    header, rows = (
        ["gene", "how", "drug", "gene_type", "drug_type"],
        [["a", "binds", "b", "x", ""], ["c", "binds", "b", "y", "z"]],
    )
    path = tmp_path / f"graph.{ending.split()[0]}"
    if ending == "parquet":
        pq.write_table(pa.table(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))), path)
    else:
        quote = '"' if "quotes" in ending else ""
        path.write_text("\n".join(",".join(quote + field + quote for field in row) for row in [header, *rows]) + "\n")
    graph = load(path, columns=("gene", "how", "drug"))
    assert {key: graph.types.of(number) for number, key in enumerate(graph.entities)} == {
        "a": ["x"],
        "b": ["z"],
        "c": ["y"],
    }
    assert not any("not used" in each for each in graph.notes)


def test_a_frame_gives_types():
    frame = pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"], "tail_type": ["x"]})
    assert KnowledgeGraph.from_triples(frame).entities.types.to_pylist() == [[], ["x"]]


def test_a_graph_that_changes_keeps_types(folder):
    graph = load(folder)
    fewer = select(graph, ["born_in"])
    assert [fewer.types.of(each) for each in range(len(fewer.entities))] == [["writer", "person"], ["person"]]
    assert split_graph(graph, (0.8, 0.1, 0.1)).types.names == graph.types.names
    both = graph.with_inverses()
    back = both.relations.id("born_in⁻¹")
    assert [both.types.names[each] for each in both.types.allowed(back, "head")] == ["city"]
    assert [both.types.names[each] for each in both.types.allowed(back, "tail")] == ["person"]


def test_without_types_roles_serve():
    graph = KnowledgeGraph.from_triples(ROWS)
    assert graph.types is None
    roles = Types.roles(graph)
    assert roles.of(graph.entities.id("bob")) == ["tail of knows", "head of born_in"]
    assert np.flatnonzero(roles.fitting(graph.relations.id("born_in"), "tail")).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("entity_types.tsv", "ada"),
        ("entity_types.tsv", "ada\t "),
        ("relation_types.tsv", "knows\tperson"),
        ("relation_types.tsv", "knows\t\t"),
    ],
)
def test_a_wrong_line_is_named(folder, file, line):
    (folder / file).write_text(f"\n{line}\n")
    with pytest.raises(InputError, match=rf"{file}.*2.*expected an? "):
        load(folder)


def test_a_type_with_a_tab_needs_parquet(folder, tmp_path):
    graph = load(folder)
    graph = KnowledgeGraph(graph.entities.typed(types={"ada": ["a\tb"]}), graph.relations, graph.train)
    with pytest.raises(InputError, match="use parquet"):
        write(graph, tmp_path / "copy", format="tsv")
    assert load(write(graph, tmp_path / "copy")) == graph


def test_entities_are_held_out_with_all_their_triples():
    rows = [(f"e{i % 30}", f"r{i % 3}", f"e{(i * 7 + 1) % 30}") for i in range(200)]
    graph = split_graph(KnowledgeGraph.from_triples(rows), (0.8, 0.1, 0.1))
    rest = hold_out_entities(graph, 0.2, seed=1)
    assert hold_out_entities(graph, 0.2, seed=1) == rest
    assert hold_out_entities(graph, 0.2, seed=2) != rest
    gone = set(graph.entities) - set(rest.entities)
    assert len(gone) >= 6
    for split in ("train", "valid", "test"):
        named = {tuple(row.values()) for row in graph.named(split).to_pylist()}
        kept = {tuple(row.values()) for row in rest.named(split).to_pylist()}
        assert kept == {row for row in named if not {row[0], row[2]} & gone}
    assert set(np.unique(rest.train[:, [0, 2]])) == set(range(len(rest.entities)))
    with pytest.raises(InputError, match="share"):
        hold_out_entities(graph, 1.0)


def test_stats_show_types_and_descriptions(command, folder):
    (folder / "entity_descriptions.tsv").write_text("ada\ta writer\n")
    shown = command("stats", folder)
    assert (
        shown.code == 0 and "with a type" in shown.out and "writer" in shown.out and "with a description" in shown.out
    )
    found = json.loads(command("stats", folder, "--json").out)
    assert found["types"] == {"entities": 3, "relations": 2, "per_type": {"person": 2, "city": 1, "writer": 1}}
    assert found["described"] == 1


def test_types_show_in_neighbours_explanations_and_the_map(folder):
    (folder / "entity_descriptions.tsv").write_text("ada\ta writer\n")
    graph = load(folder)
    model = transa.TransE(dim=4, epochs=2, recipe="paper").fit(graph)
    near = model.neighbours("london")
    assert {each.key: each.types for each in near} == {"ada": ("writer", "person"), "bob": ("person",), "paris": ()}
    assert "writer, person" in str(near)
    found = model.explain("ada", "born_in", "paris")
    assert found.about_head.types == ("writer", "person") and found.report()["about_head"]["description"] == "a writer"
    assert "types of ada" in str(found) and "a writer" in str(found)
    assert entity_map(model.trained_, colour="type").types == ["person", "person", "city", None]
    with pytest.raises(InputError, match="no types"):
        entity_map(
            transa.TransE(dim=4, epochs=1, recipe="paper").fit(KnowledgeGraph.from_triples(ROWS)).trained_,
            colour="type",
        )


def test_a_schema_of_the_graph_is_a_law(folder):
    graph = load(folder)
    laws = mine_constraints(graph)
    born = graph.relations.id("born_in")
    assert laws.fits(born, graph.entities.id("london"), "tail") and not laws.fits(
        born, graph.entities.id("bob"), "tail"
    )
    assert mine_constraints(KnowledgeGraph.from_triples(ROWS)).types == {}
