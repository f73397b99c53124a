"""The search: the default first, the best kept, killed and resumed, by several processes, as a command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import transa
from transa.errors import InputError
from transa.training import Recipe, Trainer, load_recipe, recipe_from
from transa.tuning import Attempt, search, study, trials
from transa.tuning.outcome import averaged, best_of, fitting
from transa.tuning.space import near_choice, ways_of_training
from transa.tuning.study import StudyFolder, as_toml

pytest.importorskip("optuna")
NATIONS = transa.load("nations")
#: One model and few epochs, so that a trial takes a moment.
SMALL: dict[str, Any] = {"dim": 4, "epochs": 6, "validate_sample": 50}


def test_the_first_trial_is_the_default_and_the_best_can_be_trained_again(tmp_path: Path) -> None:
    told: list[Any] = []
    tuned = transa.tune(NATIONS, "transe", SMALL, minutes=5, trials=8, folder=tmp_path / "study", callback=told.append)
    assert [each.number for each in tuned.attempts] == list(range(8)) == [each.number for each in told]
    assert tuned.default == tuned.attempts[0]
    usual = load_recipe("transe", None, "nations", SMALL)
    assert all(getattr(usual, name) == value for name, value in tuned.attempts[0].settings.items())
    done = [each for each in tuned.attempts if each.state == "done"]
    assert tuned.best.score == max(each.score for each in done if each.score is not None)
    assert all((tuned.recipe.dim, tuned.recipe.epochs) == (4, 6) for _ in done)
    again = Trainer(NATIONS, tuned.recipe)
    again.fit()
    assert again.best == tuned.best.score
    frame = tuned.to_pandas()
    assert frame["score"].tolist() == [each.score for each in tuned.attempts]
    assert frame["set_learning_rate"][0] == usual.learning_rate and tuned.to_polars().height == 8
    assert f"{tuned.best.score:.4f}" in tuned._repr_html_() and "8 trials" in str(tuned)
    kept = recipe_from(tomllib.loads((tmp_path / "study" / "best.toml").read_text()))
    assert kept == tuned.recipe


def test_worse_trials_are_ended_early() -> None:
    given = {**SMALL, "epochs": 18}
    tuned = transa.tune(NATIONS, "transe", given, minutes=5, trials=20)
    states = [each.state for each in tuned.attempts]
    assert "pruned" in states and states[0] == "done"
    assert tuned.folder is None


def test_after_the_default_come_trials_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "NEAR", 3)
    tuned = transa.tune(NATIONS, "transe", SMALL, minutes=5, trials=6)
    usual = load_recipe("transe", None, "nations", SMALL)
    drawn = [near_choice({"default": usual}, SMALL, seed) for seed in (1, 2, 3)]
    chosen = [{f"default.{name}": value for name, value in each.settings.items()} for each in tuned.attempts]
    assert chosen[1:4] == drawn
    assert all(each not in chosen[:4] for each in chosen[4:])


def test_then_each_other_way_of_training_is_tried_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "NEAR", 1)
    given = {"dim": 4, "epochs": 1, "validate_sample": 50}
    others = ways_of_training("transa", NATIONS, given, 1, transa.Options())
    others.pop("default")
    tuned = transa.tune(NATIONS, "transa", given, minutes=5, trials=2 + len(others))
    assert [each.way for each in tuned.attempts] == ["default", "default", *others]
    for each in tuned.attempts[2:]:
        assert each.settings and all(getattr(others[each.way], name) == each.settings[name] for name in each.settings)


def finished(number: int, score: float, rate: float, seed: int = 0, seconds: float = 1.0) -> Attempt:
    return Attempt(number, "default", {"learning_rate": rate}, score, "done", 6, seconds, seed)


def test_of_lucky_scores_the_best_mean_wins() -> None:
    lucky, steady, other = finished(0, 0.9, 0.1), finished(1, 0.8, 0.2), finished(2, 0.85, 0.3)
    assert best_of(averaged([lucky, steady, other]), steady) == lucky
    again = [finished(3, 0.5, 0.1, 1), finished(4, 0.78, 0.2, 1)]
    best = best_of(averaged([lucky, steady, other, *again]), None)
    assert (best.number, best.runs, best.score) == (1, 2, pytest.approx(0.79))
    ended = Attempt(5, "default", {"learning_rate": 0.4}, 0.95, "pruned", 6, 1.0)
    assert ended.choice not in {each.choice for each in averaged([lucky, ended])}


def test_what_ran_half_as_often_as_another_or_less_does_not_win() -> None:
    default = [finished(number, 0.7, 0.3, number) for number in range(9)]
    steady = [finished(10 + number, 0.8, 0.1, number) for number in range(4)]
    lucky = [finished(20 + number, 0.9, 0.2, number) for number in range(2)]
    third = finished(22, 0.9, 0.2, 2)

    def winner(*runs: Attempt) -> int:
        means = averaged(runs)
        return best_of(means, next(each for each in means if each.number == 0)).number

    assert winner(*default, *steady, *lucky) == 10  # the default runs in every round, which others need not
    assert winner(*default, *steady, *lucky, third) == 20
    better = [replace(each, score=0.95) for each in default[:2]]
    assert winner(*better, *steady) == 0


def test_a_round_takes_half_of_the_time_unless_it_is_too_little_for_three() -> None:
    trials = [finished(number, 0.8, 0.1 * number, seconds=2.0) for number in range(12)]
    assert len(fitting(trials, 100.0)) == 12
    assert fitting(trials, 20.0) == trials[:5]
    assert fitting(trials, 6.0) == trials[:3]
    assert fitting(trials, 5.0) == trials[:2]


def test_rounds_begin_with_many_trials_and_go_on_with_half_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "FIRST_ROUND", 6)
    monkeypatch.setattr(study, "FEWEST", 2)
    place = tmp_path / "study"
    given = {**SMALL, "epochs": 1}
    transa.tune(NATIONS, "transe", given, minutes=5, trials=8, folder=place)
    monkeypatch.setattr(search, "REPEATING", 1.0)
    tuned = transa.tune(NATIONS, minutes=5, trials=8 + 7 + 4 + 3 + 3, folder=place, resume=True)
    seeds = [each.seed for each in tuned.attempts]
    assert seeds[:8] == [0] * 8 and 0 not in seeds[8:]
    rounds = [tuned.attempts[begin:end] for begin, end in ((8, 15), (15, 19), (19, 22), (22, 25))]
    for turn in rounds:
        assert turn[0].choice == tuned.attempts[0].choice
        assert len({each.choice for each in turn}) == len(turn)
    assert tuned.default is not None and tuned.default.runs == 5
    alone = sorted(tuned.attempts[1:8], key=lambda each: -(each.score or 0))
    assert [each.choice for each in rounds[0][1:]] == [each.choice for each in alone[:6]]


def test_at_the_end_the_best_and_the_default_are_trained_again_with_other_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    class Seen(Trainer):
        def __init__(self, graph: transa.KnowledgeGraph, recipe: Recipe, *others: Any) -> None:
            super().__init__(graph, recipe, *others)
            seeds.append(recipe.seed)

    monkeypatch.setattr(search, "REPEATING", 1.0)  # from the second trial on, as soon as two are done
    monkeypatch.setattr(trials, "affordable", lambda *_: 6)
    monkeypatch.setattr(trials, "Trainer", Seen)
    given = {**SMALL, "epochs": 1}  # one validation, after which no trial is ended early
    tuned = transa.tune(NATIONS, "transe", given, minutes=5, trials=7, folder=tmp_path / "study")
    assert seeds == [each.seed for each in tuned.attempts] and max(seeds) > 0
    assert tuned.default is not None and tuned.default.runs > 1 and tuned.best.runs > 1
    own = [each.score for each in tuned.attempts if each.choice == tuned.best.choice]
    assert tuned.best.score == pytest.approx(sum(score or 0 for score in own) / len(own))
    assert len(set(own)) > 1
    assert tuned.recipe.seed == 0
    assert "mean of" in (tmp_path / "study" / "best.toml").read_text()


def test_a_search_without_time_for_all_epochs_shortens_its_trials() -> None:
    given = {"dim": 4, "epochs": 100_000}
    tuned = transa.tune(NATIONS, "transe", given, minutes=0.02)
    assert 0 < (tuned.best.epochs or 0) < 100_000
    assert tuned.recipe.epochs == 100_000


@pytest.mark.parametrize(("fitting", "vary"), [(40, False), (1000, True)])
def test_epochs_are_varied_only_if_all_of_the_default_fit(
    fitting: int, vary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "affordable", lambda *_: fitting)
    graph, given = transa.load("umls"), {"dim": 8}
    default = load_recipe("transa", None, "umls", given)
    ways = ways_of_training("transa", graph, given, 1, transa.Options())
    assert 40 < default.epochs < 1000 and len({recipe.epochs for recipe in ways.values()}) > 1
    begun = trials.begin(graph, ways, given, transa.Options(), 1.0)
    assert ("epochs" in begun.fixed, begun.short) == (not vary, False)
    if not vary:
        assert {recipe.epochs for recipe in begun.ways.values()} == {default.epochs}
    else:
        assert begun.ways == ways


def test_where_few_epochs_fit_trials_have_short_vectors_and_the_recipe_long_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Recipe] = []

    class Seen(Trainer):
        def __init__(self, graph: transa.KnowledgeGraph, recipe: Recipe, *others: Any) -> None:
            super().__init__(graph, recipe, *others)
            trained.append(recipe)

    monkeypatch.setattr(trials, "Trainer", Seen)
    monkeypatch.setattr(trials, "TRIAL_DIM", 4)
    monkeypatch.setattr(trials, "affordable", lambda *_: 3)
    tuned = transa.tune(NATIONS, "transe", {"validate_sample": 50}, trials=3, folder=tmp_path / "study")
    usual = load_recipe("transe", None, "nations")
    assert usual.dim > 4
    assert [(recipe.dim, recipe.epochs) for recipe in trained] == [(4, 3)] * 3
    assert (tuned.recipe.dim, tuned.recipe.epochs) == (usual.dim, usual.epochs)
    assert not any({"dim", "epochs"} & each.settings.keys() for each in tuned.attempts)
    assert tuned.attempts[1].settings != tuned.attempts[0].settings
    assert StudyFolder(tmp_path / "study").beginning().short


def test_an_epoch_is_timed_on_a_part_of_a_large_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe("transe", None, "nations", SMALL)
    monkeypatch.setattr(trials, "TIMED", 400)
    sizes: list[int] = []

    class Timed:
        def __init__(self, graph: transa.KnowledgeGraph, *_: object) -> None:
            sizes.append(len(graph.train))

        def fit(self, told: Any) -> None:
            for seconds in (7.0, 7.5):  # the first epoch compiles
                told(SimpleNamespace(seconds=seconds))

    monkeypatch.setattr(trials, "Trainer", Timed)
    epochs = trials.affordable(NATIONS, recipe, transa.Options(), 10.0)
    assert 300 < sizes[0] <= 400
    assert epochs == int(10.0 / (0.5 * len(NATIONS.train) / sizes[0]))
    assert trials.affordable(NATIONS, recipe, transa.Options(), 0.1) == trials.LEAST_EPOCHS


@pytest.mark.slow
def test_a_killed_search_is_resumed_with_all_it_has_found(tmp_path: Path) -> None:
    code = f"""
