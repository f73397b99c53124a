"""Thresholds, decisions and what is reported of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import transa
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import accuracy, classify
from transa.evaluation.labelled import LabelledTriples
from transa.evaluation.scores import scores_of
from transa.evaluation.thresholds import best_threshold, best_thresholds
from transa.models import Model, build

ENTITIES, RELATIONS = 30, 4


def exhaustive(scores: np.ndarray, labels: np.ndarray) -> int:
    """The most triples that any threshold classifies rightly."""
    borders = [*scores, scores.max() + 1]  # below a score, or above all
    return max(int(((scores < border) == (labels == 1)).sum()) for border in borders)


def on_a_line(entities: int = ENTITIES, relations: int = RELATIONS) -> Model:
    """Entities at 0, 1, 2, ...: the score of a triple is the square of the distance."""
    model = build("um", entities, relations, 1).initialise(0)
    model.entity["vector"] = torch.arange(float(entities)).unsqueeze(1)
    return model


def labelled(seed: int = 0, size: int = 120) -> KnowledgeGraph:
    """A graph in which near entities are mostly related; relation 3 is tested, but not in valid."""
    random = np.random.default_rng(seed)

    def rows(relations: int) -> tuple[np.ndarray, np.ndarray]:
        triples = random.integers(0, (ENTITIES, relations, ENTITIES), (size, 3))
        near = np.abs(triples[:, 0] - triples[:, 2]) < 6 + 3 * triples[:, 1]
        return triples, np.where(near ^ (random.random(size) < 0.15), 1, -1)

    (valid, valid_labels), (test, test_labels) = rows(3), rows(4)
    train = random.integers(0, (ENTITIES, RELATIONS, ENTITIES), (size, 3))
    return KnowledgeGraph.from_ids(
        train,
        valid,
        test,
        entities=ENTITIES,
        relations=RELATIONS,
        valid_labels=valid_labels,
        test_labels=test_labels,
    )


# ---------------------------------------------------------------------- thresholds


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([1, -1])), min_size=1, max_size=12))
def test_the_threshold_is_the_best_of_an_exhaustive_search(rows: list[tuple[int, int]]) -> None:
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    threshold, right = best_threshold(scores.astype(float), labels.astype(np.int8))

    def count(border: float) -> int:
        return int(((scores < border) == (labels == 1)).sum())

    assert count(threshold) == right
    assert right == max(count(border) for border in (*np.arange(-4, 5), *(np.arange(-4, 5) + 0.5)))


@pytest.mark.parametrize("start", [0.0, 1.0, -1.0, 5e-324, 1e308])
def test_neighbouring_numbers_are_told_apart(start: float) -> None:
    scores = np.array([start, np.nextafter(start, np.inf)])
    threshold, right = best_threshold(scores, np.array([1, -1], dtype=np.int8))
    assert right == 2
    assert (scores < threshold).tolist() == [True, False]


def test_accuracy_takes_a_threshold_for_each_relation() -> None:
    model = build("um", 4, 2, 1).initialise(0)
    model.entity["vector"] = torch.tensor([[0.0], [1.0], [2.0], [4.0]])
    # Distances from entity 0 are 1, 4 and 16. Relation 0 holds up to 1, relation 1 up to 4: no one threshold fits both.
    triples = np.array([[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3]], dtype=np.int32)
    assert accuracy(model, triples, np.array([1, -1, 1, -1], dtype=np.int8)) == 1.0
    assert accuracy(model, triples, np.array([-1, 1, 1, -1], dtype=np.int8)) == 0.75


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_the_best_on_valid_for_each_relation_and_over_all(seed: int) -> None:
    graph, model = labelled(seed), on_a_line()
    found = classify(model, graph)
    scores, labels = scores_of(model, graph.valid), graph.valid_labels
    assert labels is not None
    assert set(found.thresholds) == {0, 1, 2}
    for relation, threshold in found.thresholds.items():
        rows = graph.valid[:, 1] == relation
        right = ((scores[rows] < threshold) == (labels[rows] == 1)).sum()
        assert right == exhaustive(scores[rows], labels[rows])
    assert ((scores < found.global_threshold) == (labels == 1)).sum() == exhaustive(scores, labels)


def flipped(graph: KnowledgeGraph) -> KnowledgeGraph:
    assert graph.test_labels is not None
    return replace(graph, test_labels=-graph.test_labels)


def other_triples(graph: KnowledgeGraph) -> KnowledgeGraph:
    return replace(graph, test=graph.test[::-1, ::-1] % RELATIONS)


@pytest.mark.parametrize("change", [flipped, other_triples])
def test_nothing_of_test_reaches_thresholds_or_calibration(
    change: Callable[[KnowledgeGraph], KnowledgeGraph],
) -> None:
    graph, model = labelled(), on_a_line()
    before, after = classify(model, graph), classify(model, change(graph))
    assert after.thresholds == before.thresholds
    assert after.global_threshold == before.global_threshold
    assert after.calibrator == before.calibrator
    assert after.summary()["accuracy"] != before.summary()["accuracy"]


def test_labels_of_test_do_not_decide_what_is_drawn_for_valid() -> None:
    graph = replace(labelled(size=800), valid_labels=None)  # so many that most draws have test triples to avoid
    drawn = [LabelledTriples.of(each, "valid").triples for each in (graph, flipped(graph))]
    np.testing.assert_array_equal(*drawn)
    before, after = classify(on_a_line(), graph), classify(on_a_line(), flipped(graph))
    assert before.thresholds == after.thresholds
    assert before.sampled
    assert "valid has no labels" in before.notes[0]


# ---------------------------------------------------------------------- decisions and measures


def test_a_triple_is_true_where_its_score_is_below_its_threshold() -> None:
    graph = labelled()
    found = classify(on_a_line(), graph)
    assert not found.sampled
    np.testing.assert_array_equal(found.triples, graph.test)
    np.testing.assert_array_equal(found.labels, graph.test_labels)
    distances = (graph.test[:, 0] - graph.test[:, 2]).astype(float) ** 2
    np.testing.assert_array_equal(found.scores, distances)
    for (_, relation, _), score, decision in zip(graph.test.tolist(), distances, found.decisions, strict=True):
        threshold = found.thresholds[relation] if relation < 3 else found.global_threshold
        assert decision == (1 if score < threshold else -1)


def test_a_score_at_the_threshold_is_not_below_it() -> None:
    # On valid, true at distance 1 and false at 7: the threshold is (1 + 49) / 2 = 25, which is distance 5.
    valid, test = [[0, 0, 1], [0, 0, 7]], [[0, 0, 4], [0, 0, 5], [0, 0, 6]]
    graph = KnowledgeGraph.from_ids([[0, 0, 1]], valid, test, entities=8, valid_labels=[1, -1], test_labels=[1, 1, 1])
    found = classify(on_a_line(8, 1), graph)
    assert found.thresholds == {0: 25.0}
    assert found.decisions.tolist() == [1, -1, -1]


def test_the_summary_is_that_of_scikit_learn() -> None:
    graph = labelled()
    found = classify(on_a_line(), graph)
    summary = found.summary()
    own = [found.thresholds.get(relation, found.global_threshold) for relation in graph.test[:, 1].tolist()]
    margins = np.array(own) - found.scores
    names = {"": np.ones(len(margins), bool), **{str(r): graph.test[:, 1] == r for r in range(RELATIONS)}}
    for name, rows in names.items():
        measured = summary["relations"][name] if name else summary
        labels, said = found.labels[rows], found.decisions[rows]
        assert measured["n"] == rows.sum()
        assert measured["accuracy"] == pytest.approx(metrics.accuracy_score(labels, said))
        assert measured["precision"] == pytest.approx(metrics.precision_score(labels, said))
        assert measured["recall"] == pytest.approx(metrics.recall_score(labels, said))
        assert measured["f1"] == pytest.approx(metrics.f1_score(labels, said))
        assert measured["auc"] == pytest.approx(metrics.roc_auc_score(labels, margins[rows]))
        assert measured["average_precision"] == pytest.approx(metrics.average_precision_score(labels, margins[rows]))
    assert [summary["relations"][str(r)]["own_threshold"] for r in range(RELATIONS)] == [True, True, True, False]
    assert summary["relations"]["3"]["threshold"] == summary["global_threshold"]


def test_a_relation_with_one_class_has_nothing_that_json_cannot_hold() -> None:
    graph = labelled()
    assert graph.test_labels is not None
    one_class = replace(graph, test_labels=np.where(graph.test[:, 1] == 0, -1, graph.test_labels))
    summary = classify(on_a_line(), one_class).summary()
    assert summary["relations"]["0"]["auc"] is None
    assert summary["relations"]["0"]["average_precision"] is None
    assert summary["relations"]["0"]["recall"] is None
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_probabilities_come_from_the_margins_of_valid(method: Any) -> None:
    graph, model = labelled(), on_a_line()
    found = classify(model, graph, calibration=method)
    on_valid = classify(model, graph, "valid", calibration=method)
    assert found.calibrator == on_valid.calibrator == type(found.calibrator).fit(on_valid.margins, on_valid.labels)
    np.testing.assert_array_equal(found.probabilities, found.calibrator.probability(found.margins))
    calibration = found.summary()["calibration"]
    assert calibration["method"] == method
    assert calibration["brier"] == pytest.approx(np.mean((found.probabilities - (found.labels == 1)) ** 2))
    assert 0 < calibration["ece"] < 1


def test_without_calibration_there_are_no_probabilities() -> None:
    found = classify(on_a_line(), labelled(), calibration=None)
    assert found.probabilities is None
    assert found.summary()["calibration"] is None
    assert found.frame()["probability"].null_count == len(found.triples)


def test_valid_itself_comes_with_a_warning() -> None:
    found = classify(on_a_line(), labelled(), "valid")
    assert "thresholds and calibration were chosen on these very triples" in found.notes[0]
    best = accuracy(on_a_line(), labelled().valid, labelled().valid_labels)  # type: ignore[arg-type]
    assert found.summary()["accuracy"] == pytest.approx(best)
    assert classify(on_a_line(), labelled()).notes == ()


# ---------------------------------------------------------------------- a part of the split


def test_a_sample_is_a_part_of_the_split_with_an_interval() -> None:
    graph, model = labelled(), on_a_line()
    whole, part = classify(model, graph), classify(model, graph, limit=40, seed=3)
    summary = part.summary()
    assert (summary["n"], summary["estimate"]["population"]) == (40, 120)
    low, high = summary["estimate"]["accuracy_interval"]
    assert low < summary["accuracy"] < high
    assert part.thresholds == whole.thresholds
    assert {tuple(row) for row in part.triples.tolist()} <= {tuple(row) for row in graph.test.tolist()}
    np.testing.assert_array_equal(classify(model, graph, limit=40, seed=3).triples, part.triples)
    assert (classify(model, graph, limit=40, seed=4).triples != part.triples).any()
    assert "an estimate from 40 of 120" in part.notes[0]


def test_a_sample_as_large_as_the_split_is_no_estimate() -> None:
    graph, model = labelled(), on_a_line()
    assert classify(model, graph, limit=120).summary() == classify(model, graph).summary()
    assert classify(model, graph, limit=500).summary()["estimate"] is None


# ---------------------------------------------------------------------- drawn negatives


@pytest.fixture(scope="module")
def umls() -> KnowledgeGraph:
    return transa.load("umls")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_drawn_negatives_are_no_facts_of_any_split(umls: KnowledgeGraph, split: Any) -> None:
    found = LabelledTriples.of(umls, split, seed=1)
    size = len(umls.triples(split))
    assert found.sampled
    np.testing.assert_array_equal(found.labels, np.repeat([1, -1], size))
    np.testing.assert_array_equal(found.triples[:size], umls.triples(split))
    assert not umls.known().contains(found.triples[size:]).any()
    replaced = found.triples[size:] != found.triples[:size]
    assert not replaced[:, 1].any()
    assert (replaced[:, 0] ^ replaced[:, 2]).all()  # one side, and not both


def test_negatives_repeat_with_the_seed_and_change_with_it(umls: KnowledgeGraph) -> None:
    first, again, other = (LabelledTriples.of(umls, "test", seed).triples for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).mean() > 0.4  # of all rows, half are negatives


def test_the_side_is_chosen_as_the_training_triples_say() -> None:
    # In train, a head has 9 tails and a tail has 1 head: the head is replaced with probability 9/10. In valid it is the reverse.
    train = [[head, 0, 10 + 9 * head + tail] for head in range(10) for tail in range(9)]
    valid = [[100 + head, 0, 700] for head in range(600)]
    graph = KnowledgeGraph.from_ids(train, valid, entities=2000)
    found = LabelledTriples.of(graph, "valid")
    share = (found.triples[600:, 0] != found.triples[:600, 0]).mean()
    assert share == pytest.approx(0.9, abs=0.06)


def test_classification_says_that_negatives_were_drawn(umls: KnowledgeGraph) -> None:
    model = build("transe", len(umls.entities), len(umls.relations), 8).initialise(0)
    found = classify(model, umls, seed=5)
    summary = found.summary()
    assert (summary["sampled"], summary["seed"], summary["n"]) == (True, 5, 2 * len(umls.test))
    assert found.notes == ("valid and test have no labels: one false triple was drawn for each true one (seed 5)",)
    assert classify(model, umls, seed=5).summary() == summary
    assert classify(model, umls, seed=6).summary()["auc"] != summary["auc"]


@pytest.mark.parametrize(("name", "relations"), [("wn11", 11), ("fb13", 7)])
def test_labelled_negatives_are_used_as_given(benchmark_data: Path, name: str, relations: int) -> None:
    graph = transa.load(name)
    model = build("transe", len(graph.entities), len(graph.relations), 4).initialise(0)
    found = classify(model, graph)
    assert not found.sampled
    np.testing.assert_array_equal(found.triples, graph.test)
    np.testing.assert_array_equal(found.labels, graph.test_labels)
    assert len(found.thresholds) == len(found.summary()["relations"]) == relations


# ---------------------------------------------------------------------- decisions as a table

AWKWARD = ["plain", "with, comma", 'with "quotes"', "with\ttab", "with\nline"]


def awkward() -> KnowledgeGraph:
    rows = [(head, "r", tail) for head in AWKWARD for tail in AWKWARD if head < tail]
    marked = [(*row, "1" if position % 2 else "-1") for position, row in enumerate(rows)]
    return KnowledgeGraph.from_triples(rows[:3], marked, marked)


def test_every_decision_has_a_row() -> None:
    graph = awkward()
    found = classify(on_a_line(5, 1), graph)
    frame = found.frame()
    assert frame.column_names == ["head", "relation", "tail", "label", "score", "threshold", "decision", "probability"]
    for row, ids in zip(frame.to_pylist(), graph.test.tolist(), strict=True):
        assert (row["head"], row["relation"], row["tail"]) == (graph.entities[ids[0]], "r", graph.entities[ids[2]])
        assert row["decision"] == (1 if row["score"] < row["threshold"] else -1)
    assert frame["label"].to_pylist() == found.labels.tolist()
    assert frame["probability"].to_pylist() == found.probabilities.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".TSV", "\t")])
@pytest.mark.parametrize("calibration", ["isotonic", None])
def test_decisions_are_written_as_text(tmp_path: Path, suffix: str, delimiter: str, calibration: Any) -> None:
    found = classify(on_a_line(5, 1), awkward(), calibration=calibration)
    path = found.write(tmp_path / f"decisions{suffix}")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    expected = found.frame().to_pylist()
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected] == rows
    assert [float(row["score"]) for row in rows] == found.scores.tolist()


def test_decisions_are_written_as_parquet_and_only_replaced_on_request(tmp_path: Path) -> None:
    found = classify(on_a_line(5, 1), awkward())
    path = found.write(tmp_path / "decisions.parquet")
    assert pq.read_table(path).equals(found.frame())
    with pytest.raises(InputError, match="overwrite"):
        found.write(path)
    found.write(path, overwrite=True)
    with pytest.raises(InputError, match=r"'\.xlsx'; expected \.csv, \.tsv or \.parquet"):
        found.write(tmp_path / "decisions.xlsx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["decisions.parquet"]


# ---------------------------------------------------------------------- what cannot be classified


def without_numbers() -> Model:
    model = on_a_line()
    model.entity["vector"][7] = float("nan")
    return model


@pytest.mark.parametrize(
    ("model", "graph", "options", "message"),
    [
        (on_a_line, labelled, {"split": "train"}, "'test' or 'valid', found 'train'"),
        (on_a_line, labelled, {"seed": -1}, "seed"),
        (on_a_line, labelled, {"seed": 2**63}, "seed"),
        (on_a_line, labelled, {"limit": 0}, "limit: expected at least 1"),
        (on_a_line, labelled, {"calibration": "beta"}, "isotonic, platt, found 'beta'"),
        (without_numbers, labelled, {}, "nan, which cannot be compared"),
        (lambda: on_a_line(31), labelled, {}, "the model has 31 entities"),
        (lambda: on_a_line(3, 1), lambda: KnowledgeGraph.from_ids([[0, 0, 2]], test=[[0, 0, 1]]), {}, "no validation"),
        (lambda: on_a_line(3, 1), lambda: KnowledgeGraph.from_ids([[0, 0, 2]], [[0, 0, 1]]), {}, "no test triples"),
        (
            lambda: on_a_line(2, 1),
            lambda: KnowledgeGraph.from_ids([[0, 0, 0], [0, 0, 1]], [[1, 0, 0]], [[1, 0, 1]]),
            {},
            "valid has no labels, and no false triples can be drawn",
        ),
    ],
)
def test_what_cannot_be_classified_is_an_error(
    model: Callable[[], Model], graph: Callable[[], KnowledgeGraph], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        classify(model(), graph(), **options)


# ---------------------------------------------------------------------- estimators


def test_an_estimator_classifies() -> None:
    graph = transa.load("nations")
    model = transa.TransE(dim=8, epochs=3).fit(graph)
    found = model.classify(graph, "valid", seed=2, calibration="platt")
    assert model.classify(split="valid", seed=2, calibration="platt").summary() == found.summary()
    assert found.summary() == classify(model.model_, graph, "valid", seed=2, calibration="platt").summary()
    with pytest.raises(InputError, match="fit"):
        transa.TransE().classify(graph)


def test_thresholds_of_nothing_are_none_of_a_relation() -> None:
    own, overall = best_thresholds(np.empty((0, 3), np.int32), np.empty(0), np.empty(0, np.int8))
    assert (own, overall) == ({}, 0.0)
