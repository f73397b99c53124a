"""The facts as rules walk them: from an entity along a relation, forwards or backwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from transa.kernels.arguments import Array


class RuleIndex(NamedTuple):
    """The neighbours of each entity, in rows.

    A step is a relation with its direction: of m relations, step s < m goes from head to tail of relation s, and step s + m back. A
    row holds the entities that one step reaches from one entity. Facts from an entity to itself are left out.

    Attributes
    ----------
    relations
        The number m of relations.
    owners, steps
        The entity and the step of each row, sorted by both.
    starts, ends
        Row g reaches ``ends[starts[g]:starts[g + 1]]``, sorted.
    back
        For each entry of `ends`, the row in which its fact stands the other way round.
    first
        The rows of entity x are ``first[x]`` to ``first[x + 1]``.
    order, borders
        The rows of step s are ``order[borders[s]:borders[s + 1]]``.
    fact_first, fact_tails, fact_relations
        The facts with head x are ``fact_first[x]`` to ``fact_first[x + 1]``, sorted by tail.
    """

    relations: int
    owners: Array
    steps: Array
    starts: Array
    ends: Array
    back: Array
    first: Array
    order: Array
    borders: Array
    fact_first: Array
    fact_tails: Array
    fact_relations: Array


@njit
def row_of(index, entity, step):
    """Return the row of an entity and a step, or -1 if it reaches nothing."""
    low, stop = index.first[entity], index.first[entity + 1]
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if index.steps[middle] < step:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and index.steps[low] == step else -1


@njit
def opposite(step, relations):
    """Return the step that leads back."""
    return step + relations if step < relations else step - relations


@njit
def longer(values):
    """Return an array of twice the length with the same beginning."""
    larger = np.empty(2 * len(values), values.dtype)
    larger[: len(values)] = values
    return larger
