"""Models: parameters and algebra, one file each. A file that holds a model is all it takes: it is found here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from transa.errors import InputError, suggest
from transa.models.base import Kernel, Model, Rows

__all__ = ["MODELS", "Kernel", "Model", "Rows", "build"]


def _found() -> dict[str, type[Model]]:
    """Return the models of the files beside this one: the classes that state a name."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    classes = (value for module in modules for value in vars(module).values() if isinstance(value, type))
    named = {value.name: value for value in classes if issubclass(value, Model) and "name" in vars(value)}
    return dict(sorted(named.items()))


#: All models by name.
MODELS: dict[str, type[Model]] = _found()


def build(name: str, num_entities: int, num_relations: int, dim: int, **options: Any) -> Model:
    """Make a model by name, taking from `options` those it has."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}{suggest(name, MODELS)}; the models are {', '.join(MODELS)}")
    chosen = {option: options[option] for option in MODELS[name].options if option in options}
    return MODELS[name](num_entities, num_relations, dim, **chosen)
