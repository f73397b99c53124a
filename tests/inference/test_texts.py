"""Entities that come with a text and no triple."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from scipy import sparse

import transa
from transa.data import KnowledgeGraph, Vocabulary
from transa.data.text_vectors import TfIdf, entity_texts
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.inference import NewTexts, Trained, explain, extend
from transa.inference.text_map import _least_squares, entity_weights, learn_text_map
from transa.inference.word_map import _ridge
from transa.models import build
from transa.training import RunFolder, Trainer, load_recipe, recipe_from

KINDS, PLACES = ("red", "green", "blue", "white"), ("north", "south", "east")


def coloured() -> KnowledgeGraph:
    """Things with a colour and a place, which their texts name; each leads to the box of its colour and to the house of its place."""
    things = [(f"thing{i}", KINDS[i % 4], PLACES[i % 3]) for i in range(36)]
    told = {key: f"a {colour} thing from the {place}" for key, colour, place in things}
    told |= {f"box_{colour}": f"a box for all that is {colour}" for colour in KINDS}
    told |= {f"house_{place}": f"a house in the {place}" for place in PLACES}
    rows = [(key, "box", f"box_{colour}") for key, colour, _ in things]
    rows += [(key, "house", f"house_{place}") for key, _, place in things]
    graph = KnowledgeGraph.from_triples(rows, rows[:8])
    entities = graph.entities.described(None, told)
    return KnowledgeGraph(entities, graph.relations, graph.train, graph.valid)


@pytest.fixture(scope="module")
def one() -> Trained:
    graph = coloured()
    recipe = load_recipe("transa", "softmax", None, {"dim": 16, "epochs": 60, "batch_size": 32, "dropout": 0.1})
    return Trained(Trainer(graph, recipe).fit(), graph, recipe)


NEW = {"new1": "a green thing from the east", "new2": "a white thing from the north"}
TRUE = [
    ("new1", "box", "box_green"),
    ("new1", "house", "house_east"),
    ("new2", "box", "box_white"),
    ("new2", "house", "house_north"),
]


def test_texts_lead_to_the_right_answers(one: Trained) -> None:
    before = {name: table.clone() for name, table in one.model.tensors().items()}
    found = extend(one, texts=NewTexts(NEW))
    assert found.new_entities == ("new1", "new2") and (found.triples, found.told, found.losses) == (0, 2, None)
    grown = found.trained
    assert all(torch.equal(table, before[name]) for name, table in one.model.tensors().items())
    assert torch.equal(grown.model.entity.vector[: len(one.graph.entities)], before["entity.vector"])
    asked = np.concatenate([grown.triple(*row) for row in TRUE])
    assert link_prediction(grown.model, asked, grown.facts).summary()["tail"]["hits@1"] == 1.0
    assert grown.graph.entities.descriptions.to_pylist()[-2:] == list(NEW.values())


def test_a_place_that_is_linear_in_the_text_is_found() -> None:
    random = np.random.default_rng(0)
    told = {f"e{i}": " ".join(random.choice(list("abcdefghijkl"), 5)) for i in range(60)}
    graph = KnowledgeGraph.from_triples([(f"e{i}", "r", f"e{(i + 1) % 60}") for i in range(60)])
    graph = KnowledgeGraph(graph.entities.described(None, told), graph.relations, graph.train)
    words = TfIdf.learn(entity_texts(graph.entities))
    matrix, constant = random.standard_normal((len(words.words), 8)), random.standard_normal(8)
    model = build("transe", 60, 1, 8).initialise(0)
    model.entity["vector"] = torch.from_numpy(words.weights(entity_texts(graph.entities)) @ matrix + constant).float()
    one = Trained(model, graph, recipe_from({"model": "transe", "dim": 8}))
    grown = extend(one, texts=NewTexts({"new": "d e f l l"})).trained
    expected = words.weights(["d e f l l"]) @ matrix + constant
    np.testing.assert_allclose(grown.model.entity.vector[-1:].numpy(), expected, atol=0.01)


def test_weighted_least_squares_by_brute_force() -> None:
    random = np.random.default_rng(1)
    given = np.hstack([random.standard_normal((40, 5)), np.ones((40, 1))])
    wanted, weights = random.standard_normal((40, 3)), random.uniform(0.1, 4, (40, 3))
    found = _least_squares(given, wanted, weights, ridge=0.7)
    held = np.diag([0.7] * 5 + [1e-9])
    for column in range(3):
        scaled = given * weights[:, [column]]
        exact = np.linalg.solve(scaled.T @ given + held, scaled.T @ wanted[:, column])
        np.testing.assert_allclose(found[:, column], exact, atol=1e-3)


def test_vectors_of_words_by_brute_force() -> None:
    random = np.random.default_rng(2)
    texts = random.uniform(0, 1, (40, 6)) * (random.random((40, 6)) < 0.5)
    given, wanted = np.hstack([texts, np.ones((40, 1))]), random.standard_normal((40, 3))
    weights = random.uniform(0.1, 4, (40, 3))
    found = _ridge(sparse.csr_array(given), wanted, weights, 0.7)
    for column in range(3):
        scaled = given * weights[:, [column]]
        exact = np.linalg.solve(scaled.T @ given + np.diag([0.7] * 6 + [1e-9]), scaled.T @ wanted[:, column])
        np.testing.assert_allclose(found[:, column], exact, atol=1e-2)


def test_weights_are_those_of_the_metrics_of_an_entitys_relations() -> None:
    graph = KnowledgeGraph.from_ids([[0, 0, 1], [0, 1, 2]], entities=4)
    model = build("transa", 4, 2, 2, metric="signed").initialise(0)
    model.relation["metric"] = torch.tensor([[[1.0, -3.0]], [[3.0, 1.0]]])
    found = entity_weights(
        Trained(model, graph, recipe_from({"dim": 2, "metric": "signed", "metric_update": "gradient"}))
    )
    mean = np.mean([[2, 2], [1, 3], [3, 1]])
    np.testing.assert_allclose(found, np.array([[2, 2], [1, 3], [3, 1], [0, 0]]) / mean)
    plain = build("transe", 4, 2, 2).initialise(0)
    assert entity_weights(Trained(plain, graph, recipe_from({"model": "transe", "dim": 2}))) is None


def test_triples_move_it_on_from_there(one: Trained) -> None:
    told = extend(one, texts=NewTexts(NEW)).trained.model.entity.vector[-2:]
    moved = extend(one, [("new1", "box", "box_red")], texts=NewTexts(NEW), steps=5).trained.model.entity.vector[-2:]
    assert torch.equal(moved[1], told[1])
    assert 0 < float((moved[0] - told[0]).norm()) < float((told[0] - told[1]).norm())


def test_a_known_entity_without_a_training_triple_is_placed(one: Trained) -> None:
    graph = one.graph
    wider = KnowledgeGraph(
        graph.entities.followed_by(Vocabulary(["late"], None, ["a blue thing from the north"])),
        graph.relations,
        graph.train,
    )
    model = Trainer(wider, one.recipe).fit()
    trained = Trained(model, wider, one.recipe)
    grown = extend(trained, texts=NewTexts({"late": "a blue thing from the north"})).trained
    assert len(grown.graph.entities) == len(wider.entities)
    ranks = link_prediction(grown.model, grown.triple("late", "box", "box_blue"), grown.facts).summary()
    assert ranks["tail"]["hits@1"] == 1.0
    with pytest.raises(InputError, match="trained on all of these"):
        extend(trained, texts=NewTexts({"thing1": "something else"}))


def test_vectors_that_a_user_brings(one: Trained, tmp_path) -> None:
    kinds = np.array(
        [
            [colour in text for colour in (*KINDS, *PLACES)]
            for text in [*entity_texts(one.graph.entities), *NEW.values()]
        ]
    )
    vectors = kinds.astype(float)
    grown = extend(one, texts=NewTexts(NEW, vectors=vectors)).trained
    np.save(tmp_path / "my.npy", vectors)
    same = extend(one, texts=NewTexts(NEW, vectors=tmp_path / "my.npy")).trained
    assert torch.equal(grown.model.entity.vector, same.model.entity.vector)
    asked = np.concatenate([grown.triple(*row) for row in TRUE])
    assert link_prediction(grown.model, asked, grown.facts).summary()["tail"]["hits@1"] == 1.0
    with pytest.raises(InputError, match="expected 45 rows"):
        extend(one, texts=NewTexts(NEW, vectors=vectors[1:]))


def test_words_speak_for_a_triple_also_from_a_folder(one: Trained, tmp_path) -> None:
    grown = extend(one, texts=NewTexts(NEW), folder=RunFolder(tmp_path / "run")).trained
    for trained in (grown, Trained.open(tmp_path / "run")):
        found = explain(trained, "new1", "box", "box_green")
        effects = {each.word: each.effect for each in found.words}
        assert found.words[0].word == "green" and {each.entity for each in found.words} == {"new1"}, effects
        assert "“green”" in found.sentence
        assert "green" in [each["word"] for each in found.report()["words"]]
    assert not explain(grown, "thing1", "box", "box_green").words
    model = transa.load_model(tmp_path / "run")
    again = transa.load_model(model.save(tmp_path / "again"))
    assert "north" in [each.word for each in again.explain("new2", "house", "house_north").words]
    assert again.predict(head="new2", relation="box")[0].key == "box_white"
    assert again.check([("new2", "box", "box_white")])[0].probability is None


def test_the_map_is_trained_for_scores_that_are_linear(one: Trained) -> None:
    told = entity_texts(one.graph.entities)
    texts = TfIdf.learn(told).weights(told).toarray()
    closed, trained = (learn_text_map(one, texts, epochs=epochs) for epochs in (0, 6))
    again = learn_text_map(one, texts, epochs=6)
    assert torch.equal(trained.matrix, again.matrix)
    assert not torch.allclose(closed.matrix, trained.matrix)


@pytest.mark.parametrize(
    ("texts", "message"),
    [({}, "there is none"), ({"x": " "}, "that of 'x' is empty")],
)
def test_wrong_texts_are_named(texts, message) -> None:
    with pytest.raises(InputError, match=message):
        NewTexts(texts)


def test_command(command, one: Trained, tmp_path) -> None:
    run, texts = tmp_path / "run", tmp_path / "new.tsv"
    transa.TransA(dim=16, epochs=1, recipe="softmax").fit(one.graph).save(run)
    long = "a blue thing " * 80_000
    texts.write_text("".join(f"{key}\t{text}\n" for key, text in {**NEW, "new3": long}.items()))
    report = json.loads(command("extend", run, "--texts", texts, "--out", tmp_path / "new", "--json").out)
    assert report["told"] == 3 and [row["key"] for row in report["new_entities"]] == ["new1", "new2", "new3"]
    assert Trained.open(tmp_path / "new").told == (43, 44, 45)
    (tmp_path / "wrong.tsv").write_text("new1 and no tab\n")
    for arguments, message in (
        ([], "nothing to add"),
        (["new.csv", "--vectors", "x.npy"], "belong to texts"),
        (["--texts", tmp_path / "none.tsv"], "none.tsv"),
        (["--texts", texts, "--encoder", tmp_path], "modules.json"),
        (["--texts", tmp_path / "wrong.tsv"], "wrong.tsv, line 1"),
    ):
        wrong = command("extend", run, *arguments, "--out", tmp_path / "no")
        assert wrong.code == 2 and message in wrong.err.replace("\n", ""), wrong.err
