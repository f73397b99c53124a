"""Estimators: scikit-learn's habits, recipes, and the public names of the package."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from sklearn.base import clone

import transa
from tests.training.helpers import same_bits
from transa.estimator import NAMED_SETTINGS
from transa.estimators import ESTIMATORS, Estimator, estimator_for, estimator_of
from transa.models import MODELS
from transa.training import Options, Recipe, load_recipe, recipe_from
from transa.training.recipe_settings import Settings

NATIONS = transa.load("nations")


# ---------------------------------------------------------------------- what is written out


def test_every_model_has_an_estimator_that_names_paper_and_formula() -> None:
    for model in MODELS.values():
        kind = estimator_of(model)
        assert (kind.__name__, kind.system) == (model.__name__, model.name)
        assert getattr(transa, kind.__name__) is kind
        assert model.formula in (kind.__doc__ or "")
    assert set(ESTIMATORS) <= {model.__name__ for model in MODELS.values()}
    assert all("20" in (kind.__doc__ or "") for kind in ESTIMATORS.values())  # the year of the paper


def test_the_keywords_of_estimators_are_the_fields_of_the_recipe() -> None:
    fields = {name: kind for name, kind in get_type_hints(Recipe).items() if name in Recipe.model_fields}
    named = get_type_hints(Estimator.__init__)
    assert {name: named[name] for name in NAMED_SETTINGS} == {name: fields[name] | None for name in NAMED_SETTINGS}
    rest = {name: kind for name, kind in fields.items() if name not in (*NAMED_SETTINGS, "model")}
    assert get_type_hints(Settings) == rest


def test_signatures_stay_small() -> None:
    for name, method in inspect.getmembers(Estimator, inspect.isfunction):
        assert len(inspect.signature(method).parameters) - 1 <= 10, name


def test_all_public_names_can_be_imported() -> None:
    assert all(getattr(transa, name) is not None for name in transa.__all__)
    assert set(ESTIMATORS) < set(dir(transa))
    with pytest.raises(AttributeError, match="TransZ"):
        transa.TransZ  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, transa; print(sorted({'torch', 'numpy', 'numba', 'pyarrow', 'pydantic'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"


def test_a_few_questions_to_a_small_run_load_no_compiler(tmp_path: Path) -> None:
    run = transa.TransA(dim=4, epochs=1).fit(NATIONS).save(tmp_path / "run")
    heads, relations = list(NATIONS.entities), list(NATIONS.relations)
    transa.load_model(run).check([(heads[0], relations[0], heads[1])])  # the calibration is kept
    (tmp_path / "some.tsv").write_text(f"{heads[0]}\t{relations[0]}\t{heads[1]}\n")
    code = f"""
