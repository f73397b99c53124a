"""Scores that compiled kernels train with, one file each. A file that defines a score is all it takes: it is found here.

A score is a dissimilarity of one triple, as a function on rows of tables, and its gradient (`RowScore`). The full metric works on
groups of triples of one relation instead, as matrix products (`GroupScore`). A model names its score in `Model.kernel`.

The functions take tables and row numbers, not rows: numba counts the owners of a row that is cut out as an array of its own, by
atomic operations for which threads wait. They are always inlined (`inlined`): a function compiled twice, once by itself and once
with its caller, may round differently, and results would depend on whether the compiled code came from the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from numba import njit

from transa.errors import InputError

#: Reordering of sums lets the compiler use vector instructions. NaN and infinity keep their meaning.
FAST = {"reassoc", "nsz", "arcp", "contract"}
#: Leaves the order of sums alone, for what need not be faster; see `in_order`.
ORDERED = {"contract"}


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, always as a part of its caller."""
    return njit(fastmath=FAST, forceinline=True)(function)


def in_order(function: Callable[..., Any]) -> Any:
    """Compile a function like `inlined`, but keep the order of its operations.

    Numba optimises a parallel loop twice and keeps the second result on disk. If the second pass orders a sum of three or more terms
    differently, results depend on whether a kernel came from the disk. ``tests/kernels/test_cache.py`` compares the two.
    """
    return njit(fastmath=ORDERED, forceinline=True)(function)


@inlined
def no_excess(vectors, relation, extra, row):
    """Return that a relation violates no soft constraint."""
    return 0.0


@inlined
def no_finish(vectors, relation, extra, row, soft_penalty, factors, gradients, b, extra_gradients):
    """Leave the gradients of a positive and its negatives as they are."""


@dataclass(frozen=True, eq=False)
class RowScore:
    """A score on single rows. All functions are `inlined`; `relation` is a row of `vectors`, and `row` the number of the relation.

    Attributes
    ----------
    name
        By which `Model.kernel` refers to it.
    value
        ``value(vectors, head, relation, tail, extra, row)`` returns the score.
    differentiate
        ``differentiate(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b)`` adds
        factor times the gradient. `places` says where: see `add_gradients`. `value` is the score. The gradient by ``extra[row]`` is
        added to ``extra_gradients[b]``, which has no rows where `extra` is not learned.
    excess
        ``excess(vectors, relation, extra, row)`` returns by how much a relation violates the model's soft constraints.
    finish
        ``finish(vectors, relation, extra, row, soft_penalty, factors, gradients, b, extra_gradients)`` completes the gradients of
        positive `b` and its negatives: `factors` is 0 for the negatives that have none.
    ranking
        The code of `transa.kernels.codes` by which the ranking kernels compute it; None where torch ranks.
    """

    name: str
    value: Any
    differentiate: Any
    excess: Any = no_excess
    finish: Any = no_finish
    ranking: int | None = None


@dataclass(frozen=True, eq=False)
class GroupScore:
    """A full metric, ``e^T W_r e``: see `transa.kernels.full_metric`.

    Attributes
    ----------
    name, ranking
        As of a `RowScore`.
    absolute
        Whether W_r weighs |e| in place of e.
    """

    name: str
    absolute: bool
    ranking: int | None = None


Score = RowScore | GroupScore


@inlined
def add_gradients(gradients, places, i, by_head, by_relation, by_tail):
    """Add entry i of the gradients by head, relation and tail of a triple where they belong.

    `gradients` has 3 + K rows for each positive: its head, its tail, its relation, and the entities of its K negatives. `places`
    holds the row of the triple's own entity, the first row of the positive, and what the triple is: -1 the positive itself, 1 a
    negative whose entity replaces the head, 0 one whose entity replaces the tail. The positive comes first and overwrites what was
    there.
    """
    own, base, side = places
    if side < 0:
        gradients[base, i] = by_head
        gradients[base + 1, i] = by_tail
        gradients[base + 2, i] = by_relation
    elif side == 1:
        gradients[own, i] = by_head
        gradients[base + 1, i] += by_tail
        gradients[base + 2, i] += by_relation
    else:
        gradients[own, i] = by_tail
        gradients[base, i] += by_head
        gradients[base + 2, i] += by_relation


_SCORES: dict[str, Score] = {}


def register(score: Score) -> Score:
    """Make a score known by its name; one from outside the package is registered where it is defined."""
    if _SCORES.setdefault(score.name, score) is not score:
        raise ValueError(f"there is a score called {score.name!r} already")
    return score


def find_score(name: str) -> Score:
    """Return a score by its name.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    if name not in _SCORES:
        raise InputError(f"no compiled score is called {name!r}; there are {', '.join(sorted(_SCORES))}")
    return _SCORES[name]
