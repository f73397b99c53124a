"""Reasons for people: entities alike with the same fact, shared facts, paths, a sentence; dimensions last."""

from __future__ import annotations

import json
from itertools import pairwise, permutations

import numpy as np
import pytest
import torch

from transa.data import KnowledgeGraph
from transa.inference import Trained, explain
from transa.inference.explanation_text import in_words, views
from transa.inference.paths import BUDGET, Adjacency
from transa.models import build

FILMS = [
    *((f"film{i}", "made_by", "studio") for i in range(4)),
    *((f"film{i}", "has_genre", "western") for i in range(1, 4)),
    *((f"actor{i}", "acted_in", f"film{i % 4}") for i in range(8)),
    ("actor1", "acted_in", "film0"),
    ("film4", "has_genre", "western"),
]


def films(model: str = "transe", **options: object) -> Trained:
    graph = KnowledgeGraph.from_triples(FILMS)
    built = build(model, len(graph.entities), len(graph.relations), 3, **options).initialise(0)
    places = {"film": 0.0, "stud": 5.0, "west": 9.0, "acto": -5.0}
    vectors = [
        [places[key[:4]] + 0.1 * int(key[-1]) * (key[-1].isdecimal()), 0.0, 0.0]
        if key[-1].isdecimal()
        else [places[key[:4]], 0.0, 0.0]
        for key in graph.entities
    ]
    built.entity["vector"] = torch.tensor(vectors)
    built.relation["vector"] = torch.zeros(len(graph.relations), 3)
    return Trained(built, graph)


def test_similar_entities_have_the_same_fact_and_share_others() -> None:
    found = explain(films(), "film0", "has_genre", "western", top=3)
    assert [each.key for each in found.like_head] == ["film1", "film2", "film3"]  # the nearest first
    first = found.like_head[0]
    assert (first.nearness, first.shared) == (1, 2)
    assert [str(fact) for fact in first.facts] == [
        "actor1 —acted_in→ film0",
        "film0 —made_by→ studio",
    ]  # rare ones first
    assert found.like_tail == ()
    assert found.sentence.startswith("film0 —has_genre→ western is not in the graph, and the model gives it rank ")
    assert "film1, film2 and film3, similar to film0, have the same genre" in found.sentence


def test_similar_tails_are_those_that_the_head_has() -> None:
    graph = KnowledgeGraph.from_triples(
        [("a", "likes", "b"), ("a", "likes", "c"), ("d", "likes", "c")], [("a", "likes", "e")]
    )
    model = build("transe", 5, 1, 1).initialise(0)
    model.entity["vector"] = torch.arange(5.0)[:, None]
    found = explain(Trained(model, graph, calibrated=False), "a", "likes", "d")
    assert {each.key for each in found.like_tail} == {"b", "c"}  # e is not in train
    assert "a has likes to" in found.sentence


def test_paths_lead_through_shared_neighbours_and_name_their_direction() -> None:
    found = explain(films(), "film0", "has_genre", "western", top=2)
    texts = [str(each) for each in found.paths]
    assert texts[0] == "film0 ←acted_in— actor1 —acted_in→ film1 —has_genre→ western"
    assert all(text.startswith("film0 ") and text.endswith(" western") for text in texts)
    assert found.paths[0].forward == (False, True, True)
    known = explain(films(), "film1", "has_genre", "western", top=2)
    assert all(str(each) != "film1 —has_genre→ western" for each in known.paths)  # the triple is no reason for itself


@pytest.mark.parametrize("seed", range(4))
def test_paths_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    triples = np.stack([rng.integers(0, 9, 14), rng.integers(0, 2, 14), rng.integers(0, 9, 14)], axis=1).astype(
        np.int32
    )
    adjacency = Adjacency.of(triples, 9, 2)
    pairs = {(int(h), int(t)) for h, _, t in triples if h != t}
    linked = pairs | {(t, h) for h, t in pairs}
    for head, tail in permutations(range(9), 2):
        found = adjacency.paths(head, 0, tail, 1000)
        for steps in found:
            assert steps[0][0] == head and steps[-1][2] == tail
            assert all(one[2] == two[0] for one, two in pairwise(steps))
            assert len({head, *(step[2] for step in steps)}) == len(steps) + 1  # no entity twice
            for here, edge, there in steps:
                triple = [here, edge, there] if edge < 2 else [there, edge - 2, here]
                assert (triples == triple).all(axis=1).any() and triple != [head, 0, tail]
        others = [each for each in range(9) if each not in (head, tail)]
        two = {(head, x, tail) for x in others if {(head, x), (x, tail)} <= linked}
        three = {(head, x, y, tail) for x, y in permutations(others, 2) if {(head, x), (x, y), (y, tail)} <= linked}
        chains = [(head, *(step[2] for step in steps)) for steps in found if len(steps) > 1]
        assert set(chains) == two | three and len(chains) == len(two | three)
        assert [len(steps) for steps in found] == sorted(len(steps) for steps in found)


