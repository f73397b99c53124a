"""Recipes from files, and what is set over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from transa.errors import InputError
from transa.training import load_recipe


@pytest.mark.parametrize(
    ("model", "setting", "having"),
    [
        (
            "transa",
            {"norm": 2},
            "norm: transa has no such option; it is an option of ctransr, ptranse, se, transe, transh, transm, transr",
        ),
        (
            "transe",
            {"root": True},
            "root: transe has no such option; it is an option of adaptive_metric, ctransr, transa",
        ),
        (
            "transh",
            {"metric": "full"},
            "metric: transh has no such option; it is an option of adaptive_metric, transa",
        ),
        ("rescal", {"dim": 5, "hidden": 3}, "hidden: rescal has no such option"),
    ],
)
def test_an_option_of_other_models_is_an_error_that_names_them(
    model: str, setting: dict[str, object], having: str
) -> None:
    with pytest.raises(InputError, match=having):
        load_recipe(model, None, None, setting)


def test_a_file_may_hold_options_of_other_models(tmp_path: Path) -> None:
    (tmp_path / "shared.toml").write_text("dim = 7\nnorm = 2\nroot = true\n")
    for model in ("transa", "transe", "rescal"):
        assert load_recipe(model, str(tmp_path / "shared.toml"), None, {"epochs": 3}).dim == 7


def test_a_recipe_builds_its_model_with_its_options() -> None:
    model = load_recipe("transr", None, None, {"dim": 6, "relation_dim": 3, "norm": 2}).build_model(5, 2)
    assert model.shapes()["relation.matrix"] == (2, 6, 3)
    assert model.tensors() == {}
