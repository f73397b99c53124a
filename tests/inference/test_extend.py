"""Growing a model, and handing it on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import transa
from tests.inference.runs import kept, trained
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.inference import Trained, discover, export, extend
from transa.models import MODELS, build
from transa.training import RunFolder, Trainer, load_recipe, recipe_from

NEW = [("e7", "next", "e8"), ("e6", "far", "e8"), ("e8", "next", "e9"), ("e0", "next", "e1")]


def test_new_entities_start_where_their_triples_say_and_nothing_else_moves() -> None:
    one = trained()
    before = {name: table.clone() for name, table in one.model.tensors().items()}
    found = extend(one, NEW, steps=0)
    assert found.new_entities == ("e8", "e9") and (found.triples, found.repeated) == (3, 1)
    vectors = found.trained.model.entity.vector
    assert torch.allclose(vectors[8], torch.tensor([8.0, 0.0]))
    assert torch.allclose(vectors[9], torch.tensor([9.0, 0.0]))  # next to a new one only
    assert all(torch.equal(table, before[name]) for name, table in one.model.tensors().items())
    moved = extend(one, NEW, steps=20)
    assert torch.equal(moved.trained.model.entity.vector[:8], before["entity.vector"])
    assert list(moved.trained.graph.entities)[:8] == list(one.graph.entities)
    assert len(moved.trained.graph.train) == len(one.graph.train) + 3
    assert moved.losses is not None and moved.losses[1] <= moved.losses[0]
    assert found.frame()["triples"].to_pylist() == [3, 1]


@pytest.mark.parametrize(
    "name", sorted(name for name, model in MODELS.items() if model.has_vectors and not model.by_paths)
)
def test_every_model_can_grow(name: str) -> None:
    one = trained()
    model = build(name, 8, 2, 4).initialise(0)
    grown = extend(Trained(model, one.graph, recipe_from({"model": name, "dim": 4})), NEW, steps=3)
    assert grown.trained.model.num_entities == 10
    assert all(bool(torch.isfinite(table).all()) for table in grown.trained.model.tensors().values())
    assert torch.equal(grown.trained.model.entity.vector[:8], model.entity.vector)


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        ([("e0", "next", "e1")], "nothing to add"),
        ([("e0", "likes", "e9")], "unknown relation 'likes'.*training of its own"),
    ],
)
def test_what_cannot_be_added(triples: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        extend(trained(), triples)


def test_refining_goes_on_from_the_run_and_its_optimiser(tmp_path: Path) -> None:
    graph = transa.load("nations")
    recipe = load_recipe("transe", None, None, {"dim": 8, "epochs": 3})
    Trainer(graph, recipe, None, RunFolder(tmp_path / "run")).fit()
    one = Trained.open(tmp_path / "run")
    news = [("atlantis", "embassy", "usa"), ("atlantis", "treaties", "uk")]
    grown = extend(one, news, steps=5, refine=2, folder=RunFolder(tmp_path / "grown"))
    again = Trained.open(tmp_path / "grown")
    assert again.graph.entities[len(graph.entities)] == "atlantis"
    assert torch.equal(again.model.entity.vector, grown.trained.model.entity.vector)
    assert not torch.equal(again.model.entity.vector[:-1], one.model.entity.vector)
    twice = extend(again, [("lemuria", "embassy", "atlantis")], steps=1)
    assert len(twice.trained.graph.entities) == len(graph.entities) + 2


def without(graph: KnowledgeGraph, held: np.ndarray) -> tuple[KnowledgeGraph, np.ndarray]:
    """The graph without some entities, and the new ids of the others, as `extend` will give them to all."""
    rest = np.setdiff1d(np.arange(len(graph.entities)), held)
    ids = np.empty(len(graph.entities), np.int32)
    ids[rest] = np.arange(len(rest))
    ids[held] = len(rest) + np.arange(len(held))  # both in the order of keys
    splits = [graph.train, graph.valid, graph.test]
    kept = [rows[~np.isin(rows[:, [0, 2]], held).any(1)] for rows in splits]
    kept = [np.stack([ids[rows[:, 0]], rows[:, 1], ids[rows[:, 2]]], axis=1) for rows in kept]
    return KnowledgeGraph.from_ids(*kept, entities=[graph.entities[i] for i in rest], relations=graph.relations), ids


@pytest.mark.slow
def test_held_out_entities_of_umls_answer_as_if_they_had_been_trained() -> None:
    graph = transa.load("umls")
    held = np.sort(np.random.default_rng(0).choice(len(graph.entities), 10, replace=False))
    base, ids = without(graph, held)
    recipe = load_recipe("transe", None, None, {"dim": 20, "epochs": 60})
    one = Trained(Trainer(base, recipe).fit(), base, recipe)
    news = graph.train[np.isin(graph.train[:, [0, 2]], held).any(1)]
    named = [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in news.tolist()]
    grown = extend(one, named).trained
    asked = graph.test[np.isin(graph.test[:, [0, 2]], held).any(1)]
    moved, known = (
        np.stack([ids[rows[:, 0]], rows[:, 1], ids[rows[:, 2]]], axis=1).astype(np.int32)
        for rows in (asked, np.concatenate([graph.train, graph.valid, graph.test]))
    )
    facts = transa.data.KnownFacts(known, len(graph.entities), len(graph.relations))
    found = link_prediction(grown.model, moved, facts).summary()["both"]["mrr"]
    full = Trainer(graph, recipe).fit()
    anew = link_prediction(full, asked, graph.known()).summary()["both"]["mrr"]
    assert found > 0.4  # at random it would be about 0.04
    assert found > 0.75 * anew


def test_exports_hold_the_parameters(tmp_path: Path) -> None:
    one = trained()
    table = pq.read_table(export(one, tmp_path / "all.parquet")).to_pylist()
    assert [row["kind"] for row in table] == ["entity"] * 8 + ["relation"] * 2
    assert table[3]["vector"] == [3.0, 0.0] and table[3]["key"] == "e3" and table[8]["metric"] is None
    arrays = np.load(export(one, tmp_path / "all.npz"))
    assert np.array_equal(arrays["entity.vector"], one.model.entity.vector.numpy())
    assert arrays["entities"].tolist()[:2] == ["e0", "e1"]
    lines = export(one, tmp_path / "all.txt").read_text().splitlines()
    assert lines[0] == "8 2" and lines[4] == "e3 3 0"
    facts = discover(one, top=3)
    text = export(one, tmp_path / "facts.nt", facts=facts).read_text()
    assert text.count("#Statement>") == 3 and text.count("urn:transa:probability") == 3
    assert f"<urn:transa:{facts.checked[0].tail}>" in text
    assert "Statement" in export(one, tmp_path / "facts.ttl", facts=facts).read_text()
    with pytest.raises(InputError, match="exists already"):
        export(one, tmp_path / "all.npz")
    with pytest.raises(InputError, match="unknown suffix"):
        export(one, tmp_path / "all.xyz")


def test_words_without_white_space_must_stay_apart(tmp_path: Path) -> None:
    graph = KnowledgeGraph.from_triples([("a b", "r", "a_b")])
    with pytest.raises(InputError, match="same word"):
        export(Trained(build("transe", 2, 1, 2).initialise(0), graph), tmp_path / "w.txt")


def test_estimators_ask_save_load_and_grow(tmp_path: Path) -> None:
    kept(tmp_path / "run")
    model = transa.load_model(tmp_path / "run")
    assert type(model).__name__ == "TransE" and model.recipe_.dim == 2
    assert model.predict(head="e2", relation="next", top=1)[0].key == "e3"
    assert model.check([("e2", "next", "e3")]).checked[0].decision
    assert len(model.discover(top=2)) == 2 and len(model.discover(top=2, errors=True)) == 2
    assert model.explain("e2", "next", "e3").tail_rank.raw == 1
    assert model.neighbours("e2", top=1).nearest[0].distance == 1
    grown = model.extend(NEW[:2])
    assert grown.predict(head="e7", relation="next", top=1)[0].key == "e8"
    assert len(model.graph_.entities) == 8
    assert grown.save(tmp_path / "saved") == tmp_path / "saved"
    again = transa.load_model(tmp_path / "saved")
    assert torch.equal(again.model_.entity.vector, grown.model_.entity.vector) and again.recipe_ == grown.recipe_
    with pytest.raises(InputError, match="holds a run already"):
        grown.save(tmp_path / "saved")
