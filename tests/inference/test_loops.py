"""Questions to a model with a loop prior: an entity is no answer to itself, and everyone is told why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from transa import load_model
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.inference import Question, Trained, answer, check, discover, doubtful, explain, export, extend
from transa.models import build
from transa.models.loop_prior import loop_free_relations
from transa.training import RunFolder, recipe_from

#: `near` has one loop among its triples, which is rare here; `same` is full of them.
NEAR = [(f"e{i}", "near", f"e{i + 1}") for i in range(7)]
SAME = [(f"e{i}", "same", f"e{i}") for i in range(6)]
GRAPH = KnowledgeGraph.from_triples(
    [*NEAR[:6], ("e0", "near", "e0"), *SAME[:4]],
    [NEAR[6], SAME[4]],
    [("e7", "near", "e6"), SAME[5]],
)
RECIPE = recipe_from({"model": "transe", "dim": 1, "loop_limit": 0.2, "negatives": 2})


def trained(valid: bool = True, prior: bool = True) -> Trained:
    """Entities on a line, and relations that move nothing: every entity is nearest to itself."""
    graph = GRAPH if valid else replace(GRAPH, valid=GRAPH.valid[:0])
    model = build("transe", len(graph.entities), 2, 1).initialise(0)
    places = [float(key[1:]) for key in graph.entities]
    model.entity["vector"] = torch.tensor(places)[:, None]
    model.relation["vector"] = torch.zeros(2, 1)
    near = graph.relations.id("near")
    model.loop_free = torch.tensor([relation == near for relation in range(2)]) if prior else None
    return Trained(model, graph, RECIPE)


def kept(path: Path) -> Path:
    folder, one = RunFolder(path), trained()
    path.mkdir(parents=True)
    folder.write_start(one.graph, RECIPE, source=None, engine="numba")
    folder.write_tensors("weights.safetensors", one.model.tensors())
    return path


@pytest.mark.parametrize("given", [{"head": "e0"}, {"tail": "e0"}, {"head": "e3"}])
def test_predict_never_names_the_entity_itself_even_if_the_graph_does(given: dict[str, str]) -> None:
    asked = Question(relation="near", **given)
    (found,) = answer(trained(), [asked], top=20)
    assert len(found) == 7 and next(iter(given.values())) not in {each.key for each in found}
    (plain,) = answer(trained(), [asked], top=20, loop_prior=False)
    assert plain[0].key == next(iter(given.values())) and len(plain) == 8
    (same,) = answer(trained(), [Question("e3", "same")], top=1)
    assert same[0].key == "e3"


def test_without_the_rule_a_model_that_has_no_prior_may_name_the_entity_too() -> None:
    graph = KnowledgeGraph.from_triples([*NEAR, *SAME], None, None)
    one = Trained(replace(trained(prior=False)).model, graph)
    assert answer(one, [Question("e3", "near")])[0][0].key != "e3"
    assert answer(one, [Question("e3", "near")], loop_prior=False)[0][0].key == "e3"


def test_a_barred_relation_is_no_answer_between_an_entity_and_itself() -> None:
    asked = Question(head="e3", tail="e3")
    assert [each.key for each in answer(trained(), [asked])[0]] == ["same"]
    assert {each.key for each in answer(trained(), [asked], loop_prior=False)[0]} == {"same", "near"}
    assert [each.key for each in answer(trained(), [asked], new_only=True)[0]] == []


@pytest.mark.parametrize("valid", [True, False])
def test_check_calls_a_barred_loop_false_and_says_why(valid: bool) -> None:
    found = check(
        trained(valid), [("e0", "near", "e0"), ("e3", "near", "e3"), ("e3", "near", "e4"), ("e3", "same", "e3")]
    )
    known, new, other, same = found.checked
    for barred in (known, new):
        assert (barred.decision, barred.probability, barred.score) == (False, None, 0.0)
        assert barred.note == "an entity is no answer to itself in near (loops in train: 1 of 7 triples)"
    assert (known.known, new.known) == (True, False)
    assert other.note is None and same.note is None
    assert (same.decision, same.probability is None) == ((True, False) if valid else (None, True))
    assert found.notes == (known.note,)
    assert found.frame()["note"].null_count == 2
    json.dumps(found.rows(), allow_nan=False)


def test_explain_says_so_in_words_and_ranks_the_entity_last() -> None:
    found = explain(trained(), "e3", "near", "e3", top=3)
    assert found.triple.note is not None and found.triple.decision is False
    assert (found.head_rank.raw, found.tail_rank.raw) == (8, 8)
    assert "e3" not in {each.key for each in found.answers}
    report = json.loads(json.dumps(found.report(), allow_nan=False))
    assert report["note"] == found.triple.note


def test_discover_finds_no_loop_unless_asked_to() -> None:
    def loops(one: Trained, **options: bool) -> set[str]:
        found = discover(one, relations=["near"], **options)  # type: ignore[arg-type]
        json.dumps(found.rows(), allow_nan=False)
        return {each.head for each in found.checked if each.head == each.tail}

    assert loops(trained()) == set()
    assert loops(trained(), loop_prior=False) == {f"e{i}" for i in range(1, 6)}  # e0 is known
    assert loops(trained(prior=False)) == set()  # one loop in train, which may be an accident, is no reason for others
    assert loops(trained(prior=False), loop_prior=False) == {f"e{i}" for i in range(1, 6)}


def with_loops(near: int, prior: float) -> Trained:
    """A hundred triples of `near`, some of them loops, and `same`, which has nothing else; no relation moves anything."""
    triples = [(f"e{i}", "near", f"e{i if i < near else (i + 1) % 100}") for i in range(100)]
    graph = KnowledgeGraph.from_triples([*triples, *((f"e{i}", "same", f"e{i}") for i in range(0, 100, 2))])
    model = build("transe", 100, 2, 1).initialise(0)
    model.entity["vector"] = torch.tensor([float(key[1:]) for key in graph.entities])[:, None]
    model.relation["vector"] = torch.zeros(2, 1)
    model.loop_free = loop_free_relations(graph.train, 2, prior) if prior else None
    return Trained(model, graph, RECIPE)


@pytest.mark.parametrize("near", [0, 1, 3, 8])
@pytest.mark.parametrize("prior", [0, 0.01])
def test_a_few_loops_in_train_make_no_entity_an_answer_to_itself(near: int, prior: float) -> None:
    one = with_loops(near, prior)
    entities = [key for key in one.graph.entities if int(key[1:]) >= near]
    for given in ("head", "tail"):
        for found in answer(one, [Question(**{given: key, "relation": "near"}) for key in entities], top=3):
            assert getattr(found.question, given) not in {each.key for each in found}
    assert "near" not in {each.key for each in answer(one, [Question(head="e50", tail="e50")])[0]}
    found = discover(one, top=1000, relations=["near"])
    assert len(found) > 50 and not any(each.head == each.tail for each in found.checked)


@pytest.mark.parametrize("prior", [0, 0.01])
def test_loops_stay_answers_where_they_are_the_rule(prior: float) -> None:
    one = with_loops(8, prior)
    assert answer(one, [Question("e51", "same")], top=1)[0][0].key == "e51"
    assert answer(with_loops(30, prior), [Question("e50", "near")], top=1)[0][0].key == "e50"
    assert not any(each.head == each.tail for each in discover(with_loops(30, prior), relations=["near"]).checked)
    most = discover(with_loops(98, prior), relations=["near"], top=1000).checked
    assert {each.head for each in most if each.head == each.tail} == {"e99"}  # others are known, and e98 is no tail


def test_a_rare_loop_of_train_is_the_most_doubtful_fact() -> None:
    first = doubtful(trained(), top=1).checked[0]
    assert (first.head, first.relation, first.tail, first.probability) == ("e0", "near", "e0", None)


def test_parts_of_a_search_with_the_prior_are_not_taken_for_one_without(tmp_path: Path) -> None:
    for prior in (True, False):
        parts = tmp_path / str(prior)
        discover(trained(prior=prior), parts=parts)
        with pytest.raises(InputError, match="another model or of other settings"):
            discover(trained(prior=prior), parts=parts, loop_prior=False)


def test_the_prior_is_saved_exported_and_kept_by_growing(tmp_path: Path) -> None:
    model = load_model(kept(tmp_path / "run"))
    prior = trained().model.loop_free
    assert torch.equal(model.model_.loop_free, prior)  # type: ignore[arg-type]
    assert torch.equal(load_model(model.save(tmp_path / "again")).model_.loop_free, prior)  # type: ignore[arg-type]
    export(model.trained_, tmp_path / "model.npz")
    assert np.load(tmp_path / "model.npz")["relation.loop_free"].tolist() == prior.tolist()  # type: ignore[union-attr]
    grown = extend(model.trained_, [("new", "near", "e1")], steps=2).trained
    assert torch.equal(grown.model.loop_free, prior)  # type: ignore[arg-type]
    assert "new" not in {each.key for each in answer(grown, [Question("new", "near")])[0]}


def test_refining_learns_the_prior_anew_from_all_triples() -> None:
    one = trained()
    loops = [(f"e{i}", "near", f"e{i}") for i in range(1, 6)]
    grown = extend(one, loops, refine=1).trained
    assert grown.model.loop_free is not None and not grown.model.loop_free.any()
    assert one.model.loop_free is not None and one.model.loop_free.any()
