"""Commands on a graph of IRIs: people read and type short forms, programs get IRIs in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from transa.analysis.drawing import shortened
from transa.data import KnowledgeGraph
from transa.models import build
from transa.training import RunFolder, load_recipe

NS = "http://example.org/a/rather/long/path/to/a/catalogue/of/films/and/people#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    films = [f"{NS}Film{i}" for i in range(6)]
    graph = KnowledgeGraph.from_triples(
        [
            *((film, TYPE, f"{NS}Film") for film in films),
            *((film, f"{NS}follows", films[i]) for i, film in enumerate(films[1:])),
            (films[0], f"{NS}madeBy", "http://other.org/Film"),
        ]
    )
    recipe = load_recipe("transe", "paper", None, {"dim": 2, "entity_norm": "free"})
    path = tmp_path_factory.mktemp("runs") / "run"
    path.mkdir()
    folder = RunFolder(path)
    folder.write_start(graph, recipe, source=None, engine="numba")
    model = build("transe", len(graph.entities), len(graph.relations), 2).initialise(0)
    model.entity["vector"] = torch.stack([torch.arange(8.0), torch.arange(8.0) % 3], dim=1)
    folder.write_tensors("weights.safetensors", model.tensors())
    return path


def test_predict_shows_local_names_and_full_iris_on_demand(command, run: Path) -> None:
    asked = ("predict", run, "--head", "Film2", "--relation", "follows", "-k", 8)
    shown = command(*asked)
    assert shown.code == 0 and "(Film2, follows, ?)" in shown.out and "Film1" in shown.out
    assert NS not in shown.out.replace(f"{NS}Film ", "")  # two IRIs end in Film: these stay as they are
    full = command(*asked, "--iris").out
    assert f"{NS}Film1" in full and f"({NS}Film2, {NS}follows, ?)" in full
    found = json.loads(command(*asked, "--json").out)["questions"][0]
    assert found["question"] == {"head": f"{NS}Film2", "relation": f"{NS}follows", "tail": None}
    assert all(each["key"].startswith("http://") for each in found["answers"])
    assert "Film1" in {each["name"] for each in found["answers"]}


@pytest.mark.parametrize("relation", ["rdf:type", "RDF:Type", TYPE])
def test_a_relation_is_found_by_its_prefix(command, run: Path, relation: str, tmp_path: Path) -> None:
    drawn = command("map", run, "--picture", tmp_path / "map.svg", "--colour", relation)
    assert drawn.code == 0, drawn.err
    text = (tmp_path / "map.svg").read_text()
    assert ">Film (6)</text>" in text
    assert NS not in text and ">…<" not in text


def test_a_local_name_that_two_iris_share_is_ambiguous(command, run: Path) -> None:
    result = command("neighbours", run, "Film")
    assert result.code == 2 and "ambiguous" in result.err and f"{NS}Film" in result.err
    near = command("neighbours", run, "Film0", "-k", 2)
    assert near.code == 0 and "Nearest to Film0" in near.out and NS not in near.out


def test_other_tables_shorten_iris_too(command, run: Path, tmp_path: Path) -> None:
    triples = tmp_path / "t.csv"
    triples.write_text(f"head,relation,tail\n{NS}Film1,{NS}follows,{NS}Film0\n")
    for arguments in (("check", run, triples), ("explain", run, "Film1", "follows", "Film0"), ("stats", run / "graph")):
        shown = command(*arguments)
        assert shown.code == 0 and "follows" in shown.out and f"{NS}follows" not in shown.out
    assert f"{NS}follows" in command("explain", run, "Film1", "follows", "Film0", "--iris").out


@pytest.mark.parametrize("name", [f"{NS}Film1", "x" * 60, "a " + "y" * 60, "http://example.org/" + "z" * 60, "\\$"])
def test_a_shortened_name_in_a_picture_says_something(name: str) -> None:
    found = shortened(name)
    assert len(found) <= 29 and len(found.replace("…", "")) >= min(5, len(name))
    assert shortened(f"{NS}Film1") == "Film1"
    assert shortened("a name of many words that has to be cut") == "a name of many words that…"
