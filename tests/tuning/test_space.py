"""The search space: what is varied, how far, and that the default is in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import transa
from transa.errors import InputError
from transa.models import MODELS
from transa.training import Options, load_recipe, recipe_from
from transa.tuning.space import DEFAULT, SPACE, near_choice, suggested, usual_choice, varied, ways_of_training

optuna = pytest.importorskip("optuna")
NATIONS = transa.load("nations")
SOFTMAX = load_recipe("transa", "softmax", None)
MODERN = load_recipe("transa", "modern", None)


def test_a_way_is_varied_in_what_matters_to_it() -> None:
    softmax, modern = varied(SOFTMAX, {}), varied(MODERN, {})
    assert {"dropout", "temperature", "metric_learning_rate"} <= softmax.keys()
    assert not {"margin", "negatives", "rank"} & softmax.keys()
    assert {"margin", "negatives", "rank"} <= modern.keys()
    assert not {"dropout", "label_smoothing"} & modern.keys()
    assert "dim" not in varied(MODERN, {"dim": 50})


@pytest.mark.parametrize("model", [name for name, kind in MODELS.items() if kind.has_vectors])
def test_every_model_has_a_space_in_which_its_default_lies(model: str) -> None:
    recipe = load_recipe(model, None, None)
    choice = usual_choice({DEFAULT: recipe}, {})
    assert {"default.dim", "default.epochs"} <= choice.keys()
    _, found = suggested(optuna.trial.FixedTrial(choice), {DEFAULT: recipe}, {})
    assert found == recipe


def test_chosen_values_stay_within_bounds_and_make_a_recipe() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    ways = {DEFAULT: MODERN, "softmax": SOFTMAX}
    seen = set()
    for _ in range(50):
        trial = study.ask()
        way, recipe = suggested(trial, ways, {"batch_size": 64})
        seen.add(way)
        usual = ways[way]
        assert usual.dim / 2 <= recipe.dim <= usual.dim * 2
        assert usual.learning_rate / 5 <= recipe.learning_rate <= usual.learning_rate * 5
        assert 0 <= recipe.dropout <= 0.6
        others = {field for field in type(recipe).model_fields if field not in SPACE}
        assert recipe.model_dump(include=others) == usual.model_dump(include=others)
    assert seen == set(ways)


def test_settings_near_the_default_stay_near_it() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(30):
        _, recipe = suggested(study.ask(), {DEFAULT: SOFTMAX}, {}, near=True)
        assert SOFTMAX.temperature / 3**0.5 <= recipe.temperature <= SOFTMAX.temperature * 3**0.5
        assert SOFTMAX.dropout - 0.15 <= recipe.dropout <= SOFTMAX.dropout + 0.15
        assert 0 <= recipe.label_smoothing <= 0.075


def test_draws_near_the_default_keep_its_way_and_differ_by_their_seed() -> None:
    ways = {DEFAULT: SOFTMAX, "modern": MODERN}
    drawn = [near_choice(ways, {"batch_size"}, seed) for seed in range(20)]
    assert drawn[3] == near_choice(ways, {"batch_size"}, 3) != drawn[4]
    for choice in drawn:
        assert choice.keys() == usual_choice(ways, {"batch_size"}).keys()
        way, recipe = suggested(optuna.trial.FixedTrial(choice), ways, {"batch_size"})
        assert way == DEFAULT and recipe.batch_size == SOFTMAX.batch_size
        for field in ("dim", "epochs", "learning_rate", "metric_learning_rate", "temperature"):
            usual, factor = getattr(SOFTMAX, field), SPACE[field].factor ** 0.5  # type: ignore[union-attr]
            assert round(usual / factor, 9) <= getattr(recipe, field) <= round(usual * factor) + 1
        assert SOFTMAX.dropout - 0.15 <= recipe.dropout <= SOFTMAX.dropout + 0.15


def test_a_graph_with_a_recipe_starts_from_it_beside_the_ways_of_the_general_one() -> None:
    ways = ways_of_training("transa", transa.load("umls"), {}, 1, Options())
    assert ways[DEFAULT] == load_recipe("transa", None, "umls")
    assert len(ways) > 2
    given: dict[str, Any] = {"loss": "margin", "dim": 8}
    only = ways_of_training("transa", replace(NATIONS, name=None), given, 1, Options())
    assert all((recipe.loss, recipe.dim) == ("margin", 8) for recipe in only.values())


def test_rules_alone_have_nothing_to_search_for() -> None:
    with pytest.raises(InputError, match="rules has nothing to search for"):
        ways_of_training("rules", NATIONS, {}, 1, Options())


def test_two_ways_that_differ_in_varied_settings_alone_are_one() -> None:
    ways = ways_of_training("transa", replace(NATIONS, name="umls"), {}, 1, Options())
    assert recipe_from(ways[DEFAULT].model_dump()) == ways[DEFAULT]
    kinds = [repr(recipe.model_dump(exclude={*SPACE, "validate_every"})) for recipe in ways.values()]
    assert len(set(kinds)) == len(kinds)
