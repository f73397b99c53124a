"""Words, entities and relations in one space."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.inference.test_texts import NEW, TRUE, coloured
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.inference import NewTexts, Trained, explain, extend
from transa.training import Options, Recipe, RunFolder, Stopped, Trainer, load_recipe, recipe_from

JOINT = {
    "dim": 16,
    "epochs": 20,
    "batch_size": 32,
    "entity_texts": True,
    "entity_norm": "unit",
    "temperature": 8.0,
    "dropout": 0.0,
}


def joint(**values: object) -> Recipe:
    return load_recipe("transa", "softmax", None, {**JOINT, **values})


@pytest.fixture(scope="module")
def one() -> Trained:
    graph, recipe = coloured(), joint()
    return Trained(Trainer(graph, recipe).fit(), graph, recipe)


def test_unseen_entities_are_placed_by_their_words(one: Trained) -> None:
    grown = extend(one, texts=NewTexts(NEW)).trained
    asked = np.concatenate([grown.triple(*row) for row in TRUE])
    assert link_prediction(grown.model, asked, grown.facts).summary()["tail"]["hits@1"] == 1.0
    assert torch.equal(grown.model.entity.vector[:-2], one.model.entity.vector)
    assert "green" in [each.word for each in explain(grown, "new1", "box", "box_green").words if each.entity == "new1"]
    assert explain(grown, "thing1", "box", "box_green").words  # of every entity
    with pytest.raises(InputError, match="its own words"):
        extend(one, texts=NewTexts(NEW, vectors=np.ones((45, 3))))


def test_entities_are_the_sum_of_their_words(one: Trained) -> None:
    words = one.model.words
    assert words is not None
    text = "thing0. a red thing from the north"
    row = one.graph.entities.id("thing0")
    place = (words.words.weights([text]) @ words.words.directions)[0]
    np.testing.assert_allclose(one.model.entity.vector[row].numpy(), place / np.linalg.norm(place), atol=1e-5)


def test_the_gradient_of_words_agrees_with_differences() -> None:
    """A step of Adagrad begins in the direction of the gradient's signs: the loss falls if it is small."""
    graph, recipe = (
        coloured(),
        joint(precision="float64", epochs=1, learning_rate=1e-3, metric_learning_rate=1e-9, batch_size=10**6),
    )
    trainer = Trainer(graph, recipe)
    engine = trainer.engine
    losses = [engine.train_epoch(1).loss for _ in range(2)]
    assert losses[1] < losses[0]


def test_a_run_is_resumed_to_the_bit(tmp_path) -> None:
    graph, recipe = coloured(), joint(epochs=4)
    whole = Trainer(graph, recipe, folder=RunFolder(tmp_path / "whole")).fit()
    first = Trainer(graph, recipe, Options(checkpoint_epochs=1), RunFolder(tmp_path / "parts"))
    with pytest.raises(Stopped):
        first.fit(lambda progress: first.stop() if progress.epoch == 1 else None)
    second = Trainer(graph, recipe, Options(checkpoint_epochs=1), RunFolder(tmp_path / "parts")).fit(resume=True)
    assert whole.tensors().keys() == second.tensors().keys()
    assert all(torch.equal(table, second.tensors()[name]) for name, table in whole.tensors().items())
    opened = Trained.open(tmp_path / "whole").model
    assert all(torch.equal(table, opened.tensors()[name]) for name, table in whole.tensors().items())


@pytest.mark.parametrize(
    "values", [{"entity_norm": "free"}, {"negatives": 4}, {"model": "rescal"}, {"smoothness": "lle"}]
)
def test_what_does_not_go_with_texts(values: dict[str, object]) -> None:
    usual = {"entity_texts": True, "loss": "softmax", "negatives": "all", "entity_norm": "unit", "metric": "diagonal"}
    with pytest.raises(InputError, match="entity_texts"):
        recipe_from({**usual, "metric_update": "gradient", **values})