import sys, transa
from pathlib import Path
from transa.data.formats import ReadOptions, read_file
model = transa.load_model({str(run)!r})
model.predict(head={heads[0]!r}, relation={relations[0]!r})
model.check(read_file(Path({str(tmp_path / "some.tsv")!r}), ReadOptions(lines=True)).rows())  # as `transa check` does
print(sorted({{'numba', 'pandas', 'pyarrow.dataset', 'matplotlib', 'scipy'}} & set(sys.modules)))
model.explain({heads[0]!r}, {relations[0]!r}, {heads[1]!r})
print(sorted({{'numba', 'pandas', 'pyarrow.dataset', 'matplotlib'}} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert found.stdout.split() == ["[]", "[]"]


# ---------------------------------------------------------------------- parameters


def test_the_constructor_stores_what_it_is_given_and_checks_nothing() -> None:
    options = Options(threads=1)
    model = transa.TransE("many", epochs=-3, options=options, norm=7, dimension=3)  # type: ignore[arg-type, call-arg]
    assert (model.dim, model.epochs, model.learning_rate) == ("many", -3, None)
    assert model.options is options
    with pytest.raises(transa.InputError, match="unknown setting 'dimension'"):
        model.fit(NATIONS)


def test_parameters_go_in_and_out() -> None:
    model = transa.TransE(8, recipe="paper", norm=2)
    assert model.get_params() == model.get_params(deep=False)
    assert model.get_params() == dict.fromkeys(
        ("epochs", "learning_rate", "batch_size", "negatives", "seed", "options")
    ) | {"dim": 8, "recipe": "paper", "norm": 2}
    assert type(model)(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(epochs=2, margin=3.0, norm=1) is model
    assert (model.epochs, model.get_params()["margin"], model.get_params()["norm"]) == (2, 3.0, 1)
    with pytest.raises(transa.InputError, match="TransE has no parameter 'epoch'; did you mean 'epochs'"):
        model.set_params(dim=3, epoch=1)
    assert model.dim == 8  # nothing was changed


def test_a_clone_has_the_parameters_and_not_the_model() -> None:
    model = transa.TransE(4, epochs=1, options=Options(threads=1), norm=2).fit(NATIONS)
    copied = clone(model)
    assert copied.get_params() == model.get_params() and repr(copied) == repr(model)
    with pytest.raises(transa.InputError, match="call fit first"):
        _ = copied.model_
    assert same_bits(copied.fit(NATIONS).model_.tensors(), model.model_.tensors())
    copied.set_params(margin=2.0)
    assert "margin" not in model.get_params()


def test_what_only_fit_gives_is_refused_before() -> None:
    model = transa.TransA()
    for name in ("model_", "graph_", "recipe_", "trained_"):
        with pytest.raises(transa.InputError, match="this TransA has not been trained: call fit first"):
            getattr(model, name)
        assert not hasattr(model, name)
    for ask in (model.evaluate, model.classify, lambda: model.check([]), model.discover, lambda: model.save("x")):
        with pytest.raises(transa.InputError, match="call fit first"):
            ask()
    with pytest.raises(transa.InputError, match="call fit first"):
        model.predict(head="usa", relation="embassy")


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (transa.TransE(), "TransE()"),
        (transa.TransA(dim=20, epochs=5, metric="full"), "TransA(dim=20, epochs=5, metric='full')"),
        (transa.UM(options=Options(threads=2)), "UM(options=Options(threads=2))"),
        (
            transa.TransE(recipe=recipe_from({"model": "transe", "dim": 3})),
            "TransE(recipe=Recipe(model='transe', dim=3))",
        ),
    ],
)
def test_repr_shows_what_differs_from_the_defaults(model: Estimator, shown: str) -> None:
    assert repr(model) == shown


# ---------------------------------------------------------------------- recipes


def test_fit_resolves_the_recipe() -> None:
    model = transa.TransE(6, epochs=1, recipe="paper", negatives=2, norm=2).fit(NATIONS)
    assert model.recipe_ == load_recipe("transe", "paper", None, {"dim": 6, "epochs": 1, "negatives": 2, "norm": 2})
    assert model.model_.dim == 6 and model.graph_ is NATIONS and model.trained_.recipe is model.recipe_


def test_a_dataset_brings_its_own_recipe() -> None:
    graph = transa.load("umls")
    own = load_recipe("transa", None, "umls")
    assert own != load_recipe("transa", None, None)
    assert transa.TransA().trainer(graph).recipe == own


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (transa.TransA(norm=2), "TransA has no setting 'norm'; it has metric, rank, root"),
        (transa.RESCAL(clusters=2), "RESCAL has no setting 'clusters'"),
        (transa.TransE(recipe=recipe_from({"model": "um"})), "the recipe is for um, and TransE needs one for transe"),
        (transa.TransE(model="um"), "the recipe is for um"),  # type: ignore[call-arg]
        (transa.TransE(recipe="classic"), "no recipe 'classic'"),
        (transa.TransE(dim=0), "dim: .*found 0"),
        (transa.TransE(epochs=-1), "epochs: .*found -1"),
        (transa.TransE(options=Options(threads=100_000)), "threads"),
        (transa.TransE(options=Options(engine="jax")), "engine: expected one of auto, numba, torch, found 'jax'"),  # type: ignore[arg-type]
        (transa.TransE(engine="jax"), r"options=Options\(engine=…\)"),  # type: ignore[call-arg]
        (transa.TransE(options=Options(device="nowhere")), "device: .*found 'nowhere'"),
        (transa.TransE(options=Options(device="cuda:99")), "device: .*found 'cuda:99'"),
        (transa.TransE(options=Options(device="meta")), "device: .*found 'meta'"),  # holds shapes, and no numbers
        (transa.TransA(dim=10**7, recipe="paper"), "needs about .* of memory"),
    ],
)
def test_fit_names_what_is_wrong(model: Estimator, message: str) -> None:
    with pytest.raises(transa.InputError, match=message):
        model.fit(NATIONS)


def test_a_loaded_model_can_be_trained_again(tmp_path: Path) -> None:
    first = transa.TransE(4, epochs=2, seed=3, norm=2).fit(NATIONS)
    loaded = transa.load_model(first.save(tmp_path / "run"))
    assert isinstance(loaded, transa.TransE) and loaded.recipe_ == first.recipe_
    again = clone(loaded).fit(NATIONS)
    assert same_bits(again.model_.tensors(), first.model_.tensors())
    assert clone(loaded).set_params(epochs=1).fit(NATIONS).recipe_.epochs == 1


def test_a_recipe_leads_to_its_estimator() -> None:
    model = estimator_for(recipe_from({"model": "transr"}), Options(threads=1))
    assert type(model) is transa.TransR and model.options == Options(threads=1)


def test_evaluation_takes_the_training_graph_or_another() -> None:
    model = transa.TransE(4, epochs=1).fit(NATIONS)
    assert model.evaluate().summary() == model.evaluate(NATIONS, "test").summary()
    with pytest.raises(transa.InputError, match=r"135 entities .* that the model does not know"):
        model.evaluate(transa.load("umls"))
