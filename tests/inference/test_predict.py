"""Answers by name, in the right order and without the entity itself."""

from __future__ import annotations

import pytest
import torch

import transa
from transa.data import KnowledgeGraph
from transa.inference import Answers, Question, Trained, answer, explain
from transa.models import Model, build

GRAPH = KnowledgeGraph.from_triples([("a", "next", "b"), ("b", "next", "c")], None, [("c", "next", "d")])


def on_a_line():
    """Entities at 0, 1, 2, 3 and a relation that moves by one: the right answer is always the next."""
    model = build("transe", 4, 1, 1).initialise(0)
    model.entity["vector"] = torch.arange(4.0).unsqueeze(1)
    model.relation["vector"] = torch.ones(1, 1)
    return model


def predict(model: Model, graph: KnowledgeGraph, *, top: int = 10, **given: str) -> Answers:
    return answer(Trained(model, graph), [Question(**given)], top=top)[0]


def test_tails_and_heads_come_in_the_order_of_their_scores() -> None:
    tails = predict(on_a_line(), GRAPH, head="a", relation="next", top=3)
    assert [(answer.key, answer.score, answer.known) for answer in tails[:1]] == [("b", 0.0, True)]
    assert [answer.key for answer in tails[1:]] == ["c", "d"]
    heads = predict(on_a_line(), GRAPH, tail="d", relation="next", top=1)
    assert (heads[0].key, heads[0].known) == ("c", True)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"relation": "next"}, "two of head, relation and tail, .*; found relation$"),
        ({"relation": "next", "head": "a", "tail": "b"}, "found head, relation, tail$"),
        ({"relation": "nxt", "head": "a"}, "did you mean 'next'"),
        ({"relation": "next", "head": "z"}, "unknown entity 'z'"),
        ({"relation": "next", "head": "a", "top": 0}, "top"),
    ],
)
def test_wrong_questions_are_answered_with_what_is_wrong(question: dict[str, object], message: str) -> None:
    with pytest.raises(transa.InputError, match=message):
        predict(on_a_line(), GRAPH, **question)  # type: ignore[arg-type]


def test_the_example_of_the_readme() -> None:
    kg = transa.load("umls")
    model = transa.TransA(dim=20, epochs=10).fit(kg)
    assert model.evaluate(kg).summary()["both"]["mrr"] > 0.3
    assert len(model.predict(head="virus", relation="causes")) == 10
    assert repr(model) == "TransA(dim=20, epochs=10)"


def in_one_place() -> Model:
    """A model whose relation moves nothing: every entity is nearest to itself."""
    model = on_a_line()
    model.relation["vector"] = torch.zeros(1, 1)
    return model


@pytest.mark.parametrize("given", [{"head": "b"}, {"tail": "b"}])
def test_an_entity_is_no_answer_to_itself(given: dict[str, str]) -> None:
    found = predict(in_one_place(), GRAPH, relation="next", **given)
    assert {each.key for each in found} == {"a", "c", "d"}


def test_an_entity_answers_itself_where_train_has_such_triples_of_the_relation() -> None:
    graph = KnowledgeGraph.from_triples([("a", "next", "b"), ("b", "next", "c"), ("d", "next", "d")])
    found = predict(in_one_place(), graph, head="b", relation="next", top=1)
    assert (found[0].key, found[0].known) == ("b", False)


def test_a_known_triple_from_an_entity_to_itself_stays_visible() -> None:
    graph = KnowledgeGraph.from_triples([("a", "next", "b"), ("b", "next", "c")], None, [("d", "next", "d")])
    trained = Trained(in_one_place(), graph)
    ours, other = answer(trained, [Question("d", "next"), Question("a", "next")])
    assert (ours[0].key, ours[0].known) == ("d", True)
    assert "a" not in {each.key for each in other}
    assert "d" not in {each.key for each in answer(trained, [Question("d", "next")], new_only=True)[0]}


def test_the_answers_of_an_explanation_leave_the_entity_out_too() -> None:
    found = explain(Trained(in_one_place(), GRAPH), "b", "next", "c")
    assert {each.key for each in found.answers} == {"a", "c", "d"}


def test_the_types_of_a_graph_say_what_is_in_range() -> None:
    entities = GRAPH.entities.typed(types={"b": ["even"], "d": ["even"], "c": ["odd"]})
    typed = KnowledgeGraph(
        entities, GRAPH.relations.typed(ranges={"next": ["even"]}), GRAPH.train, GRAPH.valid, GRAPH.test
    )

    def tails(graph: KnowledgeGraph, side: str = "head") -> list[str]:
        question = Question("c", "next") if side == "head" else Question(None, "next", "c")
        return sorted(each.key for each in answer(Trained(on_a_line(), graph), [question], top=9, in_range=True)[0])

    assert tails(GRAPH) == ["b"]  # train has b and c there, and c is no answer to itself
    assert tails(typed) == ["a", "b", "d"]  # a has no type, and fits everywhere
    assert tails(typed, "tail") == tails(GRAPH, "tail") == ["a", "b"]  # nothing is said of heads
