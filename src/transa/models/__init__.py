"""Models: parameters and algebra, one file each.

A file that holds a model is all it takes: it is found here. A model from outside the package is made known by `register`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from transa.errors import InputError, suggest
from transa.models.base import Kernel, MetricRules, Model, Rows

__all__ = ["MODELS", "Kernel", "MetricRules", "Model", "Rows", "build", "register"]

#: All models by name.
MODELS: dict[str, type[Model]] = {}
#: What every model states.
STATED = ("name", "label", "formula", "size", "cost")

AnyModel = TypeVar("AnyModel", bound=type[Model])


def register(model: AnyModel) -> AnyModel:
    """Make a model known by its name, so that recipes and commands find it. May stand as a decorator above the class.

    Raises
    ------
    InputError
        If the class does not state all of `STATED`, or another model has its name.
    """
    missing = [field for field in STATED if not hasattr(model, field)]
    if missing:
        raise InputError(f"{model.__name__}: a model states its {missing[0]}")
    if MODELS.setdefault(model.name, model) is not model:
        raise InputError(f"{model.__name__}: {MODELS[model.name].__name__} is already called {model.name!r}")
    return model


def build(name: str, num_entities: int, num_relations: int, dim: int, **options: Any) -> Model:
    """Make a model by name. Of `options` it takes those it has."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}{suggest(name, MODELS)}; the models are {', '.join(MODELS)}")
    chosen = {option: options[option] for option in MODELS[name].options if option in options}
    return MODELS[name](num_entities, num_relations, dim, **chosen)


def _register_files() -> None:
    """Register the models of the files beside this one: the classes that state a name, in its order."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    named = {value.name: value for value in classes if issubclass(value, Model) and "name" in vars(value)}
    for name in sorted(named):
        register(named[name])


_register_files()
