"""Predictions by name, and the estimators that give them."""

from __future__ import annotations

import pytest
import torch

import transa
from transa.data import KnowledgeGraph
from transa.inference import predict
from transa.models import build

GRAPH = KnowledgeGraph.from_triples([("a", "next", "b"), ("b", "next", "c")], None, [("c", "next", "d")])


def on_a_line():
    """Entities at 0, 1, 2, 3 and a relation that moves by one: the right answer is always the next."""
    model = build("transe", 4, 1, 1).initialise(0)
    model.entity["vector"] = torch.arange(4.0).unsqueeze(1)
    model.relation["vector"] = torch.ones(1, 1)
    return model


def test_tails_and_heads_come_in_the_order_of_their_scores() -> None:
    tails = predict(on_a_line(), GRAPH, head="a", relation="next", top=3)
    assert [(answer.key, answer.score, answer.known) for answer in tails[:1]] == [("b", 0.0, True)]
    assert {answer.key for answer in tails[1:]} == {"a", "c"}
    heads = predict(on_a_line(), GRAPH, tail="d", relation="next", top=1)
    assert (heads[0].key, heads[0].known) == ("c", True)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"relation": "next"}, "head or a tail"),
        ({"relation": "next", "head": "a", "tail": "b"}, "not both"),
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
    assert "trained" in repr(model)


def test_an_untrained_estimator_says_so() -> None:
    with pytest.raises(transa.InputError, match="fit"):
        transa.TransE().predict(head="virus", relation="causes")
    with pytest.raises(transa.InputError, match="unknown setting"):
        transa.TransE(dimension=3)
