"""Questions to a directional model: each side by its own direction, triples by the mean of both."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from tests.inference.runs import SIZE, line
from transa.analysis.weights import weights_of
from transa.errors import InputError
from transa.evaluation import evaluate
from transa.inference import Question, Trained, answer, check, discover, explain, extend, neighbours
from transa.inference.export import export, parameter_table
from transa.inference.search import restricted
from transa.models import Rows
from transa.training import recipe_from

pytestmark = pytest.mark.slow  # many small trainings

SETTINGS = {"model": "transa", "metric": "signed", "biases": True, "metric_update": "gradient", "directional": True}


@pytest.fixture
def one() -> Trained:
    """A model of random parameters."""
    graph, recipe = line(), recipe_from({**SETTINGS, "dim": 3})
    model = recipe.build_model(SIZE, 2).initialise(5)
    generator = torch.Generator().manual_seed(2)
    for role in ("entity", "relation"):
        tables = getattr(model, role)
        setattr(
            model, role, Rows({name: torch.randn(table.shape, generator=generator) for name, table in tables.items()})
        )
    return Trained(model, graph, recipe)


def score(trained: Trained, head: int, relation: int, tail: int) -> float:
    """The score of one row of the tables, in double precision."""
    model = trained.model
    e, w = model.entity.vector.double(), model.relation.metric.double()[relation, 0]
    residual = e[head] + model.relation.vector.double()[relation] - e[tail]
    return float((w * residual**2).sum() - model.entity.bias[head].double() - model.entity.bias[tail].double())


def test_each_side_is_answered_by_its_own_direction(one: Trained) -> None:
    tails, heads = answer(one, [Question("e1", "far", None), Question(None, "far", "e6")], top=SIZE)
    for found, expected in (
        (tails, {f"e{x}": score(one, 1, 1, x) for x in range(SIZE) if x != 1}),
        (heads, {f"e{x}": score(one, 6, 3, x) for x in range(SIZE) if x != 6}),
    ):
        assert [each.key for each in found] == sorted(expected, key=lambda key: expected[key])
        for each in found:
            assert each.score == pytest.approx(expected[each.key], rel=1e-5)


def test_triples_have_the_mean_of_both_directions_everywhere(one: Trained) -> None:
    mean = (score(one, 1, 1, 6) + score(one, 6, 3, 1)) / 2
    checked = check(one, [("e1", "far", "e6")]).checked[0]
    assert checked.score == pytest.approx(mean, rel=1e-5)
    tails, heads, relations = answer(
        one, [Question("e1", "far", None), Question(None, "far", "e6"), Question("e1", None, "e6")], top=SIZE
    )
    for found, key in (
        (tails, "e6"),
        (relations, "far"),
    ):  # a check takes the triple as an answer to (head, relation, ?)
        assert {each.key: each.probability for each in found}[key] == pytest.approx(checked.probability)
    assert {each.key: each.probability for each in heads}["e1"] is not None
    assert len(relations) == 2
    facts = discover(one, top=5).checked
    expected = check(one, [(each.head, each.relation, each.tail) for each in facts]).checked
    assert facts == expected and len(facts) == 5


def test_an_explanation_is_that_of_the_side_asked_for(one: Trained) -> None:
    biases = float(one.model.entity.bias[1] + one.model.entity.bias[6])
    for side, expected, given in (("tail", score(one, 1, 1, 6), "e1"), ("head", score(one, 6, 3, 1), "e6")):
        found = explain(one, "e1", "far", "e6", side=side)  # type: ignore[arg-type]
        assert found.parts.total == pytest.approx(expected + biases, rel=1e-5)
        assert found.transformed is not None and found.transformed.total == pytest.approx(found.parts.total)
        assert "before biases in this direction" in found.parts.what
        question = Question("e1", "far", None) if side == "tail" else Question(None, "far", "e6")
        assert found.answers == answer(one, [question], top=5)[0].predictions
        assert given not in [each.key for each in found.answers]
        assert found.report()["asked"] == side
        assert found.without is not None and len(found.without.answers) == 5
    with pytest.raises(InputError, match="side: expected 'head' or 'tail', found 'relation'"):
        explain(one, "e1", "far", "e6", side="relation")  # type: ignore[arg-type]


def test_ranks_come_with_the_score_of_their_side(one: Trained) -> None:
    found = evaluate(one.model, one.graph, "valid").frame(answers=1).to_pylist()
    for row in found:
        h, r, t = int(row["head"][1:]), ["next", "far"].index(row["relation"]), int(row["tail"][1:])
        expected = score(one, h, r, t) if row["side"] == "tail" else score(one, t, r + 2, h)
        assert row["score"] == pytest.approx(expected, rel=1e-4)


def test_metrics_and_vectors_of_both_directions_are_shown(one: Trained, tmp_path) -> None:
    weights = weights_of(one.model, one.graph)
    assert [each.key for each in weights.relations] == ["next", "far", "next⁻¹", "far⁻¹"]
    assert [each.triples for each in weights.relations] == [each.triples for each in weights.relations[:2]] * 2
    asked = weights_of(one.model, one.graph, ["far⁻¹"]).relations[0]
    metric = one.model.relation.metric[3, 0].double().numpy()
    assert np.allclose(np.sort(asked.decomposition.weights), np.sort(metric))
    assert asked.shares.min() >= 0 and asked.shares.sum() == pytest.approx(1)
    rows = parameter_table(one).to_pylist()[SIZE:]
    assert [(row["id"], row["key"]) for row in rows] == [(0, "next"), (1, "far"), (2, "next⁻¹"), (3, "far⁻¹")]
    assert np.allclose(np.array(rows[3]["metric"]).reshape(3, 3), np.diag(metric))
    with np.load(export(one, tmp_path / "all.npz")) as arrays:
        assert arrays["relations"].tolist() == ["next", "far", "next⁻¹", "far⁻¹"]
        assert arrays["entity.bias"].shape == (SIZE,)


def test_under_a_signed_metric_the_absolute_weights_measure_and_the_output_says_so(one: Trained) -> None:
    found = neighbours(one, "e1", "far", top=SIZE)
    vectors, weights = one.model.entity.vector.double(), one.model.relation.metric.double()[1, 0].abs()
    expected = {f"e{i}": float((weights * (vectors[1] - vectors[i]) ** 2).sum()) for i in range(SIZE) if i != 1}
    assert [each.key for each in found] == sorted(expected, key=lambda key: expected[key])
    assert [each.distance for each in found] == pytest.approx(sorted(expected.values()))
    assert found.measure == "absolute weights of the metric" and found.measure in str(found).splitlines()[-1]
    assert neighbours(one, "e1", top=3).measure == "Euclidean"


def test_checks_say_that_their_scores_are_the_mean_of_both_directions(one: Trained) -> None:
    assert "the mean of both directions" in one.notes_on_checks[-1]
    assert not any("mean of both" in note for note in one.notes)


def test_biases_are_no_part_of_distances() -> None:
    graph = line()
    recipe = recipe_from({"model": "transe", "dim": 2, "biases": True})
    model = recipe.build_model(SIZE, 2).initialise(0)
    model.entity["bias"] = torch.arange(float(SIZE)) * 10
    with_biases = neighbours(Trained(model, graph, recipe), "e2", "far")
    model.entity["bias"] = torch.zeros(SIZE)
    assert with_biases.rows() == neighbours(Trained(model, graph, recipe), "e2", "far").rows()


def test_a_part_of_the_model_keeps_both_directions(one: Trained) -> None:
    part = restricted(one.model, np.array([1, 4, 6]), 1)
    assert (part.num_relations, part.graph_relations) == (2, 1)
    whole = one.model.score_triples(torch.tensor([[1, 1, 6]]))
    torch.testing.assert_close(part.score_triples(torch.tensor([[0, 0, 2]])), whole)


@pytest.mark.parametrize("refine", [0, 2])
def test_new_entities_are_placed_by_both_directions(refine: int, tmp_path) -> None:
    graph = transa.load("nations")
    values = {"norm": 2, "squared": True, "biases": True}
    model = transa.TransE(8, epochs=3, directional=True, sampling="uniform", **values).fit(graph)  # type: ignore[arg-type]
    facts = [("atlantis", "embassy", "usa"), ("uk", "embassy", "atlantis")]
    placed = extend(model.trained_, facts, steps=0).trained.model
    vectors, (usa, uk) = model.model_, (graph.entities.id("usa"), graph.entities.id("uk"))
    r = graph.relations.id("embassy")
    e, shift = vectors.entity.vector, vectors.relation.vector
    # as head and as tail of each of the two triples and of their inverses
    expected = (e[usa] - shift[r]) + (e[usa] + shift[r + 55]) + (e[uk] + shift[r]) + (e[uk] - shift[r + 55])
    torch.testing.assert_close(placed.entity.vector[-1], expected / 4)
    grown = model.extend(facts, steps=5, refine=refine)
    assert grown.model_.directional and grown.model_.num_entities == len(graph.entities) + 1
    assert "atlantis" in {each.key for each in grown.predict(relation="embassy", tail="usa", top=15)}
    assert transa.load_model(grown.save(tmp_path / "run")).model_.num_relations == 110
