"""Directional models are plain models of the graph with all its inverses; negatives that replace tails alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from tests.models.suite import Interrupted
from tests.training.helpers import largest_difference, same_bits, settings, train
from transa.evaluation import link_prediction
from transa.models import Model
from transa.training import Options, Progress, RunFolder, Trainer

pytestmark = pytest.mark.slow  # many models are trained

NATIONS = transa.load("nations")
BOTH = NATIONS.with_inverses()

MODELS = {
    "transe": {"model": "transe"},
    "transm": {"model": "transm"},
    "transh": {"model": "transh"},
    "transa-signed": {"model": "transa", "metric": "signed", "metric_update": "gradient"},
    "adaptive_metric-lowrank": {"model": "adaptive_metric", "metric": "lowrank", "metric_update": "gradient"},
    "transa-full": {"model": "transa"},
    "transa-authors": {"model": "transa", "training_score": "l1", "metric_update": "end"},
    "biases": {"model": "transe", "biases": True},
    "ctransr": {"model": "ctransr", "clusters": 2, "warm_epochs": 2},
    "rescal": {"model": "rescal", "solver": "als", "penalty": 0.1, "table_penalty": 0.1},
    "shared negatives": {"model": "transe", "negatives": 4, "shared_negatives": True, "sampling": "uniform"},
    "typed": {"model": "transe", "candidates": "typed"},
}


def fitted(graph: transa.KnowledgeGraph, **values: object) -> Model:
    return Trainer(graph, settings(epochs=3, precision="float32", **values)).fit()


@pytest.mark.parametrize("name", MODELS)
def test_a_directional_model_is_a_plain_one_of_the_graph_with_inverses(name: str) -> None:
    ours = fitted(NATIONS, **MODELS[name], directional=True)
    plain = fitted(BOTH, **(MODELS[name] | {"sampling": "tail"}))
    assert same_bits(ours.tensors(), plain.tensors())
    assert (ours.graph_relations, ours.num_relations, plain.graph_relations) == (55, 110, 110)
    triples = NATIONS.test
    ids = torch.from_numpy(triples.astype(np.int64))
    both_ways = plain.score_triples(ids), plain.score_triples(ours.inverted(ids))
    torch.testing.assert_close(ours.score_triples(ids), (both_ways[0] + both_ways[1]) / 2)
    ranks = link_prediction(ours, triples, NATIONS.known()).ranks()
    np.testing.assert_array_equal(ranks[:, 1], link_prediction(plain, triples, BOTH.known()).ranks()[:, 1])
    turned = transa.KnowledgeGraph.from_ids(
        ours.inverted(NATIONS.train),
        ours.inverted(NATIONS.valid),
        ours.inverted(NATIONS.test),
        entities=NATIONS.entities,
        relations=BOTH.relations,
    )
    heads = link_prediction(plain, turned.test, turned.known()).ranks()[:, 1]
    np.testing.assert_array_equal(ranks[:, 0], heads)


@pytest.mark.parametrize("engine", ["numba", "torch"])
@pytest.mark.parametrize("name", ["transe", "transa-signed", "transa-full"])
def test_a_run_is_kept_and_taken_up_with_the_same_bits(name: str, engine: str, tmp_path) -> None:
    recipe = settings(epochs=4, validate_every=2, directional=True, precision="float32", **MODELS[name])
    options = Options(engine=engine, checkpoint_epochs=2)  # type: ignore[arg-type]
    whole = Trainer(NATIONS, recipe, options).fit()

    def stop(progress: Progress) -> None:
        if progress.epoch == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        Trainer(NATIONS, recipe, options, RunFolder(tmp_path / "run")).fit(stop)
    Trainer(NATIONS, recipe, options, RunFolder(tmp_path / "run")).fit(resume=True)
    loaded = transa.load_model(tmp_path / "run")
    assert loaded.model_.directional and loaded.recipe_.directional
    assert same_bits(loaded.model_.tensors(), whole.tensors())
    assert loaded.graph_ == NATIONS
    assert loaded.evaluate().summary() == link_prediction(whole, NATIONS.test, NATIONS.known()).summary()


@pytest.mark.parametrize("how", [{"directional": True}, {"sampling": "tail"}])
@pytest.mark.parametrize("name", ["transe", "transh", "transa-signed", "transa-full"])
def test_both_engines_give_the_same_parameters(name: str, how: dict[str, object]) -> None:
    recipe = settings(**MODELS[name], **how, negatives=3, loss="self_adversarial")
    ours, theirs = (train(NATIONS, recipe, engine)[0] for engine in ("numba", "torch"))
    assert largest_difference(ours, theirs) < 1e-5


def test_both_directions_of_every_relation_in_train_are_learned() -> None:
    model = fitted(NATIONS, model="transe", directional=True)
    start = Trainer(NATIONS, settings(model="transe", directional=True, precision="float32")).model
    moved = (model.relation.vector != start.relation.vector).any(1).reshape(2, -1)
    trained = np.isin(np.arange(55), NATIONS.train[:, 1])
    assert moved[0].tolist() == moved[1].tolist() == trained.tolist()
