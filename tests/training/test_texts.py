"""Words, entities and relations in one space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.inference.test_texts import NEW, TRUE, coloured
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.inference import NewTexts, Trained, explain, extend
from transa.kernels.skip_gram import SkipGram, WordSequences, skip_gram_epoch
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


@pytest.mark.parametrize("values", [{}, {"own_vectors": True, "skip_gram": 0.5}], ids=["words", "all"])
def test_a_run_is_resumed_to_the_bit(values, tmp_path) -> None:
    graph, recipe = coloured(), joint(epochs=4, **values)
    whole = Trainer(graph, recipe, folder=RunFolder(tmp_path / "whole")).fit()
    first = Trainer(graph, recipe, Options(checkpoint_epochs=1), RunFolder(tmp_path / "parts"))
    with pytest.raises(Stopped):
        first.fit(lambda progress: first.stop() if progress.epoch == 1 else None)
    second = Trainer(graph, recipe, Options(checkpoint_epochs=1), RunFolder(tmp_path / "parts")).fit(resume=True)
    assert whole.tensors().keys() == second.tensors().keys()
    assert all(torch.equal(table, second.tensors()[name]) for name, table in whole.tensors().items())
    opened = Trained.open(tmp_path / "whole").model
    assert all(torch.equal(table, opened.tensors()[name]) for name, table in whole.tensors().items())


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """A folder that stands for a sentence encoder, which says of a text what colour it speaks of."""

    class Colours:
        def __init__(self, folder) -> None:
            self.folder = folder

        def encode(self, texts):
            return np.array([[colour in text for colour in ("red", "green", "blue")] for text in texts], np.float32)

    for module in ("transa.training.text_engine", "transa.inference.texts"):
        monkeypatch.setattr(f"{module}.SentenceEncoder", Colours)
    return str(tmp_path / "encoder")


def test_what_an_encoder_says_counts_beside_the_words(encoder, tmp_path) -> None:
    """Of the new texts, no word but the colour is known; and then not even that."""
    graph, recipe = coloured(), joint(text_encoder=encoder)
    Trainer(graph, recipe, folder=RunFolder(tmp_path / "run")).fit()
    one = Trained.open(tmp_path / "run")
    grown = extend(one, texts=NewTexts({"new1": "xgreenx", "new2": "xredx"})).trained
    asked = np.concatenate([grown.triple("new1", "box", "box_green"), grown.triple("new2", "box", "box_red")])
    assert link_prediction(grown.model, asked, grown.facts).summary()["tail"]["hits@1"] == 1.0
    with pytest.raises(InputError, match="its own words"):
        extend(Trained(Trainer(graph, joint(epochs=1)).fit(), graph, joint()), texts=NewTexts(NEW, encoder=encoder))


def test_a_key_says_nothing_where_entities_have_names(encoder) -> None:
    plain, recipe = coloured(), joint(text_encoder=encoder, epochs=1)
    names, texts = (dict.fromkeys(plain.entities, text) for text in ("Thing", "a blue thing"))
    for named in (None, names):
        graph = replace(plain, entities=plain.entities.described(named, texts))
        one = Trained(Trainer(graph, recipe).fit(), graph, recipe)
        grown = extend(one, texts=NewTexts({"red": "a green thing", "x7": "a green thing"})).trained
        first, second = grown.model.entity.vector[-2:]
        assert torch.equal(first, second) == (named is not None)


def test_own_vectors_tell_entities_with_one_text_apart() -> None:
    """Without them, entities of the same text are the same entity."""
    plain = KnowledgeGraph.from_triples([(f"a{i}", "to", f"b{i}") for i in range(6)])
    names = dict.fromkeys(plain.entities, "some thing")
    graph = KnowledgeGraph(plain.entities.described(names, None), plain.relations, plain.train)
    found = {}
    for own in (False, True):
        model = Trainer(graph, joint(own_vectors=own, epochs=60)).fit()
        found[own] = link_prediction(model, graph.train, graph.known()).summary()["tail"]["hits@1"]
    assert found == {False: 0.0, True: 1.0}


def test_skip_gram_takes_the_step_of_its_gradient() -> None:
    """Two words that stand together, and one that is drawn against them: autograd finds the same step."""
    vectors = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    texts = WordSequences(np.array([0, 1]), np.array([0, 0]), np.array([2, 2]), np.array([0.0, 0.0, 1.0]))
    for order in ((0, 1), (1, 0)):
        expected, squares = vectors.clone(), torch.zeros_like(vectors)
        total = 0.0
        for word in order:
            leaf = expected.clone().requires_grad_()
            loss = _pair(leaf, word, 1 - word, near=True)
            loss.backward()
            step_of(expected, squares, leaf.grad, 1 - word)
            away = expected.clone().requires_grad_()
            with torch.no_grad():
                away[word] = leaf[word]
            drawn = _pair(away, word, 2, near=False)
            drawn.backward()
            step_of(expected, squares, away.grad, 2)
            step_of(expected, squares, leaf.grad + away.grad, word)
            total += float((loss + drawn).detach())
        found, seen = vectors.numpy().copy(), np.zeros((3, 4))
        mean = skip_gram_epoch(texts, SkipGram(5, 1, 2.0, 0.5, 0.1), np.uint64(7), found, seen)
        if np.allclose(found, expected.numpy()):
            assert mean == pytest.approx(total / 2) and np.allclose(seen, squares.numpy())
            return
    pytest.fail("no order of the two words gives these vectors")


def _pair(vectors: torch.Tensor, word: int, other: int, *, near: bool) -> torch.Tensor:
    score = 2.0 - (vectors[word] - vectors[other]).square().sum() / 2
    return torch.nn.functional.softplus(-score if near else score)


def step_of(vectors: torch.Tensor, squares: torch.Tensor, gradient: torch.Tensor, row: int) -> None:
    """Take a step of Adagrad with half the gradient of a row."""
    squares[row] += (0.5 * gradient[row]).square()
    vectors[row] -= 0.1 * 0.5 * gradient[row] / (squares[row].sqrt() + 1e-10)


def test_a_corpus_brings_words_that_no_description_has(tmp_path) -> None:
    """Only the corpus says that verdant things are green."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("verdant green\n" * 30 + "crimson red\n" * 30)
    graph = coloured()
    recipe = joint(skip_gram=1.0, text_corpus=str(corpus), epochs=10)
    model = Trainer(graph, recipe).fit()
    assert model.words is not None
    rows = dict(zip(model.words.words.words, model.words.words.directions, strict=True))
    near, far = (float(np.linalg.norm(rows["verdant"] - rows[colour])) for colour in ("green", "red"))
    assert near < far
    with pytest.raises(InputError, match=r"no\.txt"):
        Trainer(graph, joint(skip_gram=1.0, text_corpus=str(tmp_path / "no.txt")))
    with pytest.raises(InputError, match="text_corpus: expected a skip_gram"):
        joint(text_corpus=str(corpus))
    with pytest.raises(InputError, match="own_vectors: expected entity_texts"):
        joint(own_vectors=True, entity_texts=False)


@pytest.mark.parametrize(
    "values", [{"entity_norm": "free"}, {"negatives": 4}, {"model": "rescal"}, {"smoothness": "lle"}]
)
def test_what_does_not_go_with_texts(values: dict[str, object]) -> None:
    usual = {"entity_texts": True, "loss": "softmax", "negatives": "all", "entity_norm": "unit", "metric": "diagonal"}
    with pytest.raises(InputError, match="entity_texts"):
        recipe_from({**usual, "metric_update": "gradient", **values})
