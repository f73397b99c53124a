"""The type penalty: an answer whose types do not fit the asked side of a relation scores worse, by a weight that valid has taught.

Which types fit is what the graph says of the relation (`transa.data.types`). Where it says nothing of a side, those fit that entities
have there in train, and in a graph without types the roles of entities in train serve as types. One fitting type of several is enough,
and an entity without a type fits everywhere. Nothing is forbidden: a weight is the price of a misfit in units of the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data.types import Types
from transa.errors import InputError

if TYPE_CHECKING:
    from transa.choices import Side
    from transa.data import KnowledgeGraph

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TypePenalty:
    """Which entities fit where, and what a misfit costs.

    Of m relations, step r asks for tails and step r + m for heads.

    Attributes
    ----------
    members
        Rows of a type and an entity of it, sorted.
    fitting
        Rows of a step and a type that fits there, sorted.
    weights
        What a misfit adds to the score, for each step.
    size
        The number of entities.
    """

    members: Pairs
    fitting: Pairs
    weights: npt.NDArray[np.float64]
    size: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> TypePenalty:
        """Return what the types of a graph say, at no cost for a misfit yet."""
        given, count = graph.types, len(graph.relations)
        typed = given is not None and len(given.entities) > 0
        types = given if typed and given is not None else Types.roles(graph)
        stated = np.concatenate([types.ranges, types.domains + np.array([count, 0])])
        fitting = np.concatenate([stated, _seen(graph, types, stated)]) if typed else stated
        return cls(
            np.unique(types.entities[:, ::-1], axis=0),
            np.unique(fitting, axis=0),
            np.zeros(2 * count),
            len(graph.entities),
        )

    def weighed(self, weights: npt.NDArray[np.float64]) -> TypePenalty:
        """Return the same at other costs."""
        return replace(self, weights=weights)

    @cached_property
    def _typed(self) -> npt.NDArray[np.bool_]:
        found = np.zeros(self.size, bool)
        found[self.members[:, 1]] = True
        return found

    def misfits(self, step: int) -> npt.NDArray[np.bool_]:
        """Tell of each entity whether none of its types fits a step."""
        first, last = np.searchsorted(self.fitting[:, 0], [step, step + 1])
        kinds = self.fitting[first:last, 1]
        if not len(kinds):
            return np.zeros(self.size, bool)
        found = self._typed.copy()
        for begin, end in np.searchsorted(self.members[:, 0], np.stack([kinds, kinds + 1], axis=1)):
            found[self.members[begin:end, 1]] = False
        return found

    def misfits_of(self, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return the misfits of several steps, of shape (steps, entities)."""
        different, owner = np.unique(steps, return_inverse=True)
        rows = [self.misfits(int(step)) for step in different]
        return np.stack(rows)[owner] if rows else np.zeros((0, self.size), bool)

    def of_triples(self, triples: npt.NDArray[Any], side: Side) -> npt.NDArray[np.float64]:
        """Return what is added to the score of triples as answers to the question about one side."""
        column, shift = (0, len(self.weights) // 2) if side == "head" else (2, 0)
        steps, found = triples[:, 1] + shift, np.zeros(len(triples))
        for step in np.unique(steps[self.weights[steps] > 0]).tolist():
            rows = np.flatnonzero(steps == step)
            found[rows] = self.weights[step] * self.misfits(step)[triples[rows, column]]
        return found

    def tensors(self) -> dict[str, Tensor]:
        """Return everything as tensors, which are saved with the model."""
        return {name: torch.from_numpy(getattr(self, name)) for name in ("members", "fitting", "weights")}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor], size: int, relations: int) -> TypePenalty:
        """Return the penalty that `tensors` kept, for a model of so many entities and relations of the graph.

        Raises
        ------
        InputError
            If something is missing or does not fit the model.
        """
        try:
            pairs = [tensors[name].to(torch.int64).numpy().reshape(-1, 2) for name in ("members", "fitting")]
            weights = tensors["weights"].double().numpy()
        except (KeyError, RuntimeError, ValueError) as error:
            raise InputError(f"weights: the type penalty cannot be read ({error})") from None
        for found, column, limit in ((pairs[0], 1, size), (pairs[1], 0, 2 * relations)):
            if len(found) and not (found.min() >= 0 and found[:, column].max() < limit):
                raise InputError("weights: the type penalty does not fit the model")
        if weights.shape != (2 * relations,) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError("weights: the type penalty does not fit the model")
        members, fitting = (np.unique(found, axis=0) for found in pairs)
        return cls(members, fitting, weights, size)


def _seen(graph: KnowledgeGraph, types: Types, stated: Pairs) -> Pairs:
    """Return the types that entities have in train on the sides of which nothing is stated, as pairs of step and type."""
    count, train = len(graph.relations), graph.train.astype(np.int64)
    asked = [np.stack([train[:, 1], train[:, 2]], axis=1), np.stack([train[:, 1] + count, train[:, 0]], axis=1)]
    pairs = np.unique(np.concatenate(asked), axis=0)
    pairs = pairs[~np.isin(pairs[:, 0], stated[:, 0])]
    sizes = np.diff(types.offsets)[pairs[:, 1]]
    first = np.repeat(types.offsets[pairs[:, 1]] - (np.cumsum(sizes) - sizes), sizes)
    kinds = types.entities[first + np.arange(int(sizes.sum())), 1]
    return np.unique(np.stack([np.repeat(pairs[:, 0], sizes), kinds], axis=1), axis=0)
