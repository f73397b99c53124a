"""Models that PyKEEN trained, opened as ours: for exact ranks, predictions and explanations.

PyKEEN saves models by pickle, which may run code from a file. So we open models, not files: whoever trusts a file loads it with torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transa.data.graph import KnowledgeGraph
from transa.errors import InputError
from transa.estimator import Estimator
from transa.estimators import estimator_for
from transa.inference import Trained
from transa.training import recipe_from

#: The name of a model of ours, its settings, and its tables of relations.
Counterpart = tuple[str, dict[str, Any], dict[str, Tensor]]


def open_model(model: Any, graph: KnowledgeGraph) -> Estimator:
    """Return a trained model of PyKEEN as a fitted estimator.

    Parameters
    ----------
    model
        A `pykeen.models.ERModel` with the interaction of TransE, TransH, TransR, RESCAL, SE, NTN, UM, or of this package. If it was
        trained with inverse triples, it is opened as a directional model.
    graph
        What it was trained on, with the same ids; `graph_of` makes it of PyKEEN's factories.

    Raises
    ------
    InputError
        If no model of ours has the score of the model, or if the graph has other sizes.
    """
    name = type(getattr(model, "interaction", None)).__name__
    if name not in _READERS:
        raise InputError(f"expected a model of PyKEEN with one of {', '.join(_READERS)}, found {type(model).__name__}")
    if len(model.entity_representations) != 1:
        raise InputError(f"{type(model).__name__}: expected one vector of an entity")
    theirs = Theirs(model.interaction, _values(model.entity_representations[0]), model.num_relations)
    system, settings, tables = _READERS[name](theirs, *map(_values, model.relation_representations))
    directional = bool(model.use_inverse_triples)
    recipe = recipe_from({"model": system, "dim": theirs.entities.shape[1], "directional": directional, **settings})
    relations = model.num_relations // 2 if directional else model.num_relations
    ours = recipe.build_model(len(theirs.entities), relations)
    ordered = {f"relation.{key}": _by_direction(table) if directional else table for key, table in tables.items()}
    ours.load({"entity.vector": theirs.entities, **ordered})
    return estimator_for(recipe)._fitted(Trained(ours, graph, recipe))


@dataclass(frozen=True)
class Theirs:
    """What the readers need of a model beside its tables of relations."""

    interaction: Any
    entities: Tensor
    relations: int

    def norm(self) -> tuple[int, bool]:
        """Return 1 or 2, and whether it is the square of the L2 norm."""
        if self.interaction.p not in (1, 2):
            raise InputError(f"expected the L1 or the L2 norm, found p = {self.interaction.p}")
        return int(self.interaction.p), bool(self.interaction.power_norm) and self.interaction.p == 2

    def norm_settings(self) -> dict[str, Any]:
        """Return the norm as settings of a model that has `norm` and `root`."""
        norm, squared = self.norm()
        return {"norm": norm, "root": norm == 2 and not squared}


def _transe(theirs: Theirs, vector: Tensor) -> Counterpart:
    norm, squared = theirs.norm()
    return "transe", {"norm": norm, "squared": squared}, {"vector": vector}


def _um(theirs: Theirs) -> Counterpart:
    # Other norms than the squared L2 norm are those of a TransE whose relations are 0.
    norm, squared = theirs.norm()
    if squared:
        return "um", {}, {}
    zeros = theirs.entities.new_zeros(theirs.relations, theirs.entities.shape[1])
    return "transe", {"norm": norm}, {"vector": zeros}


def _transh(theirs: Theirs, normal: Tensor, vector: Tensor) -> Counterpart:
    # The score takes the first table for the normal, though version 1.11 keeps the second one at norm 1. Ours takes any normal.
    return "transh", theirs.norm_settings(), {"normal": normal, "vector": vector}


def _transr(theirs: Theirs, vector: Tensor, matrix: Tensor) -> Counterpart:
    most = theirs.interaction.max_projection_norm
    if most != 1:
        raise InputError(f"TransR: expected projections of a norm of at most 1, found {most:g}")
    settings = {**theirs.norm_settings(), "relation_dim": vector.shape[1], "clamp_projections": True}
    return "transr", settings, {"vector": vector, "matrix": matrix}


def _se(theirs: Theirs, head: Tensor, tail: Tensor) -> Counterpart:
    norm, squared = theirs.norm()
    if squared:
        raise InputError("SE: expected the L1 or the L2 norm, found the squared L2 norm")
    return "se", {"norm": norm}, {"head": head, "tail": tail}


def _rescal(theirs: Theirs, matrix: Tensor) -> Counterpart:
    return "rescal", {}, {"matrix": matrix}


def _ntn(theirs: Theirs, *tables: Tensor) -> Counterpart:
    if not isinstance(theirs.interaction.activation, torch.nn.Tanh):
        raise InputError(f"NTN: expected the activation Tanh, found {theirs.interaction.activation}")
    named = dict(zip(("tensor", "head", "tail", "bias", "output"), tables, strict=True))
    return "ntn", {"hidden": named["bias"].shape[1]}, named


def _transa(theirs: Theirs, vector: Tensor, metric: Tensor) -> Counterpart:
    settings = {"metric": theirs.interaction.metric, "root": theirs.interaction.root, "metric_update": "gradient"}
    if settings["metric"].endswith("lowrank"):
        settings["rank"] = metric.shape[1] - 1
    return "transa", settings, {"vector": vector, "metric": metric}


def _adaptive_metric(theirs: Theirs, vector: Tensor, factor: Tensor) -> Counterpart:
    settings = {"root": theirs.interaction.root, "metric_update": "gradient"}
    return "adaptive_metric", settings, {"vector": vector, "metric": factor @ factor.transpose(1, 2)}


#: What reads the tables of an interaction of PyKEEN, in the order in which it takes them.
_READERS: dict[str, Callable[..., Counterpart]] = {
    "TransEInteraction": _transe,
    "UMInteraction": _um,
    "TransHInteraction": _transh,
    "TransRInteraction": _transr,
    "SEInteraction": _se,
    "RESCALInteraction": _rescal,
    "NTNInteraction": _ntn,
    "TransAInteraction": _transa,
    "AdaptiveMetricInteraction": _adaptive_metric,
}


def _values(representation: Any) -> Tensor:
    """Return what a representation is for each entity or relation."""
    with torch.no_grad():
        values: Tensor = representation(indices=None)
    return values.detach().cpu().contiguous().clone()


def _by_direction(table: Tensor) -> Tensor:
    """Return a table with all relations before all inverses; PyKEEN puts each inverse behind its relation."""
    return torch.cat([table[0::2], table[1::2]])
