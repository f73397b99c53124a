"""What probabilities of answers mean, and where there are none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from transa import TransE, load_model
from transa.data import KnowledgeGraph
from transa.data.graph import Triples
from transa.evaluation.calibration import best_calibrator
from transa.evaluation.logistic import Logistic
from transa.inference import Question, Trained, answer, check, discover, explain, extend, held_out_questions
from transa.inference.answer_counts import AnswerCounts
from transa.inference.trained import FALSE
from transa.models import build
from transa.training import recipe_from

PRODUCTS, CATEGORIES, MAKERS = 400, 8, 20
RECIPE = recipe_from({"model": "transe", "dim": 2, "negatives": 2})


def shop(wrong: float = 0.2) -> tuple[Trained, Triples]:
    """Each product has exactly one category and one maker. A model that is mostly right, and facts that the graph does not hold."""
    random = np.random.default_rng(0)
    category = random.integers(0, CATEGORIES, PRODUCTS)
    maker = random.integers(0, MAKERS, PRODUCTS)
    products = np.arange(PRODUCTS)
    kinds, makers = PRODUCTS + category, PRODUCTS + CATEGORIES + maker
    rows = np.concatenate([np.stack([products, np.full(PRODUCTS, r), t], 1) for r, t in enumerate((kinds, makers))])
    rows = rows[random.permutation(len(rows))].astype(np.int32)
    size = PRODUCTS + CATEGORIES + MAKERS
    graph = KnowledgeGraph.from_ids(rows[:640], rows[640:720], entities=size, relations=["category", "made_by"])
    model = build("transe", size, 2, 2, norm=2).initialise(0)
    places = torch.zeros(size, 2)
    shown = np.where(random.random(PRODUCTS) < wrong, random.integers(0, CATEGORIES, PRODUCTS), category)
    places[:PRODUCTS] = torch.from_numpy(np.stack([shown, maker], 1) + random.normal(0, 0.1, (PRODUCTS, 2)))
    places[PRODUCTS : PRODUCTS + CATEGORIES, 0] = torch.arange(float(CATEGORIES)) + 100
    places[PRODUCTS + CATEGORIES :, 1] = torch.arange(float(MAKERS)) + 100
    model.entity["vector"] = places
    model.relation["vector"] = torch.tensor([[100.0, 0.0], [0.0, 100.0]])
    return Trained(model, graph, RECIPE), rows[720:]


def best_new(one: Trained, heads: np.ndarray, relation: str) -> tuple[np.ndarray, np.ndarray]:
    """The best new tails of some heads, and their probabilities."""
    found = answer(one, [Question(str(head), relation) for head in heads], top=1, new_only=True)
    seen = [each[0] for each in found if each[0].probability is not None]  # some products have no training triple
    assert len(seen) > len(found) / 2
    return np.array([int(each.key) for each in seen]), np.array([each.probability for each in seen])


def test_a_second_answer_of_a_functional_relation_is_improbable_and_a_first_one_is_not() -> None:
    one, hidden = shop()
    known = one.graph.known().tails.queries
    answered = np.unique(known[known % 2 == 0] // 2)
    _, chances = best_new(one, answered[:150], "category")
    assert chances.mean() < 0.05
    asked = hidden[(hidden[:, 1] == 0) & one.seen[0][hidden[:, 0]]]
    found, chances = best_new(one, asked[:, 0], "category")
    right = float((found == asked[:, 2]).mean())
    assert right > 0.6  # so there is something to be sure of
    assert abs(chances.mean() - right) < 0.15


def test_probabilities_are_never_0_or_1_and_discoveries_fall() -> None:
    one, _ = shop()
    chances = [each.probability for each in discover(one, top=200).checked]
    assert all(chance is not None and 0 < chance < 1 for chance in chances)
    assert chances == sorted(chances, reverse=True)  # type: ignore[type-var]
    assert "as valid holds" in one.notes[0]


def test_a_question_has_the_same_probability_wherever_it_is_asked() -> None:
    one, _ = shop()
    (found,) = answer(one, [Question("3", "category")], top=4)
    checked = check(one, [("3", "category", each.key) for each in found]).checked
    assert [each.probability for each in found] == pytest.approx([each.probability for each in checked])
    facts = discover(one, top=5).checked
    assert [each.probability for each in check(one, [(e.head, e.relation, e.tail) for e in facts]).checked] == [
        each.probability for each in facts
    ]


# ---------------------------------------------------------------------- labelled false


def labelled() -> Trained:
    """The shop, where some triples of valid and test are labelled false."""
    one, hidden = shop()
    graph = one.graph
    false = np.array([[product, 0, PRODUCTS + CATEGORIES - 1] for product in range(40)], np.int32)
    false = false[~graph.known().contains(false)]
    valid, test = np.concatenate([graph.valid, false[:20]]), np.concatenate([hidden, false[20:]])
    graph = replace(
        graph,
        valid=valid,
        test=test,
        valid_labels=np.array([1] * len(graph.valid) + [-1] * 20, np.int8),
        test_labels=np.array([1] * len(hidden) + [-1] * (len(false) - 20), np.int8),
    )
    return Trained(one.model, graph, RECIPE)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_what_the_graph_labels_false_is_never_new(split: str) -> None:
    one = labelled()
    labels = one.graph.labels(split)  # type: ignore[arg-type]
    head, _, tail = (str(each) for each in one.graph.triples(split)[labels == -1][0])  # type: ignore[arg-type]
    for question, key in ((Question(head, "category"), tail), (Question(None, "category", tail), head)):
        whole = {each.key: each for each in answer(one, [question], top=1000)[0]}
        assert (whole[key].note, whole[key].known, whole[key].probability) == (FALSE, False, None)
        assert key not in {each.key for each in answer(one, [question], top=1000, new_only=True)[0]}
    assert "category" in {each.key for each in answer(one, [Question(head, None, tail)])[0]}
    assert "category" not in {each.key for each in answer(one, [Question(head, None, tail)], new_only=True)[0]}
    (checked,) = check(one, [(head, "category", tail)]).checked
    assert (checked.note, checked.probability) == (FALSE, None)
    assert explain(one, head, "category", tail).triple.note == FALSE
    assert check(one, [(head, "category", tail)]).below(0.001)[0].note == FALSE
    new = {(each.head, each.relation, each.tail) for each in discover(one, top=100_000, each=100).checked}
    assert new and (head, "category", tail) not in new


def test_no_label_of_test_reaches_a_probability() -> None:
    one = labelled()
    assert one.graph.test_labels is not None
    other = Trained(one.model, replace(one.graph, test_labels=np.ones(len(one.graph.test), np.int8)), RECIPE)
    gone = Trained(one.model, replace(one.graph, test=one.graph.test[:0], test_labels=None), RECIPE)
    assert one.confidence == other.confidence == gone.confidence


def test_a_check_of_a_labelled_graph_says_that_it_goes_by_labels() -> None:
    one, plain = labelled(), shop()[0]
    assert one.confidence is not None and one.confidence.calibrator is not None
    assert "labelled" in one.notes_on_checks[0] and "80% are true" in one.notes_on_checks[0]
    assert plain.notes_on_checks == plain.notes
    chances = [
        each.probability for each in check(one, [("3", "category", str(PRODUCTS + i)) for i in range(7)]).checked
    ]
    assert all(chance is None or 0 < chance < 1 for chance in chances)


# ---------------------------------------------------------------------- never trained


def test_there_is_no_probability_for_what_was_never_trained() -> None:
    one, _ = shop()
    graph = KnowledgeGraph.from_ids(
        one.graph.train,
        np.concatenate([one.graph.valid, [[0, 2, 1], [len(one.graph.entities), 0, PRODUCTS]]]),
        entities=len(one.graph.entities) + 1,
        relations=["category", "made_by", "unused"],
    )
    model = build("transe", len(graph.entities), 3, 2).initialise(0)
    stranger = Trained(model, graph, RECIPE)
    new = str(len(graph.entities) - 1)
    for question in (Question(new, "category"), Question("0", "unused")):
        for each in answer(stranger, [question], top=5)[0]:
            assert each.probability is None and each.note is not None and "no probability" in each.note
    found = {each.key: each for each in answer(stranger, [Question(None, "category", str(PRODUCTS))], top=1000)[0]}
    assert found[new].probability is None and found["1"].probability is not None
    assert f"no probability: {new} has no training triple" == found[new].note
    checked = check(stranger, [("0", "unused", "1"), ("0", "category", str(PRODUCTS))])
    assert [each.probability is None for each in checked.checked] == [True, False]
    assert "train has no triple of the relation unused" in checked.notes[0]


def test_an_entity_that_is_linked_to_nothing_known_has_no_probability(tmp_path: Path) -> None:
    one, _ = shop()
    model = TransE()._fitted(one)
    triples = [("a", "category", "b"), ("c", "category", str(PRODUCTS)), ("d", "made_by", "e"), ("c", "made_by", "e")]
    grown = model.extend(triples, steps=1)
    assert [grown.graph_.entities[each] for each in grown.trained_.loose] == ["a", "b"]
    for kept in (grown, load_model(grown.save(tmp_path / "run"))):
        chances = {name: kept.predict(head=name, relation="made_by")[0] for name in "acd"}
        assert chances["a"].probability is None and "linked to nothing" in str(chances["a"].note)
        assert chances["c"].probability is not None and chances["d"].probability is not None
    later = extend(grown.trained_, [("a", "made_by", "c")], steps=1).trained
    assert later.loose == ()
    folder = tmp_path / "run" / "extension.json"
    folder.write_text(json.dumps({"loose": ["nobody", 3]}))
    assert load_model(tmp_path / "run").trained_.loose == ()


# ---------------------------------------------------------------------- the parts


def test_the_share_of_questions_with_more_answers_is_counted() -> None:
    rows = [
        (0, 0, 5),
        (0, 0, 6),
        (1, 0, 5),
        (2, 0, 5),
        (2, 0, 6),
        (2, 0, 7),
        (0, 1, 9),
        (1, 1, 9),
        (2, 1, 9),
        (3, 1, 9),
    ]
    graph = KnowledgeGraph.from_ids(rows, entities=10, relations=2)
    counts = AnswerCounts(graph.training_facts)
    heads, relation = np.array([0, 1, 3, 4]), np.zeros(4, int)
    found = counts.more("tail", heads, relation, np.array([2, 1, 0, 0]))
    # Three heads have 1, 2 and 3 tails, too few for larger counts than the smallest. Of the four heads of relation 1, three have 0.
    assert found == pytest.approx([(2 + 0.5) / 4, (2 + 0.5) / 4, 3 / 5, 0.001])


def test_offsets_follow_large_groups_and_are_shrunk_for_small_ones() -> None:
    random = np.random.default_rng(0)
    groups = np.concatenate([np.zeros(2000, int), np.ones(2000, int), np.full(2, 2)])
    rates = np.array([0.1, 0.7, 0.5])
    labels = random.random(len(groups)) < rates[groups]
    labels[-2:] = True
    columns = random.normal(size=(len(groups), 2))
    found = Logistic.fit(columns, labels, np.ones(len(groups)), groups, np.arange(len(groups)))
    chances = 1 / (1 + np.exp(-found.logits(np.zeros((3, 2)), np.arange(3))))
    assert chances[:2] == pytest.approx(rates[:2], abs=0.03)
    assert 0.3 < chances[2] < 0.9  # two true rows say little
    assert Logistic.from_dict(json.loads(json.dumps(found.to_dict())), 2) == found


def test_few_labels_that_a_threshold_separates_take_the_smooth_curve() -> None:
    margins = np.linspace(-1, 1, 56)
    noisy = np.where(np.random.default_rng(0).random(56) < 1 / (1 + np.exp(-3 * margins)), 1, -1)
    assert best_calibrator(margins, noisy).method == "platt"
    many = np.linspace(-1, 1, 4000)
    steps = np.where(np.random.default_rng(0).random(4000) < np.where(np.abs(many) < 0.5, 0.5, many > 0), 1, -1)
    assert best_calibrator(many, steps).method == "isotonic"


def likes(people: int = 400, topics: int = 40) -> tuple[Trained, Triples]:
    """People and topics on a line: who stands near a topic mostly likes it. A model that knows where, and facts beyond the graph."""
    random = np.random.default_rng(0)
    at = random.uniform(0, topics, people)
    distance = np.abs(at[:, None] - np.arange(topics))
    head, topic = np.nonzero(random.random(distance.shape) < 1 / (1 + np.exp(2 * (distance - 4))))
    rows = np.stack([head, np.zeros(len(head), int), people + topic], 1)[random.permutation(len(head))].astype(np.int32)
    half, quarter = len(rows) // 2, len(rows) // 4
    size = people + topics
    graph = KnowledgeGraph.from_ids(rows[:half], rows[half : half + quarter], entities=size, relations=["likes"])
    model = build("transe", size, 1, 2, norm=2).initialise(0)
    model.entity["vector"] = torch.from_numpy(
        np.stack([np.concatenate([at, np.arange(topics)]), [0.0] * people + [50.0] * topics], 1).astype(np.float32)
    )
    model.relation["vector"] = torch.tensor([[0.0, 50.0]])
    return Trained(model, graph, RECIPE), rows[half + quarter : half + 2 * quarter]


def test_the_most_probable_of_all_answers_are_as_often_true_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("MOST", "LEAST"):
        monkeypatch.setattr(held_out_questions, bound, 10)  # as if there were many more questions than are drawn
    one, hidden = likes()
    found = discover(one, top=500)
    truth = set(map(tuple, hidden.tolist()))
    true = [(one.entities.id(e.head), 0, one.entities.id(e.tail)) in truth for e in found]
    said = np.array([each.probability for each in found])
    for part in np.split(np.arange(500), 5):
        assert abs(said[part].mean() - np.mean([true[row] for row in part])) < 0.1
