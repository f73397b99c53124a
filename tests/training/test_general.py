"""The general recipe: when it is used, what it tries, and what it makes of the outcome."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import transa
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.training import Recipe, RunFolder, general_recipe, load_recipe
from transa.training.general import Trial, general_ways, is_general, sized, with_validation

NATIONS = replace(transa.load("nations"), name=None)


@pytest.mark.parametrize(
    ("recipe", "dataset", "given", "expected"),
    [
        (None, None, {}, True),
        (None, "my graph", {"dim": 20}, True),
        (None, "wn18", {}, False),  # a file was made for it
        ("general", "wn18", {}, True),
        ("modern", None, {}, False),
        (None, None, {"epochs": 5}, False),
        (None, None, {"loss": "margin"}, False),
    ],
)
def test_when_it_is_used(recipe: str | None, dataset: str | None, given: dict[str, object], expected: bool) -> None:
    assert is_general("transa", recipe, dataset, given) is expected


def test_most_models_have_none() -> None:
    assert not is_general("se", None, None, {})
    with pytest.raises(InputError, match="se has no general recipe"):
        general_recipe("se", NATIONS)


def test_it_is_no_file() -> None:
    with pytest.raises(InputError, match="general_recipe makes it"):
        load_recipe("transa", "general", None)


def test_triples_are_held_out_where_there_is_no_validation_split() -> None:
    alone = replace(NATIONS, valid=np.empty((0, 3), np.int32), test=np.empty((0, 3), np.int32))
    tried = with_validation(alone)
    assert 0 < len(tried.valid) <= 0.05 * len(alone.train) + 1
    together = np.concatenate([tried.train, tried.valid])
    assert len(np.unique(together, axis=0)) == len(together) == len(np.unique(alone.train, axis=0))
    for column in range(3):
        assert set(tried.valid[:, column]) <= set(tried.train[:, column])
    assert with_validation(NATIONS) is NATIONS


def test_sizes_follow_the_graph() -> None:
    small, large = sized(NATIONS, {"negatives": "all"}), sized(transa.load("umls"), {"negatives": "all"})
    assert small["batch_size"] <= large["batch_size"]
    assert "sampled_entities" not in small  # all 14 entities are candidates
    many = replace(NATIONS, entities=Vocabulary(map(str, range(10_000))))
    assert 0 < sized(many, {"negatives": "all"})["sampled_entities"] < 10_000
    assert "sampled_entities" not in sized(many, {"negatives": 64})


@pytest.mark.slow
def test_the_best_trial_is_trained_in_full() -> None:
    trials: list[Trial] = []
    recipe = general_recipe("transa", NATIONS, {"dim": 8, "seed": 3}, minutes=0.05, callback=trials.append)
    best = max(trials, key=lambda trial: trial.score)
    assert len({(trial.name, trial.recipe, trial.epochs) for trial in trials}) == len(trials) > 1
    changed = {"epochs", "validate_every", "patience", "with_rules", "rule_minutes"}
    assert recipe.model_dump(exclude=changed) == best.recipe.model_dump(exclude=changed)
    assert (recipe.dim, recipe.seed) == (8, 3)
    assert recipe.epochs >= 1
    assert recipe.validate_every
    assert recipe.with_rules
    assert recipe.rule_minutes is not None
    assert recipe.rule_minutes < 0.05


@pytest.mark.slow
def test_rules_are_left_out_where_the_user_says_so_or_nothing_tells_how_much_they_should_count() -> None:
    few = {"dim": 8}
    labelled = replace(NATIONS, valid_labels=np.where(np.arange(len(NATIONS.valid)) % 2, 1, -1))
    unsplit = replace(NATIONS, valid=NATIONS.valid[:0])
    assert not general_recipe("transa", NATIONS, few | {"with_rules": False}, minutes=0.01).with_rules
    assert not general_recipe("transa", labelled, few, minutes=0.01).with_rules
    assert not general_recipe("transa", unsplit, few, minutes=0.01).with_rules


@pytest.mark.slow
def test_with_time_left_the_best_is_trained_longer_and_its_settings_are_varied_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transa.training.general.TRIAL_EPOCHS", 2)
    monkeypatch.setattr("transa.training.general.EPOCHS", 8)
    trials: list[Trial] = []
    recipe = general_recipe("transa", NATIONS, {"dim": 8}, minutes=60, callback=trials.append)
    base, longer = trials[:3], [trial for trial in trials if trial.name.endswith("epochs")]
    varied = trials[3 + len(longer) :]
    way = max(base, key=lambda trial: trial.score)
    assert [trial.epochs for trial in longer] == [way.epochs * 2 ** (i + 1) for i in range(len(longer))]
    assert all(trial.recipe == way.recipe for trial in longer)
    scores = [way.score, *(trial.score for trial in longer)]
    assert all(one < two for one, two in itertools.pairwise(scores[:-1]))  # only the last may have done worse
    before = max([way, *longer], key=lambda trial: trial.score)
    assert len(varied) > 3
    assert all(trial.epochs == before.epochs for trial in varied)
    assert all(trial.recipe.dim == 8 for trial in trials)  # what is given is not varied
    for trial in varied:
        field = trial.name.split()[1]
        others = trial.recipe.model_dump(exclude={field})
        assert others == before.recipe.model_dump(exclude={field})
        before = max(before, trial, key=lambda one: one.score)
    assert recipe.dropout == before.recipe.dropout
    assert recipe.epochs == before.epochs if scores[-1] <= scores[-2] else recipe.epochs >= before.epochs


def test_settings_are_varied_again_where_others_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(_: object, recipe: Recipe, epochs: int) -> SimpleNamespace:
        score = (recipe.dim == 100) + (recipe.dim == 100 and recipe.dropout == 0.1)  # dropout is varied before dim
        return SimpleNamespace(epoch=epochs, best=score + (recipe.entity_norm != "ball"), seconds=0.01 * epochs)

    monkeypatch.setattr("transa.training.general._Search._train", train)
    trials: list[Trial] = []
    recipe = general_recipe("transa", NATIONS, callback=trials.append)
    assert (recipe.dim, recipe.dropout) == (100, 0.1)
    assert len({(trial.recipe, trial.epochs) for trial in trials}) == len(trials)  # nothing is tried twice


@pytest.mark.slow
def test_a_graph_of_ones_own_is_trained_by_it(command, tmp_path: Path) -> None:
    graph = tmp_path / "facts.csv"
    rows = (",".join(map(str, row.values())) for row in NATIONS.named("train").to_pylist())
    graph.write_text("head,relation,tail\n" + "\n".join(rows) + "\n")
    run = ["train", str(graph), "--out", str(tmp_path / "run"), "--set", "dim=8"]
    done = command(*run, "--minutes", "0.05")
    assert done.code == 0, done.err
    assert "tried" in done.err
    recipe = RunFolder(tmp_path / "run").recipe()
    assert recipe.dim == 8
    assert not recipe.validate_every  # there is nothing to validate on
    refused = command(*run, "--minutes", "0.05")
    assert (refused.code, "holds a run already" in refused.err, "tried" in refused.err) == (2, True, False)
    again = command(*run[:-2], "--resume")
    assert again.code == 0, again.err
    assert "tried" not in again.err


def test_a_wrong_setting_is_refused_before_anything_is_tried(command, tmp_path: Path) -> None:
    done = command("train", "nations", "--out", tmp_path / "run", "--set", "epoch=3")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'epochs'" in done.err and "tried for a moment" not in done.err


@pytest.mark.parametrize("kept", [True, False])
def test_who_waits_for_the_compiler_is_told_before_the_trials(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    monkeypatch.setattr("transa.kernels.cache.is_kept", lambda _: kept)
    few = ["--set", "dim=4", "--no-rules", "--minutes", "0.005"]
    done = command("train", "nations", "--out", tmp_path / "run", *few)
    assert done.code == 0, done.err
    first = done.err[: done.err.index("tried free")]
    assert first.count("compiling kernels") == (0 if kept else 1)


def test_the_ways_have_what_is_given_and_what_follows_from_the_size() -> None:
    ways = general_ways("transa", NATIONS, {"dim": 8})
    assert {"free", "ball", "negatives"} <= ways.keys()
    assert all((way.dim, way.batch_size) == (8, sized(NATIONS, {})["batch_size"]) for way in ways.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recipe", "modern", "--minutes", "1"], "--minutes goes with the general recipe"),
        (["--minutes", "0"], "minutes: expected more than 0"),
        (["--model", "se", "--recipe", "general"], "se has no general recipe"),
    ],
)
def test_wrong_options(command, tmp_path: Path, options: list[str], message: str) -> None:
    graph = tmp_path / "facts.csv"
    graph.write_text("a,r,b\nb,r,c\n")
    done = command("train", graph, "--out", tmp_path / "run", *options)
    assert done.code == 2
    assert message in done.err
