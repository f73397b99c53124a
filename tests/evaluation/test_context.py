"""Triples beside the other answers to their two questions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import transa
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import accuracy, classify
from transa.evaluation.context import BEST, COMMON, ContextRegression, context_columns
from transa.evaluation.scores import scores_of
from transa.models import Model, build

CROWDED, SPARSE = 40, 40


def crowded_and_sparse() -> Model:
    """Entities on a line: the first ones a hundredth apart, the others 1."""
    model = build("um", CROWDED + SPARSE, 2, 1).initialise(0)
    places = torch.cat([torch.arange(CROWDED) / 100, 10 + torch.arange(SPARSE)])
    model.entity["vector"] = places.float().unsqueeze(1)
    return model


def neighbours(seed: int = 0) -> KnowledgeGraph:
    """A tail is true if it is one of the few nearest to the head, false if it is some places further on the same part of the line."""
    random = np.random.default_rng(seed)

    def rows(relations: int) -> tuple[np.ndarray, np.ndarray]:
        heads = random.integers(0, CROWDED + SPARSE, 200)
        labels = np.where(random.random(200) < 0.5, 1, -1)
        steps = np.where(labels == 1, random.integers(1, 3, 200), random.integers(8, 15, 200))
        tails = np.where(heads % CROWDED + steps < CROWDED, heads + steps, heads - steps)
        return np.stack([heads, random.integers(0, relations, 200), tails], axis=1), labels

    (valid, valid_labels), (test, test_labels) = rows(1), rows(2)
    sizes = {"entities": CROWDED + SPARSE, "relations": 2}
    return KnowledgeGraph.from_ids(valid[:1], valid, test, **sizes, valid_labels=valid_labels, test_labels=test_labels)


@pytest.mark.parametrize("directional", [False, True])
def test_columns_are_those_of_brute_force(directional: bool) -> None:
    count = 25
    model = build("transe", count, 4 if directional else 2, 5, norm=1).initialise(3)
    model.directional = directional
    triples = np.random.default_rng(0).integers(0, (count, 2, count), (30, 3))
    columns = context_columns(model, triples, scores_of(model, triples))
    np.testing.assert_array_equal(columns[:, 0], scores_of(model, triples))
    for (head, relation, tail), found in zip(triples.tolist(), columns, strict=True):
        tails = np.array([(head, relation, other) for other in range(count)])
        heads = np.array([(other, relation, tail) for other in range(count)])
        asked = [tails, model.inverted(heads) if directional else heads]
        for all_of_side, true, place in zip(asked, (tail, head), (0, 1), strict=True):
            scores = scores_of(model, all_of_side, one_way=True)
            assert found[1 + place] == pytest.approx(np.log(1 + (scores < scores[true]).sum()))
            assert found[3 + place] == pytest.approx(np.sort(scores)[:BEST].mean(), rel=1e-5)


def test_fewer_entities_than_best_answers_are_averaged() -> None:
    model = build("transe", 3, 1, 4, norm=1).initialise(0)
    scores = scores_of(model, np.array([(0, 0, other) for other in range(3)]))
    columns = context_columns(model, np.array([[0, 0, 2]]), scores[2:])
    assert columns[0, 3] == pytest.approx(scores.mean(), rel=1e-5)


def test_a_threshold_fails_where_densities_differ_and_questions_do_not() -> None:
    model, graph = crowded_and_sparse(), neighbours()
    by_score, by_questions = (classify(model, graph, by=by) for by in ("score", "questions"))  # type: ignore[arg-type]
    assert by_score.summary()["accuracy"] < 0.8
    assert by_questions.summary()["accuracy"] > 0.95
    assert by_questions.summary()["decided_by"] == "questions"
    assert accuracy(model, graph.valid, graph.valid_labels, "questions") > 0.95  # type: ignore[arg-type]


def test_margins_are_log_odds_and_a_relation_without_labelled_triples_shares_the_weights_of_all() -> None:
    model, graph = crowded_and_sparse(), neighbours()
    found = classify(model, graph, by="questions")
    np.testing.assert_array_equal(found.margins > 0, found.decisions == 1)
    fitted = context_columns(model, graph.valid, scores_of(model, graph.valid))
    assert graph.valid_labels is not None
    regression = ContextRegression.fit(fitted, graph.valid, graph.valid_labels)
    unseen = graph.test[:, 1] == 1
    columns = context_columns(model, graph.test, scores_of(model, graph.test))[unseen]
    scaled = np.column_stack([(columns - fitted.mean(0)) / fitted.std(0), np.ones(len(columns))])
    np.testing.assert_allclose(found.margins[unseen], scaled @ regression.common)


def test_weights_over_all_relations_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    columns = random.normal(size=(300, 5)) * [1, 2, 3, 4, 5] + 1
    labels = np.where(columns[:, 0] - columns[:, 1] / 3 + random.normal(size=300) > 0, 1, -1).astype(np.int8)
    triples = np.zeros((300, 3), np.int64)
    scaled = np.column_stack([(columns - columns.mean(0)) / columns.std(0), np.ones(300)])
    theirs = LogisticRegression(C=1 / COMMON, fit_intercept=False, tol=1e-8).fit(scaled, labels)
    ours = ContextRegression.fit(columns, triples, labels)
    np.testing.assert_allclose(ours.common, theirs.coef_[0], atol=1e-3)


def test_few_triples_of_a_relation_hardly_move_its_weights() -> None:
    random = np.random.default_rng(2)
    columns = random.normal(size=(404, 5))
    triples = np.zeros((404, 3), np.int64)
    triples[400:, 1] = 1
    labels = np.where(columns[:, 0] < 0, 1, -1).astype(np.int8)
    labels[400:] = -labels[400:]  # four triples that say the opposite
    own = ContextRegression.fit(columns, triples, labels).own
    assert own[0][0] < 0 and own[1][0] < 0


def test_the_recipe_says_what_decides_unless_the_caller_does() -> None:
    model = transa.TransE(dim=4, epochs=1, decided_by="questions").fit(neighbours())
    assert model.classify(calibration=None).decided_by == "questions"
    assert model.classify(calibration=None, by="score").decided_by == "score"


def test_another_word_is_refused() -> None:
    with pytest.raises(InputError, match="by: expected 'score' or 'questions', found 'answers'"):
        classify(crowded_and_sparse(), neighbours(), by="answers")  # type: ignore[arg-type]
