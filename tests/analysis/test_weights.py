"""What metrics weigh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import transa
from transa.analysis.weights import RelationWeights, metric_of, weight_difference, weights_of
from transa.analysis.weights_plot import plot_weights
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference import Trained, explain
from transa.models import build


def test_the_papers_own_matrix_has_no_ldl_without_pivots_but_weights_of_one_and_minus_one() -> None:
    found = RelationWeights.of(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert found.decomposition.blocks == 1
    assert np.allclose(sorted(found.decomposition.weights), [-1, 1])
    assert np.allclose(found.decomposition.matrix(), [[0, 1], [1, 0]])
    assert (found.non_negative, found.positive_definite) == (True, False)
    assert found.weight_difference is None  # the median is 0
    assert found.distance is None  # and so is the trace
    assert found.condition == pytest.approx(1)


def test_explain_and_weights_show_the_same_weights() -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    model = build("transa", 3, 1, 2).initialise(0, dtype=torch.float64)
    model.relation["metric"][0] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    (relation,) = weights_of(model, graph).relations
    found = explain(Trained(model, graph), "a", "r", "b")
    explained = {row["weight"]: row for row in found.dimensions()}
    assert sorted(explained) == pytest.approx(sorted(relation.decomposition.weights)) == [-1, 1]
    for weight, row in explained.items():
        assert row["part"] == pytest.approx(weight * row["value"] ** 2)
    assert sum(row["part"] for row in explained.values()) == pytest.approx(found.triple.score)


def test_a_diagonal_has_its_entries_as_weights() -> None:
    found = RelationWeights.of(np.diag([8.0, 2.0, 1.0]))
    assert sorted(found.decomposition.weights) == [1, 2, 8]
    assert found.weight_difference == 3
    assert found.condition == pytest.approx(8)
    assert found.top_dimensions(2) == [0, 1]
    assert found.shares == pytest.approx([8 / 11, 2 / 11, 1 / 11])
    assert found.positive_definite


def test_known_answer_of_two_dimensions() -> None:
    found = RelationWeights.of(np.array([[4.0, 2.0], [2.0, 3.0]]))
    assert found.decomposition.weights == pytest.approx([4, 2])  # 3 - 2 * 2 / 4
    assert found.weight_difference == pytest.approx((4 - 3) / 3)
    scaled = np.array([[4.0, 2.0], [2.0, 3.0]]) / 3.5 - np.eye(2)
    assert found.distance == pytest.approx(np.sqrt((scaled**2).sum() / 2))


def test_the_identity_is_euclidean_and_a_rank_one_metric_is_singular() -> None:
    assert RelationWeights.of(7 * np.eye(4)).distance == pytest.approx(0)
    assert RelationWeights.of(7 * np.eye(4)).weight_difference == 0
    ones = RelationWeights.of(np.ones((4, 4)))
    assert (ones.condition, ones.weight_difference, ones.positive_definite) == (None, None, False)
    assert weight_difference(np.array([-5.0, 1.0, 4.0])) == 3


@pytest.mark.parametrize("metric", ["full", "lowrank", "diagonal"])
def test_every_way_to_hold_a_metric_scores_as_its_matrix(metric: str) -> None:
    model = build("transa", 5, 2, 6, metric=metric, rank=2).initialise(0, dtype=torch.float64)
    torch.manual_seed(1)
    model.relation["metric"] = torch.rand(model.relation["metric"].shape, dtype=torch.float64)
    if metric == "full":
        model.relation["metric"] += model.relation["metric"].transpose(1, 2).clone()
    matrix = metric_of(model, 1)
    e = (model.entity.vector[0] + model.relation.vector[1] - model.entity.vector[3]).abs().numpy()
    assert e @ matrix @ e == pytest.approx(float(model.score_triples(torch.tensor([[0, 1, 3]]))[0]))


@pytest.mark.parametrize("name", ["transa", "adaptive_metric"])
def test_weights_of_a_model_and_their_picture(name: str, tmp_path: Path) -> None:
    graph = transa.load("nations")
    model = build(name, len(graph.entities), len(graph.relations), 5).initialise(0)
    found = weights_of(model, graph)
    summary = found.summary(2)
    assert summary["n"] == summary["positive_definite"] == len(graph.relations)
    assert summary["median_weight_difference"] == 0
    assert summary["relations"][0]["weights"] == [1.0] * 5
    assert len(summary["relations"][0]["dimensions"]) == 2
    assert found.frame().num_rows == 5 * len(graph.relations)
    assert plot_weights(found, tmp_path / "w.svg").read_text("utf-8").startswith("<?xml")


def test_a_model_without_a_metric_is_an_error() -> None:
    graph = transa.load("nations")
    model = build("transe", len(graph.entities), len(graph.relations), 5).initialise(0)
    with pytest.raises(InputError, match="transe has no metric"):
        weights_of(model, graph)
