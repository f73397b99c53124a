"""Which rules may answer a question: those whose body the given entity begins, or whose constant it is."""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.facts import find
from transa.kernels.rule_index import longer, opposite, row_of


@njit
def _has(index, x, body):
    """Tell whether an entity fulfils the body of a rule with a constant."""
    if body < 0:
        return row_of(index, x, -1 - body) >= 0
    stop = index.starts[body + 1]
    place = find(index.ends, index.starts[body], stop, x)
    return place < stop and index.ends[place] == x


@njit
def fired(index, tables, x, step, only):
    """Return the rules that may say something about a question, or about one answer to it, by falling weight.

    They are (weights, kinds, places). Of kind 0 are chains, with their place in `chain_steps`; of kind 1, rules that conclude a
    constant, with their place in `body_answers`; of kind 2, those that conclude the constant x or the one answer, with their place
    in `answer_bodies`.
    """
    rows, relations = len(index.owners), index.relations
    answer = row_of(index, x, step)
    weights, kinds, places, size = np.empty(64), np.empty(64, np.int8), np.empty(64, np.int64), 0
    for rule in range(tables.chain_first[step], tables.chain_first[step + 1]):
        if row_of(index, x, tables.chain_steps[rule, 0]) < 0:
            continue
        if only >= 0:
            last = tables.chain_steps[rule, 0]
            for place in range(1, tables.chain_steps.shape[1]):
                last = last if tables.chain_steps[rule, place] < 0 else tables.chain_steps[rule, place]
            if row_of(index, only, opposite(last, relations)) < 0:
                continue
        weights, kinds, places, size = _added(weights, kinds, places, size, tables.chain_weights[rule], 0, rule)
    for side in range(
        2 if only >= 0 else 1
    ):  # rules that conclude the constant x, and those that conclude the one answer
        row, other = (answer, only) if side == 0 else (row_of(index, only, opposite(step, relations)), x)
        if row >= 0:
            for rule in range(tables.answer_first[row], tables.answer_first[row + 1]):
                if only < 0 or _has(index, other, tables.answer_bodies[rule]):
                    weight = tables.answer_weights[rule]
                    weights, kinds, places, size = _added(weights, kinds, places, size, weight, 2, rule)
    # those that conclude any other constant are found by their bodies, if there are any
    end = index.first[x + 1] if only < 0 and len(tables.body_steps) else index.first[x]
    for row in range(index.first[x], end):
        start, stop = index.starts[row], index.starts[row + 1]
        for at in range(start - 1, stop):
            body = rows + index.steps[row] if at < start else index.back[at]
            low, last = tables.body_first[body], tables.body_first[body + 1]
            high = last
            while low < high:
                middle = (low + high) >> 1
                if tables.body_steps[middle] < step:
                    low = middle + 1
                else:
                    high = middle
            while low < last and tables.body_steps[low] == step:
                weight = tables.body_weights[low]
                weights, kinds, places, size = _added(weights, kinds, places, size, weight, 1, low)
                low += 1
    order = np.argsort(-weights[:size], kind="mergesort")
    return weights[order], kinds[order], places[order]


@njit
def _added(weights, kinds, places, size, weight, kind, place):
    """Return lists of rules with one more, and how many there are."""
    if size == len(weights):
        weights, kinds, places = longer(weights), longer(kinds), longer(places)
    weights[size], kinds[size], places[size] = weight, kind, place
    return weights, kinds, places, size + 1
