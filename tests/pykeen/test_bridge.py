"""PyKEEN trains our models and we open its models: the same scores, and the same figures by both evaluators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.hpo import hpo_pipeline
from pykeen.models import SE, ERModel, RotatE, TransE, TransR, model_resolver
from pykeen.nn.modules import interaction_resolver
from pykeen.pipeline import pipeline
from pykeen.triples import CoreTriplesFactory

import transa
from tests.evaluation.test_peers import NAMES
from transa.models import build
from transa.pykeen import TransAInteraction, factories_of, graph_of, open_model

pytestmark = pytest.mark.filterwarnings("ignore")
QUIET = {"use_tqdm": False}
#: Models with their settings beside the dimension.
TRAINED = {
    "TransA": [
        {"metric": "lowrank", "rank": 2},
        {"metric": "diagonal"},
        {"metric": "signed"},
        {"metric": "signed_lowrank", "rank": 2},
        {"metric": "full"},
    ],
    "AdaptiveMetric": [{"root": True}, {"root": False}],
    "TransE": [{"scoring_fct_norm": 1}, {"scoring_fct_norm": 2}, {"scoring_fct_norm": 2, "power_norm": True}],
    "TransH": [{"scoring_fct_norm": 1}, {"scoring_fct_norm": 2}],
    "TransR": [{"relation_dim": 5, "scoring_fct_norm": 1}, {"relation_dim": 9, "scoring_fct_norm": 2}],
    "RESCAL": [{}],
    "SE": [{"scoring_fct_norm": 1}, {"scoring_fct_norm": 2}],
    "NTN": [{"num_slices": 3}],
    "UM": [{"scoring_fct_norm": 1}, {"scoring_fct_norm": 2, "power_norm": True}],
}
CASES = [(name, settings) for name, every in TRAINED.items() for settings in every]


@pytest.fixture(scope="module")
def graph() -> transa.KnowledgeGraph:
    return transa.load("nations")


def trained(graph: transa.KnowledgeGraph, model: str, settings: dict[str, Any], inverse: bool = False) -> ERModel:
    """Train by PyKEEN's pipeline; in double precision afterwards, so that its ranks are exact."""
    result = pipeline(
        **factories_of(graph, create_inverse_triples=inverse),
        model=model,
        model_kwargs={"embedding_dim": 8, **settings},
        training_kwargs={"num_epochs": 2, **QUIET},
        evaluation_kwargs=QUIET,
        random_seed=0,
        device="cpu",
    )
    return result.model.double()


def assert_same_figures(theirs: ERModel, ours: transa.Estimator, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ours.graph_
    if not isinstance(
        ours, transa.TransE
    ):  # other tests hold compiled ranks to those of torch, and compiling takes long
        monkeypatch.setattr(ours.model_, "kernel", lambda: None)
    splits = [torch.from_numpy(graph.triples(split).astype(np.int64)) for split in ("train", "valid", "test")]
    measured = RankBasedEvaluator(filtered=True).evaluate(
        theirs, splits[2], batch_size=64, additional_filter_triples=splits[:2], **QUIET
    )
    for side, measures in ours.evaluate().summary().items():
        for name, key in NAMES.items():
            expected = measured.get_metric(f"{side}.realistic.{key}")
            assert measures[name] == pytest.approx(expected, rel=1e-6, abs=1e-6), (side, name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), CASES, ids=[f"{name}-{settings}" for name, settings in CASES])