import os, signal, transa
def told(attempt):
    if attempt.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
transa.tune(transa.load("nations"), "transe", {SMALL!r}, minutes=5, folder={str(tmp_path / "study")!r}, callback=told)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = StudyFolder(tmp_path / "study").attempts()
    assert len(before) == 4
    left = StudyFolder(tmp_path / "study")
    left.study.ask()  # a trial that was under way
    left.close()
    with pytest.raises(InputError, match="holds a search or a run already"):
        transa.tune(NATIONS, "transe", SMALL, minutes=5, trials=6, folder=tmp_path / "study")
    with pytest.raises(InputError, match="the graph is not the one"):
        transa.tune(transa.load("umls"), "transe", minutes=5, folder=tmp_path / "study", resume=True)
    tuned = transa.tune(NATIONS, minutes=5, trials=8, folder=tmp_path / "study", resume=True)
    assert tuned.attempts[:4] == before
    assert [each.state for each in tuned.attempts].count("failed") == 1
    assert len(tuned.attempts) == 8


@pytest.mark.slow
def test_several_processes_share_a_search(tmp_path: Path) -> None:
    tuned = transa.tune(NATIONS, "transe", SMALL, minutes=5, trials=16, folder=tmp_path / "study", workers=2)
    assert len(tuned.attempts) >= 16
    assert len({each.number for each in tuned.attempts}) == len(tuned.attempts)
    assert tuned.default is not None
    best = max(each.score for each in tuned.attempts if each.state == "done" and each.score is not None)
    assert tuned.best.score == best


