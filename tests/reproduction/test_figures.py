"""What the paper's figures show, computed from models whose right picture is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation.scores import scores_of
from transa.models import Model, build
from transa.reproduction.figures.figure1 import figure1
from transa.reproduction.figures.figure1_plot import draw_figure1
from transa.reproduction.figures.figure2 import figure2
from transa.reproduction.figures.figure2_plot import draw_figure2
from transa.reproduction.figures.figure3 import figure3
from transa.reproduction.figures.figure3_plot import draw_figure3
from transa.reproduction.figures.questions import Others, ask
from transa.reproduction.figures.scores import Potential, residuals, same_vectors
from transa.reproduction.figures.separation import Separation

TAILS = [f"t{number}" for number in range(6)]
OTHERS = [f"u{number}" for number in range(6)]


def toy() -> tuple[KnowledgeGraph, Model]:
    """Tails that lie far off in a dimension without weight, and others that lie near in it and far in the one with weight."""
    train = [("h", "r", tail) for tail in TAILS] + [("g", "r", other) for other in OTHERS]
    labelled = [("h", "r", "t0", 1), ("h", "r", "u0", -1), ("h", "r", "t1", 1), ("h", "r", "u1", -1)]
    graph = KnowledgeGraph.from_triples(train, labelled, labelled)
    model = build("transa", len(graph.entities), 1, 3).initialise(0, dtype=torch.float64)
    vectors = torch.zeros(len(graph.entities), 3, dtype=torch.float64)
    for number, (tail, other) in enumerate(zip(TAILS, OTHERS, strict=True)):
        side = 1.0 if number % 2 else -1.0
        vectors[graph.entities.id(tail)] = torch.tensor([side * (3 + 0.1 * number), 0.1, 0.02 * number])
        vectors[graph.entities.id(other)] = torch.tensor([0.3, side * (1 + 0.1 * number), -0.02 * number])
    vectors[graph.entities.id("g")] = torch.tensor([9.0, 9.0, 9.0])
    model.entity["vector"], model.relation["vector"] = vectors, torch.zeros(1, 3, dtype=torch.float64)
    model.relation["metric"] = torch.diag(torch.tensor([0.01, 4.0, 1.0], dtype=torch.float64)).unsqueeze(0)
    return graph, model


def test_figure_1_counts_the_mistakes_that_weights_avoid() -> None:
    graph, model = toy()
    found = figure1(model, graph, head="h", relation="r", others=Others(number=6))
    plain, weighted = found.panels
    assert {graph.entities[int(one)] for one in found.question.matched} == set(TAILS)
    assert {graph.entities[int(one)] for one in found.question.unmatched} == set(OTHERS)
    assert plain.separation.mistakes == 6
    assert weighted.separation.mistakes == weighted.plane_separation.mistakes == 0
    assert plain.plane_separation.mistakes == 6
    assert plain.explained > 0.99
    summary = found.summary()
    assert summary["panels"][1]["all_dimensions"]["auc"] == 1


def test_lines_of_equal_score_are_those_of_the_metric_in_the_plane() -> None:
    graph, model = toy()
    plain, weighted = figure1(model, graph, head="h", relation="r").panels
    angles = np.linspace(0, 2 * np.pi, 50)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert np.allclose(plain.in_plane(circle), 1)
    matrix = np.diag([0.01, 4.0, 1.0])
    for axis, direction in enumerate(np.eye(2)):
        size = np.abs(weighted.axes[axis])
        assert weighted.in_plane(direction[None])[0] == pytest.approx(size @ matrix @ size)


def test_the_default_question_has_as_many_tails_as_a_picture_can_show() -> None:
    rows = [("a", "r", f"x{number}") for number in range(30)] + [("b", "r", f"x{number}") for number in range(7)]
    graph = KnowledgeGraph.from_triples([*rows, ("c", "r", "x1")])
    model = build("transa", len(graph.entities), 1, 4).initialise(0)
    assert figure1(model, graph).question.head_name == "b"
    assert figure1(model, graph, head="a").question.head_name == "a"
    with pytest.raises(InputError, match="no fact"):
        figure1(model, graph, head="x1")


def test_scores_of_residuals_are_the_models() -> None:
    graph, model = toy()
    for one in (model, same_vectors(model, 1), same_vectors(model, 2)):
        question = ask(graph, [one], graph.entities.id("h"), 0)
        triples = np.array([[question.head, 0, tail] for tail in question.tails], dtype=np.int32)
        vectors = model.entity["vector"].numpy()
        scores = Potential(one, 0)(vectors[question.head] - vectors[question.tails])
        expected = scores_of(one, triples)
        assert np.array_equal(np.argsort(scores, kind="stable"), np.argsort(expected, kind="stable"))
    with pytest.raises(InputError, match="depends on a residual"):
        figure1(build("rescal", len(graph.entities), 1, 3).initialise(0), graph, against=model)
    with pytest.raises(InputError, match="no metric"):
        same_vectors(build("transh", 3, 1, 4).initialise(0))


@pytest.mark.parametrize("name", ["um", "transm", "transh", "transr", "ctransr", "se", "adaptive_metric"])
def test_every_model_with_a_residual_can_be_drawn(name: str) -> None:
    graph, model = toy()
    other = build(name, len(graph.entities), 1, 3).initialise(0, dtype=torch.float64)
    other.entity["vector"] = model.entity.vector
    panel = figure1(model, graph, against=other, head="h", relation="r").panels[0]
    question = ask(graph, [other], graph.entities.id("h"), 0)
    triples = np.array([[question.head, 0, tail] for tail in question.tails], dtype=np.int32)
    expected = scores_of(other, triples)
    scores = Potential(other, 0)(residuals(other, question.head, 0, question.tails))
    assert np.allclose(scores, expected**2 if other.root else expected)
    assert panel.label == other.title


def test_unmatched_tails_are_drawn_or_the_nearest_and_never_facts() -> None:
    graph, model = toy()
    head = graph.entities.id("h")
    drawn = ask(graph, [model], head, 0, Others(number=4, seed=1))
    assert np.array_equal(drawn.unmatched, ask(graph, [model], head, 0, Others(number=4, seed=1)).unmatched)
    assert len(drawn.unmatched) == 4
    near = ask(graph, [same_vectors(model, 2)], head, 0, Others(number=2, nearest=True))
    assert {graph.entities[int(one)] for one in near.unmatched} == {"u0", "u1"}
    for question in (drawn, near):
        assert not set(question.unmatched) & {*question.matched, head}
        assert (question.labels == 1).sum() == 6


def test_separation_finds_the_fewest_mistakes() -> None:
    found = Separation.of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, -1, 1, -1], dtype=np.int8))
    assert (found.mistakes, found.auc) == (1, 0.75)
    assert found.wrongly_in + found.wrongly_out == 1


def test_figure_2_splits_the_whole_score_into_a_heavy_and_a_light_half() -> None:
    graph, model = toy()
    found = figure2(model, graph, relation="r", heads=["h"], others=Others(number=6))
    (views,) = found.views
    assert found.heavy.tolist() == [False, True, True]
    assert [view.separation.mistakes for view in views] == [6, 0]
    plain, weighted = views
    tails = found.questions[0].tails
    vectors = model.entity["vector"].numpy()[tails]
    assert np.allclose(plain.scores, (vectors**2).sum(axis=1))
    assert np.allclose(plain.parts[:, 0], vectors[:, 0] ** 2)
    ratio = weighted.scores / (vectors**2 @ [0.01, 4.0, 1.0])
    assert np.allclose(ratio, ratio[0])
    assert weighted.scores.mean() == pytest.approx(plain.scores.mean())
    assert np.allclose((weighted.positions**2).sum(axis=1), weighted.scores)


def test_figure_2_takes_a_specific_and_a_general_head_of_has_part() -> None:
    rows = [("few", "_has_part", f"x{number}") for number in range(3)]
    rows += [("many", "_has_part", f"x{number}") for number in range(12)]
    rows += [("too_many", "_has_part", f"x{number}") for number in range(50)]
    graph = KnowledgeGraph.from_triples([*rows, *(("a", "other", f"x{number}") for number in range(90))])
    model = build("transa", len(graph.entities), 2, 4).initialise(0)
    found = figure2(model, graph)
    assert [question.head_name for question in found.questions] == ["few", "many"]
    assert found.questions[0].relation_name == "_has_part"


def test_figure_3_has_a_row_for_each_relation() -> None:
    graph, model = toy()
    found = figure3(model, graph)
    (row,) = found.rows
    assert (row.accuracy, row.plain_accuracy, row.triples) == (1.0, 0.5, 4)
    assert row.weight_difference == pytest.approx(3)
    assert (found.accuracy, found.plain_accuracy, found.correlation, found.sampled) == (1.0, 0.5, None, False)
    assert found.summary()["relations"][0]["relation"] == "r"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_are_drawn_and_not_overwritten(tmp_path: Path, suffix: str) -> None:
    graph, model = toy()
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    drawn = [
        (draw_figure1, figure1(model, graph, head="h", relation="r")),
        (draw_figure2, figure2(model, graph, relation="r", heads=["h"])),
        (draw_figure3, figure3(model, graph)),
    ]
    for number, (draw, data) in enumerate(drawn, 1):
        target = tmp_path / f"f{number}{suffix}"
        assert draw(data, target).read_bytes().startswith(start)  # type: ignore[operator]
        if suffix == ".svg":
            assert "mistake" in target.read_text("utf-8") or number == 3
        with pytest.raises(InputError, match="exists already"):
            draw(data, target)  # type: ignore[operator]