def test_hubs_do_not_make_the_search_for_paths_long() -> None:
    many = 3 * BUDGET
    hub = np.stack([np.zeros(many), np.zeros(many), np.arange(4, many + 4)], axis=1)
    rest = np.array([[1, 0, 0], [1, 0, 2], [2, 0, 3]])
    adjacency = Adjacency.of(np.concatenate([hub, rest]).astype(np.int32), many + 4, 1)
    assert [[step[2] for step in steps] for steps in adjacency.paths(1, 0, 3, 5)] == [[2, 3]]
    assert adjacency.paths(1, 0, many, 5)[0][0] == (1, 0, 0)


def test_a_metric_of_rank_one_is_told_in_words_and_never_as_one_bar() -> None:
    one = films("transa", metric="full")
    one.model.relation["metric"][:] = torch.ones(3, 3)  # W = 1 1^T
    one.model.entity["vector"] += torch.tensor([[0.0, 1.0, 2.0]]) * torch.arange(len(one.graph.entities))[:, None]
    found = explain(one, "film0", "has_genre", "western")
    assert found.transformed is not None and found.dimensions()[0]["part"] == pytest.approx(found.parts.total)
    assert len(views(found)) == 1 and len(in_words(found)) == 1
    shown = [each for each in found.tables() if each.title.startswith("What carries the score")]
    assert len(shown) == 1 and "100.0%" not in str(shown[0])
    assert "nearly all in one direction" in str(found)


def test_reasons_come_first_and_dimensions_last_in_tables_and_json() -> None:
    found = explain(films("transa", metric="diagonal"), "film0", "has_genre", "western")
    titles = [each.title for each in found.tables()]
    assert titles[0] == "Similar to film0, with has_genre to western"
    assert titles[1] == "Paths from film0 to western"
    report = json.loads(json.dumps(found.report(), allow_nan=False))
    assert next(iter(report)) == "sentence" and report["sentence"] == found.sentence
    assert [each["key"] for each in report["like_head"]] == [each.key for each in found.like_head]
    assert [each["text"] for each in report["paths"]] == [str(each) for each in found.paths]
    assert list(report).index("like_head") < list(report).index("paths") < list(report).index("dimensions")


def test_another_answer_to_a_question_that_has_one_speaks_against_a_triple() -> None:
    products = [(f"p{i}", "has category", f"c{i % 3}") for i in range(20)]
    graph = KnowledgeGraph.from_triples(
        [*products, ("p0", "has category", "c1"), ("p1", "sold in", "x"), ("p1", "sold in", "y")]
    )
    one = Trained(build("transe", len(graph.entities), 2, 2).initialise(0), graph)
    found = explain(one, "p2", "has category", "c0")
    (reason,) = found.against
    assert (reason.side, reason.key, reason.single, reason.questions) == ("tail", "c2", 19, 20)
    said = "p2 already has category c2; 19 of 20 heads of this relation have one tail"
    assert said in found.sentence and found.report()["against"][0]["name"] == "c2"
    assert "has has" not in str(found) and "as well" not in found.sentence
    for fact in (("p0", "has category", "c0"), ("p1", "sold in", "p2"), ("c0", "has category", "c1")):
        assert explain(one, *fact).against == ()  # known; too few to tell; nothing known of the head
    backwards = KnowledgeGraph.from_triples([(tail, "of", head) for head, _, tail in products])
    (reason,) = explain(Trained(build("transe", 23, 1, 2).initialise(0), backwards), "c0", "of", "p1").against
    assert (reason.side, reason.key) == ("head", "c1")


def test_without_reasons_the_sentence_says_so() -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("c", "s", "d")])
    one = Trained(build("transe", 4, 2, 2).initialise(0), graph)
    assert explain(one, "a", "s", "c").sentence.endswith(
        "no similar entity has this fact, and no short path leads from one to the other."
    )