@pytest.mark.slow
def test_the_command_writes_recipe_and_picture(command: Any, tmp_path: Path) -> None:
    study = tmp_path / "study"
    small = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    run = ["tune", "nations", "--model", "transe", "--out", study, "--minutes", 5, *small]
    done = command(*run, "--trials", 10)
    assert done.code == 0, done.err
    assert "trial 0, default" in done.err and "best.toml" in done.out
    assert (study / "tuning.png").read_bytes().startswith(b"\x89PNG")
    assert command(*run).code == 2
    more = command(*run, "--resume", "--trials", 12, "--json")
    assert more.code == 0, more.err
    found = json.loads(more.out)
    assert found["trials"] == 12
    assert found["best"]["score"] >= found["default"]["score"]
    trained = command("train", "nations", "--recipe", study / "best.toml", "--out", tmp_path / "run", "--json")
    assert trained.code == 0, trained.err
    assert json.loads(trained.out)["validation"]["best"] == found["best"]["score"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"minutes": 0}, "minutes: expected more than 0"),
        ({"workers": 0}, "workers: expected more than 0"),
        ({"resume": True}, "resume: name the folder"),
        ({"model": "transz"}, "did you mean"),
        ({"settings": {"dimm": 3}}, "unknown setting 'dimm'; did you mean 'dim'"),
    ],
)
def test_wrong_arguments(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        transa.tune(NATIONS, **{"model": "transe", **values})


def test_a_folder_without_a_search_is_not_resumed_and_a_broken_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no search to resume"):
        transa.tune(NATIONS, "transe", folder=tmp_path / "none", resume=True)
    transa.tune(NATIONS, "transe", SMALL, trials=1, folder=tmp_path / "study")
    assert not list((tmp_path / "study").glob("study.db-*"))  # all of it is in one file
    (tmp_path / "study" / "study.db").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match=r"study\.db: not readable"):
        transa.tune(NATIONS, "transe", trials=2, folder=tmp_path / "study", resume=True)


def test_a_recipe_survives_toml() -> None:
    recipe = load_recipe("transa", "softmax", "wn18")
    assert recipe_from(tomllib.loads(as_toml(recipe))) == recipe


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'transa\[tune\]'"):
        transa.tune(NATIONS)


def test_settings_that_cannot_be_trained_are_told() -> None:
    with pytest.raises(InputError, match="no trial was trained to the end"):
        transa.tune(
            NATIONS,
            "transe",
            {**SMALL, "learning_rate": 1e38, "optimizer": "sgd", "entity_norm": "free"},
            trials=2,
            minutes=5,
        )


def test_an_attempt_is_told_as_it_was() -> None:
    tuned = transa.tune(NATIONS, "transe", SMALL, trials=1, minutes=5)
    (only,) = tuned.attempts
    assert isinstance(only, Attempt)
    assert (only.state, only.way, only.epochs) == ("done", "default", 6)
    assert only.score == tuned.best.score