def test_a_model_of_pykeen_is_opened_with_its_scores_and_figures(
    graph: transa.KnowledgeGraph, name: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = trained(graph, name, settings)
    ours = open_model(theirs, graph)
    triples = torch.from_numpy(graph.test.astype(np.int64))
    with torch.no_grad():
        expected = -theirs.score_hrt(triples).squeeze(1)
    torch.testing.assert_close(ours.model_.score_triples(triples), expected, rtol=1e-9, atol=1e-9)
    assert_same_figures(theirs, ours, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TransA", "TransE", "RESCAL"])
def test_inverse_triples_make_a_directional_model(
    graph: transa.KnowledgeGraph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = trained(graph, name, {}, inverse=True)
    ours = open_model(theirs, graph)
    assert ours.model_.directional
    assert_same_figures(theirs, ours, monkeypatch)


def test_an_opened_model_predicts_explains_and_is_kept(graph: transa.KnowledgeGraph, tmp_path: Path) -> None:
    ours = open_model(SE(triples_factory=factories_of(graph)["training"], embedding_dim=6), graph)
    assert isinstance(ours, transa.SE) and ours.recipe_.dim == 6
    found = ours.predict(head="usa", relation="treaties", top=3)
    assert len(found) == 3 and found[0].probability is not None
    assert "usa" in str(ours.explain("usa", "treaties", "uk"))
    again = transa.load_model(ours.save(tmp_path / "run"))
    assert [(each.name, each.score) for each in again.predict(head="usa", relation="treaties", top=3)] == [
        (each.name, each.score) for each in found
    ]


def test_resolvers_know_our_models_and_interactions() -> None:
    assert model_resolver.lookup("TransA").__module__ == "transa.pykeen.models"
    assert model_resolver.lookup("AdaptiveMetric") and interaction_resolver.lookup("AdaptiveMetric")
    assert isinstance(interaction_resolver.make("TransA", {"metric": "diagonal"}), TransAInteraction)


@pytest.mark.slow
def test_the_search_for_settings_finds_those_of_transa(graph: transa.KnowledgeGraph) -> None:
    result = hpo_pipeline(
        **factories_of(graph),
        model="TransA",
        model_kwargs={"embedding_dim": 8},
        training_kwargs={"num_epochs": 1, **QUIET},
        evaluation_kwargs=QUIET,
        n_trials=2,
        device="cpu",
    )
    assert {trial.params["model.metric"] for trial in result.study.trials} <= {"lowrank", "diagonal", "signed"}


@pytest.mark.parametrize("metric", ["full", "lowrank", "diagonal"])
def test_training_by_pykeen_keeps_metrics_non_negative(graph: transa.KnowledgeGraph, metric: str) -> None:
    ours = open_model(trained(graph, "TransA", {"metric": metric}), graph)
    start = build("transa", 1, 1, 8, metric=metric, rank=1).initialise().relation.metric[0]
    found = ours.model_.relation.metric
    assert (found >= 0).all() and not torch.equal(found[0].float(), start)


def test_factories_and_back_are_the_same_graph(graph: transa.KnowledgeGraph) -> None:
    made = factories_of(graph)
    assert graph_of(made["training"], made["validation"], made["testing"]) == graph
    numbered = graph_of(CoreTriplesFactory(made["training"].mapped_triples, 14, 55))
    assert list(numbered.entities)[:3] == ["0", "1", "2"] and np.array_equal(numbered.train, graph.train)


def test_a_dataset_of_pykeen_is_loaded_by_name(graph: transa.KnowledgeGraph) -> None:
    found = transa.load("pykeen:Nations")
    triples = [{tuple(row.values()) for row in each.named("train").to_pylist()} for each in (found, graph)]
    assert triples[0] == triples[1] and len(found.test) == len(graph.test)


def test_what_cannot_be_opened_is_said(graph: transa.KnowledgeGraph) -> None:
    factory = factories_of(graph)["training"]
    with pytest.raises(transa.InputError, match="found RotatE"):
        open_model(RotatE(triples_factory=factory, embedding_dim=4), graph)
    with pytest.raises(transa.InputError, match="expected the L1 or the L2 norm, found p = 3"):
        open_model(TransE(triples_factory=factory, embedding_dim=4, scoring_fct_norm=3), graph)
    longer = TransR(triples_factory=factory, embedding_dim=4, relation_dim=4)
    longer.interaction.max_projection_norm = 2.0
    with pytest.raises(transa.InputError, match="a norm of at most 1, found 2"):
        open_model(longer, graph)
    other = transa.KnowledgeGraph.from_triples([("a", "r", "b")])
    with pytest.raises(transa.InputError):
        open_model(TransE(triples_factory=factory, embedding_dim=4), other)
