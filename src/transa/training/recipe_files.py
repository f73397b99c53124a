"""Recipe files: those that come with the package, and those of users."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from transa.errors import InputError
from transa.models import MODELS
from transa.storage import read_small
from transa.training.recipe import Recipe, recipe_from

#: The recipes of TransA and its PSD variant: as the paper says, as its authors' program does, with weighted negatives, with
#: a softmax over entities.
RECIPES = ("paper", "authors", "modern", "softmax")
#: The recipe for graphs that no file was made for (`transa.training.general`); its tables are ways of training to try.
GENERAL = "general"
#: The part of such a table that lists other values of its settings.
VARY = "vary"


def load_recipe(
    model: str, recipe: str | None, dataset: str | None, overrides: Mapping[str, Any] | None = None
) -> Recipe:
    """Return the settings for a model on a dataset.

    Parameters
    ----------
    model
        Name of the model.
    recipe
        The name of one of the model's recipes, such as ``"paper"``, or the path of a TOML file; None takes the default.
    dataset
        Name of the dataset. If the recipe has no file for it, the model's general file is used.
    overrides
        Settings that override those of the file.

    Raises
    ------
    InputError
        If a setting is unknown or wrong, or if `overrides` sets an option that the model does not have. A file may set such options,
        since several models can share it.
    """
    values: dict[str, Any] = {"model": model}
    if recipe == GENERAL:
        raise InputError(f"recipe: {GENERAL!r} depends on the graph; transa.training.general_recipe makes it")
    if recipe is not None and recipe.endswith(".toml"):
        values |= read_recipe(Path(recipe))
    else:
        values |= _bundled(model, recipe, dataset)
    given = dict(overrides or {})
    found = recipe_from(values | given)
    for name in given:
        having = models_with(name)
        if having and found.model not in having:
            raise InputError(f"{name}: {found.model} has no such option; it is an option of {', '.join(having)}")
    return found


def models_with(option: str) -> list[str]:
    """Return the models that have an option; the list is empty for a setting that belongs to no model."""
    return [name for name, model in MODELS.items() if option in model.options]


def read_recipe(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings."""
    try:
        return tomllib.loads(read_small(path))
    except FileNotFoundError:
        raise InputError("no such recipe", path=path) from None
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a readable recipe ({error})", path=path) from None


def _bundled(model: str, recipe: str | None, dataset: str | None) -> dict[str, Any]:
    """Merge the general file of a model (``*_MODEL.toml``) with the one for a dataset (``*_MODEL_DATASET.toml``).

    A file holds the settings that all recipes share, and a table for each recipe with its own settings. ``default`` names the recipe
    to take if the user names none.
    """
    files = _files()
    loaded = [tomllib.loads(files[name].read_text("utf-8")) for name in _names(model, dataset) if name in files]
    default = next((file["default"] for file in reversed(loaded) if "default" in file), None)
    known = sorted({name for file in loaded for name, value in file.items() if isinstance(value, dict)} - {GENERAL})
    chosen = recipe or default
    if recipe is not None and recipe not in known:
        raise InputError(
            f"no recipe {recipe!r} for {model}; {'expected ' + ', '.join(known) if known else 'it has only one'}"
        )
    values: dict[str, Any] = {}
    for file in loaded:
        values |= {name: value for name, value in file.items() if not isinstance(value, dict) and name != "default"}
        values |= file.get(chosen, {}) if chosen else {}
    return values


def _names(model: str, dataset: str | None) -> list[str]:
    return [f"{model}.toml", *([f"{model}_{dataset}.toml"] if dataset else [])]


def general_tables(model: str) -> dict[str, dict[str, Any]]:
    """Return the ways of training that a model's general recipe tries, by name; none for most models."""
    found = _files().get(f"{model}.toml")
    tables: dict[str, dict[str, Any]] = (
        {} if found is None else tomllib.loads(found.read_text("utf-8")).get(GENERAL, {})
    )
    return tables


def has_file(model: str, dataset: str | None) -> bool:
    """Tell whether a recipe file was made for a model on a dataset."""
    return dataset is not None and f"{model}_{dataset}.toml" in _files()


def _files() -> dict[str, Traversable]:
    """Return the recipe files by their names without the author: MODEL.toml or MODEL_DATASET.toml."""
    folder = resources.files("transa.training") / "recipes"
    return {entry.name.partition("_")[2]: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
