"""Explanations, neighbours and the map."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.inference.runs import line, on_a_line, trained
from transa.analysis.entity_map import entity_map
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference import Trained, explain, neighbours
from transa.inference.residual import parts, transformed
from transa.models import MODELS, build
from transa.training import recipe_from


def any_model(name: str, **options: object) -> Trained:
    graph = line()
    model = build(name, 8, 2, 4, **options).initialise(3, dtype=torch.float64)
    model.bind(graph)
    return Trained(model, graph, recipe_from({"model": name, "dim": 4}))


@pytest.mark.parametrize(
    "name", ["transa", "adaptive_metric", "transe", "transm", "transh", "transr", "ctransr", "se", "um"]
)
@pytest.mark.parametrize("norm", [1, 2])
def test_parts_add_up_to_the_score(name: str, norm: int) -> None:
    one = any_model(name, **({"norm": norm} if "norm" in MODELS[name].options else {}))
    triple = np.array([[1, 0, 4]], np.int32)
    found, score = parts(one.model, triple), float(one.scores(triple)[0])
    squared = norm == 2 and name in ("transe", "transm", "se")
    assert np.isclose(found.shares.sum(), found.total)
    assert np.isclose(found.total, score**2 if squared else score)


@pytest.mark.parametrize("name", ["rescal", "lfm"])
def test_parts_of_a_model_linear_in_the_head_add_up_to_the_score(name: str) -> None:
    one = any_model(name)
    triple = np.array([[1, 0, 4]], np.int32)
    assert np.isclose(parts(one.model, triple).total, float(one.scores(triple)[0]))


@pytest.mark.parametrize("metric", ["full", "lowrank", "diagonal"])
def test_transformed_dimensions_add_up_to_the_score_for_any_symmetric_metric(metric: str) -> None:
    one = any_model("transa", metric=metric, rank=2)
    table = one.model.relation["metric"]
    table[:] = torch.rand(table.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if metric == "full":
        table[0] = torch.tensor(np.fliplr(np.eye(4)).copy())  # indefinite, with a diagonal of 0
        table[1] = table[1] + table[1].T
    for relation in (0, 1):
        triple = np.array([[1, relation, 4]], np.int32)
        found = transformed(one.model, triple)
        assert found is not None
        assert np.isclose(found.total, float(one.scores(triple)[0]))
        assert np.isclose(found.shares.sum(), found.total)
        assert sorted(found.pivots.tolist()) == [0, 1, 2, 3]
    assert one.model.metric_matrix(1).shape == (4, 4)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, model in MODELS.items() if model.has_vectors))
def test_every_model_can_be_explained(name: str) -> None:
    found = explain(any_model(name), "e1", "next", "e2", top=3)
    report = found.report()
    both_ways = 2 if MODELS[name].by_paths else 1  # such a model adds h + r - t and its inverse
    assert report["head"] == "e1" and len(report["dimensions"]) == 4 * both_ways
    assert (found.without is not None) == (name in ("transa", "adaptive_metric"))
    assert 1 <= found.tail_rank.filtered <= found.tail_rank.raw <= 8
    assert found.frame().num_rows == 4 * both_ways


def test_an_explanation_knows_ranks_support_and_similar_entities() -> None:
    one = trained()
    found = explain(one, "e2", "next", "e3", top=2)
    assert (found.tail_rank.raw, found.head_rank.raw, found.parts.total) == (1.0, 1.0, 0.0)
    assert found.splits == ("train",) and found.answers[0].key == "e3"
    assert {(each.head, each.tail) for each in found.support} <= {(f"e{i}", f"e{i + 1}") for i in range(7)}
    assert all(np.isclose(each.distance, 2**0.5 * abs(int(each.head[1]) - 2)) for each in found.support)
    assert found.like_head == () and found.like_tail == ()  # no other entity has the fact
    assert explain(one, "e0", "next", "e5").splits == ()


def test_without_the_metric_dimensions_count_alike() -> None:
    graph = line()
    model = on_a_line(graph, "transa", metric="diagonal")
    model.relation["metric"] = torch.tensor([[[0.0, 1.0]], [[0.0, 1.0]]])  # blind to the line
    found = explain(Trained(model, graph), "e2", "next", "e3")
    assert found.triple.score == 0 and found.tail_rank.raw == 4.5  # all tie
    assert found.without is not None
    assert (found.without.norm, found.without.tail_rank.raw) == ("L2", 1.0)


def test_a_diagonal_metric_is_shown_once() -> None:
    graph = line()
    model = on_a_line(graph, "transa", metric="diagonal")
    model.entity["vector"][:, 1] = torch.arange(8.0) ** 2
    model.relation["metric"] = torch.tensor([[[0.5, 0.01]], [[1.0, 1.0]]])
    found = explain(Trained(model, graph), "e2", "next", "e5")
    (shown,) = [each for each in found.tables() if each.title.startswith("What carries the score")]
    assert shown.header == ("dimension", "value", "weight", "part", "share")
    assert [row[0] for row in shown.rows] == ["1", "0"]  # 0.01 * 21**2 and 0.5 * 2**2


def test_neighbours_plain_and_under_a_metric() -> None:
    graph = line()
    model = on_a_line(graph, "transa", metric="diagonal")
    model.entity["vector"][:, 1] = torch.tensor([0.0, 9, 9, 9, 9, 9, 9, 0.5])
    model.relation["metric"] = torch.tensor([[[0.0, 1.0]], [[1.0, 1.0]]])
    one = Trained(model, graph)
    assert neighbours(one, "e0", top=1).nearest[0].key == "e7"
    assert neighbours(one, "e3", top=2).frame()["key"].to_pylist() == ["e2", "e4"]
    under = neighbours(one, "e0", "next", top=1).nearest[0]
    assert (under.key, under.distance) == ("e7", 0.25)
    with pytest.raises(InputError, match=r"^RESCAL has no distance of a relation; without one \(--relation\)"):
        neighbours(any_model("rescal"), "e0", "next")


def test_the_map_keeps_the_largest_directions() -> None:
    found = entity_map(trained())
    assert found.explained[0] == pytest.approx(1.0)
    assert np.allclose(np.abs(np.diff(found.places[:, 0])), 1) and np.allclose(found.places[:, 1], 0)
    assert found.frame().column_names == ["key", "name", "x", "y", "degree"]
    assert found.degrees.sum() == 2 * len(line().train)


def test_the_map_knows_types_by_role_or_by_a_relation() -> None:
    graph = KnowledgeGraph.from_triples(
        [("a", "likes", "b"), ("a", "likes", "c"), ("a", "is", "cat"), ("b", "is", "dog")],
        [("b", "is", "cat")],  # a known fact all the same
    )
    vectors = np.random.default_rng(0).random((len(graph.entities), 3), np.float32)
    one = Trained(build("transe", len(graph.entities), 2, 3).initialise(0), graph)
    one.model.entity.vector[:] = torch.from_numpy(vectors)
    kinds = dict(zip(graph.entities, entity_map(one, colour="is").types, strict=True))
    assert kinds == {"a": "cat", "b": "cat", "c": None, "cat": None, "dog": None}
    roles = dict(zip(graph.entities, entity_map(one, colour="role").types, strict=True))
    assert roles == {
        "a": "head of likes",
        "b": "head of is",
        "c": "tail of likes",
        "cat": "tail of is",
        "dog": "tail of is",
    }
    assert entity_map(one, colour="is").frame().column_names[-1] == "type"


@pytest.mark.slow
def test_umap_keeps_clusters_apart_and_repeats_itself() -> None:
    graph = KnowledgeGraph.from_triples([(f"e{i}", "next", f"e{i + 1}") for i in range(39)])
    one = Trained(build("transe", 40, 1, 5).initialise(0), graph)
    ids = np.array([int(key[1:]) for key in graph.entities])
    vectors = np.random.default_rng(0).normal(size=(40, 5)) + 20 * (ids % 2)[:, None]
    one.model.entity.vector[:] = torch.from_numpy(vectors).float()
    found = entity_map(one, "umap", seed=3)
    again = entity_map(one, "umap", seed=3)
    assert np.array_equal(found.places, again.places) and found.explained is None
    centres = np.stack([found.places[ids % 2 == side].mean(0) for side in (0, 1)])
    distances = np.linalg.norm(found.places[:, None] - centres, axis=2)
    assert (distances.argmin(1) == ids % 2).all()
