"""Which triples rules reach, and how rules alone rank them, beside enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import transa
from tests.rules.brute import Graph, confidences
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import evaluate
from transa.models import build
from transa.rules import Mining, QuickRules, mine
from transa.rules.quick import REACHED


def some_graph(seed: int) -> KnowledgeGraph:
    """Relation 1 repeats relation 0 the other way round; the rest is drawn, and test has loops."""
    draw = np.random.default_rng(seed)
    rows = np.stack([draw.integers(0, size, 70) for size in (10, 3, 10)], axis=1)
    rows[rows[:, 1] > 0, 1] += 1
    back = rows[rows[:, 1] == 0][:, ::-1].copy()
    back[:, 1] = 1
    every = np.concatenate([rows, back])[draw.permutation(len(rows) + len(back))]
    return KnowledgeGraph.from_ids(every[:-24], every[-24:-14], every[-14:], entities=10, relations=4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("small", [0.0, np.inf])
def test_what_is_reached_is_what_enumeration_reaches(seed: int, small: float) -> None:
    graph = some_graph(seed)
    rules = QuickRules.of(graph, small=small)
    assert rules.all_forms == (small > 0)
    facts = Graph(graph)
    one = mine(graph, Mining(length=1, constants=False)).rules
    every = mine(graph).rules if small else one
    for split in ("valid", "test"):
        triples = graph.positives(split)  # type: ignore[arg-type]
        expected = []
        for head, relation, tail in triples.tolist():
            speaking = [bool(confidences(facts, some, head, relation, tail)) and head != tail for some in (one, every)]
            expected.append("one_atom" if speaking[0] else "other" if speaking[1] else "none")
        assert [REACHED[place] for place in rules.reached(triples)] == expected
        counts = rules.report()["reached"][split]
        assert counts == {name: expected.count(name) for name in REACHED}


def test_figures_are_split_by_what_reaches_a_triple() -> None:
    graph = some_graph(0)
    found = evaluate(build("transe", 10, 4, 2).initialise(0), graph, rules=True)
    assert found.rules_alone is not None
    report = found.report()["rules_alone"]
    rules = transa.Rules(aggregation="maximum").fit(graph)
    ranks = rules.evaluate().ranks()
    assert report["both"]["filtered"]["mrr"] == pytest.approx(float((1 / ranks).mean()))
    groups = np.array(REACHED)[found.rules_alone.reached]
    assert sum(some["share"] for some in report["reached"].values()) == pytest.approx(1)
    for name, some in report["reached"].items():
        rows = groups == name
        assert some["n"] == rows.sum() > 0
        assert some["tail"]["filtered"]["mr"] == pytest.approx(float(found.ranks()[rows, 1].mean()))
        assert some["rules_alone"]["head"]["filtered"]["mr"] == pytest.approx(float(ranks[rows, 0].mean()))


def test_rules_are_mined_only_if_they_are_wanted() -> None:
    graph = some_graph(0)
    model = build("transe", 10, 4, 2).initialise(0)
    found = evaluate(model, graph)
    assert found.rules_alone is None
    assert found.report()["rules_alone"] is None
    bare = KnowledgeGraph.from_ids([], [], graph.test, entities=10, relations=4)
    with pytest.raises(InputError, match="no training triples"):
        evaluate(model, bare, rules=True).report()


def test_a_limit_of_time_is_told() -> None:
    assert QuickRules.of(some_graph(0)).complete
    assert not QuickRules.of(some_graph(0), minutes=1e-9).complete


def test_one_atom_rules_alone_answer_what_repeats_itself(benchmark_data) -> None:
    graph = transa.load("wn18")
    rules = QuickRules.of(graph)
    assert not rules.all_forms
    reached = rules.report()["reached"]["test"]
    assert reached["one_atom"] / 5000 == pytest.approx(0.94, abs=0.005)
    linked = {frozenset(pair) for pair in graph.train[:, [0, 2]].tolist()}
    for (head, _, tail), group in zip(graph.test.tolist(), rules.reached(graph.test), strict=True):
        assert group == 2 or frozenset((head, tail)) in linked
