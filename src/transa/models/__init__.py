"""Models: parameters and algebra, one file each."""

from __future__ import annotations

from typing import Any

from transa.errors import InputError, suggest
from transa.models.adaptive_metric import AdaptiveMetric
from transa.models.base import Kernel, Model, Rows
from transa.models.transa import TransA
from transa.models.transe import TransE
from transa.models.transm import TransM
from transa.models.um import UM

MODELS: dict[str, type[Model]] = {model.name: model for model in (TransA, AdaptiveMetric, TransE, TransM, UM)}

__all__ = ["MODELS", "UM", "AdaptiveMetric", "Kernel", "Model", "Rows", "TransA", "TransE", "TransM", "build"]


def build(name: str, num_entities: int, num_relations: int, dim: int, **options: Any) -> Model:
    """Make a model by name, taking from `options` those it has."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}{suggest(name, MODELS)}; the models are {', '.join(MODELS)}")
    chosen = {option: options[option] for option in MODELS[name].options if option in options}
    return MODELS[name](num_entities, num_relations, dim, **chosen)
