"""Rules as a model, and rules beside a model: trained, saved, asked and explained like the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transa
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.evaluation.scores import answer_scores
from transa.inference import Trained, explain, extend
from transa.training import Trainer, load_recipe, recipe_from
from transa.training.run import RunFolder

pytestmark = pytest.mark.slow

NATIONS = transa.load("nations")
#: Who lives where talks as people talk there; and p8 lives in town2.
TALKING = KnowledgeGraph.from_triples(
    [(f"p{i}", "lives in", f"town{i % 3}") for i in range(12)]
    + [(f"town{i}", "speaks", f"language{i}") for i in range(3)]
    + [(f"p{i}", "talks", f"language{i % 3}") for i in range(8)]
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "run"
    Trainer(NATIONS, load_recipe("rules", None, None), folder=RunFolder(path)).fit()
    return path


def test_a_run_of_rules_is_opened_and_ranks_as_it_did(run: Path) -> None:
    first = Trainer(NATIONS, load_recipe("rules", None, None)).fit()
    opened = Trained.open(run)
    ours, theirs = (link_prediction(model, NATIONS.test, NATIONS.known()).ranks() for model in (first, opened.model))
    assert np.array_equal(ours, theirs)
    assert (1 / ours).mean() > 0.6


def test_a_question_is_answered_with_the_scores_of_its_side(run: Path) -> None:
    trained = Trained.open(run)
    triples = NATIONS.test[:20]
    for side, fixed in (("tail", 0), ("head", 2)):
        from transa.inference.search import best

        number = len(NATIONS.entities)
        ids, scores = best(trained.ranker, side, triples[:, fixed], triples[:, 1], number)
        own = answer_scores(trained.model, triples, side)
        for row, triple in enumerate(triples.tolist()):
            place = ids[row].tolist().index(triple[2 - fixed])
            assert scores[row, place] == pytest.approx(own[row], abs=1e-12)
            assert np.all(np.diff(scores[row]) >= 0)


def test_commands_work_on_a_run_of_rules(run: Path, command) -> None:
    head, relation, tail = (NATIONS.named("test").to_pylist()[0][key] for key in ("head", "relation", "tail"))
    (run / "calibration.json").unlink(missing_ok=True)
    question = ("predict", str(run), "--head", head, "--relation", relation)
    for options, first in ((("evaluate", str(run), "--no-rules"), False), (question, True), (question, False)):
        done = command(*options)
        assert done.code == 0, done.err
        assert ("first question to this run: learning probabilities" in done.err) == first
    explained = command("explain", str(run), head, relation, tail)
    assert explained.code == 0, explained.err
    for options in (["neighbours", str(run), head], ["export", str(run), "--to", str(run.parent / "vectors.npz")]):
        refused = command(*options)
        assert (refused.code, "no vectors" in refused.err) == (2, True), refused.err


def test_training_says_that_rules_are_mined(command, tmp_path: Path) -> None:
    TALKING.save(tmp_path / "graph")
    done = command("train", tmp_path / "graph", "--model", "rules", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "rules are mined from train" in done.err


def test_rules_are_listed_and_written(command, tmp_path: Path) -> None:
    out = tmp_path / "rules.txt"
    done = command("rules", "nations", "--out", str(out), "-k", "3")
    assert done.code == 0, done.err
    assert " <= " in out.read_text()
    refused = command("rules", "nations", "--out", str(tmp_path / "rules.docx"))
    assert refused.code == 2


def test_an_explanation_names_the_rule_and_the_facts_it_rests_on() -> None:
    model = Trainer(TALKING, load_recipe("rules", None, None, {"rule_constants": False})).fit()
    found = explain(Trained(model, TALKING), "p8", "talks", "language2")
    assert str(found.rules[0].path) == "p8 —lives in→ town2 —speaks→ language2"
    assert (found.rules[0].holds, found.rules[0].cases) == (8, 12)
    assert "by a rule, p8 —lives in→ town2 —speaks→ language2 (such cases hold 8 of 12 times)" in found.sentence


def test_a_model_with_rules_is_ahead_of_the_model_and_ranks_as_its_scores_say(tmp_path: Path) -> None:
    settings = {"dim": 8, "epochs": 10}
    plain = Trainer(NATIONS, load_recipe("transe", None, None, settings)).fit()
    folder = RunFolder(tmp_path / "run")
    Trainer(NATIONS, load_recipe("transe", None, None, settings | {"with_rules": True}), folder=folder).fit()
    joined = Trained.open(folder).model
    known = NATIONS.known()
    before, after = (link_prediction(model, NATIONS.test, known) for model in (plain, joined))
    assert after.measures()["mrr"] > before.measures()["mrr"] + 0.05
    size = len(NATIONS.entities)
    for column, side in enumerate(("head", "tail")):
        for row in range(0, 40, 8):
            every = np.repeat(NATIONS.test[row][None], size, axis=0)
            every[:, 2 * column] = np.arange(size)
            scores = answer_scores(joined, every, side)
            own = scores[NATIONS.test[row, 2 * column]]
            rank = 1 + (scores < own - 1e-9).sum() + ((np.abs(scores - own) <= 1e-9).sum() - 1) / 2
            assert after.ranks(filtered=False)[row, column] == pytest.approx(rank)


def test_without_valid_rules_cannot_be_weighed() -> None:
    graph = replace(NATIONS, valid=NATIONS.valid[:0])
    recipe = load_recipe("transe", None, None, {"dim": 4, "epochs": 1, "with_rules": True})
    with pytest.raises(InputError, match="no validation triples"):
        Trainer(graph, recipe).fit()
    with pytest.raises(InputError, match="with_rules: rules has nothing but rules"):
        recipe_from({"model": "rules", "solver": "mining", "with_rules": True})


def test_extended_rules_rest_on_new_triples(tmp_path: Path) -> None:
    graph = replace(TALKING, valid=TALKING.train[TALKING.train[:, 1] == TALKING.relations.id("talks")][:3])
    settings = {"dim": 4, "epochs": 1, "with_rules": True, "rule_constants": False}
    model = Trainer(graph, load_recipe("transe", None, None, settings)).fit()
    trained = Trained(model, graph, load_recipe("transe", None, None, settings))
    folder = RunFolder(tmp_path / "grown")
    extend(trained, [("stranger", "lives in", "town1")], steps=0, folder=folder)
    grown = Trained.open(folder)
    found = explain(grown, "stranger", "talks", "language1")
    assert str(found.rules[0].path) == "stranger —lives in→ town1 —speaks→ language1"
    assert len(explain(grown, "stranger", "talks", "language2").rules) == 0
    assert trained.model.evidence is not None
    assert len(trained.model.evidence.facts) == len(graph.train)  # what was extended stays as it is
