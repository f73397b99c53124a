"""What rules say: the evidence for each answer to a question, and the ranks that follow from it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import get_num_threads, njit

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.facts import find
from transa.kernels.rule_firing import fired
from transa.kernels.rule_index import RuleIndex, opposite, row_of

#: Questions that one task answers.
BLOCK = 32
#: The evidence of the strongest rules is written in digits to this base: the first rule decides, of equal ones the second, and so on.
LEVELS, BASE = 3, 8192


class RuleTables(NamedTuple):
    """Rules as questions find them: given x and a step, what does the step lead to? A weight is -log(1 - confidence).

    Attributes
    ----------
    chain_first, chain_steps, chain_weights
        The bodies of chains that conclude step s are ``chain_first[s]`` to ``chain_first[s + 1]``.
    answer_first, answer_bodies, answer_weights
        The rules that conclude a constant, by its row (`transa.kernels.rule_index.RuleIndex`): a body is a row, or ``-1 - s``.
    body_first, body_steps, body_answers, body_weights
        The same rules by body, a row or ``rows + s``: the steps they conclude, sorted, and the rows of the constants.
    discount
        What the number of an entity's facts is divided by, beyond that of all entities, where no rule tells more.
    strongest
        How many rules count, the strongest; 0: all.
    maximum
        Whether the strongest rule decides, and further ones only between equals.
    """

    chain_first: Array
    chain_steps: Array
    chain_weights: Array
    answer_first: Array
    answer_bodies: Array
    answer_weights: Array
    body_first: Array
    body_steps: Array
    body_answers: Array
    body_weights: Array
    discount: float
    strongest: int
    maximum: bool


class Answers(NamedTuple):
    """The answers to some questions, in turn.

    Attributes
    ----------
    first
        Those of question q are ``first[q]`` to ``first[q + 1]``.
    entities, evidence
        The entities that rules reach or that answer such a question in train, sorted, and the evidence for each.
    """

    first: npt.NDArray[np.int64]
    entities: npt.NDArray[np.int32]
    evidence: npt.NDArray[np.float64]


def answers(index: RuleIndex, tables: RuleTables, given: Array, steps: Array, ends: Array | None = None) -> Answers:
    """Return the evidence for the answers to questions: what do the steps lead to from the given entities?

    With `ends`, only they are looked at, one for each question.
    """
    asked = np.empty(0, np.int64) if ends is None else ends

    def part(begin: int) -> tuple[Array, Array, Array]:
        end = begin + BLOCK
        found: tuple[Array, Array, Array] = _answers(
            index, tables, given[begin:end], steps[begin:end], asked[begin:end] if len(asked) else asked
        )
        return found

    with ThreadPoolExecutor(get_num_threads()) as pool:
        parts = list(pool.map(part, range(0, len(given), BLOCK)))
    if not parts:
        return Answers(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))
    sizes = np.concatenate([np.diff(first) for first, _, _ in parts])
    every = (np.concatenate([each[column] for each in parts]) for column in (1, 2))
    return Answers(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), *every)


def count_answers(
    found: Answers, targets: tuple[Array, Array], known: tuple[Array, Array, Array], barred: Array, entities: int
) -> npt.NDArray[np.int64]:
    """Count for each target what has more evidence and what has as much, as `transa.evaluation.queries.RankCounts` says.

    `targets` are the offsets of each question and its targets, `known` the starts and stops of known answers and these, and
    `entities` says how many candidates there are: those without evidence are not among the answers.
    """
    counts = np.zeros((6, len(targets[1])), np.int64)
    _count(*found, *targets, *known, barred, entities, counts)
    return counts


def firing(index: RuleIndex, tables: RuleTables, given: int, step: int, end: int) -> npt.NDArray[Any]:
    """Return the rules that speak for an answer, the strongest first, as rows of (kind, place).

    Of kind 0 are chains, with their place in `chain_steps`; of kind 2, rules that conclude the constant `given` or `end`, with their
    place in `answer_bodies`.
    """
    found: npt.NDArray[Any] = _firing(index, tables, given, step, end)
    return found


@njit
def _note(y, rule, weight, tables, place, latest, found, size, value, hits):
    """Note that a rule speaks for y; return how many answers there are."""
    if place[y] < 0:
        place[y] = size
        found[size], value[size], hits[size], latest[size] = y, 0.0, 0, -1
        size += 1
    at = place[y]
    if latest[at] == rule:
        return size
    latest[at] = rule
    if tables.maximum:
        if hits[at] < LEVELS:
            value[at] = value[at] * BASE + math.floor(-math.expm1(-weight) * (BASE - 1))
    elif tables.strongest == 0 or hits[at] < tables.strongest:
        value[at] += weight
    hits[at] += 1
    return size


@njit
def _walk(index, tables, x, rule, number, only, place, latest, found, size, value, hits):
    """Follow a chain from x and note all it reaches, or only one entity; return how many answers there are."""
    steps, weight = tables.chain_steps[rule], tables.chain_weights[rule]
    most = len(steps)
    length = most
    while steps[length - 1] < 0:
        length -= 1
    # the way is here[0] = x, here[1], ..., and at[l] to ends[l] are what may stand at here[l + 1]
    here, at, ends = np.empty(most + 1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    here[0] = x
    level, row = 0, row_of(index, x, steps[0])
    while True:
        if level < length - 1:
            at[level], ends[level] = index.starts[row], index.starts[row + 1]
        else:
            begin, end = index.starts[row], index.starts[row + 1]
            if only >= 0:  # it stands at one place, if anywhere
                begin = find(index.ends, begin, end, only)
                end = begin + (begin < end and index.ends[begin] == only)
            for last in range(begin, end):
                y = index.ends[last]
                if not _stands(here, level, y):
                    size = _note(y, number, weight, tables, place, latest, found, size, value, hits)
            level -= 1
        while level >= 0:  # to the next entity from which the chain goes on
            if at[level] == ends[level]:
                level -= 1
                continue
            y = index.ends[at[level]]
            at[level] += 1
            row = -1 if _stands(here, level, y) else row_of(index, y, steps[level + 1])
            if row >= 0:
                here[level + 1] = y
                break
        if level < 0:
            return size
        level += 1


@njit
def _stands(here, level, y):
    """Tell whether a way passes through y up to a level."""
    for place in range(level + 1):  # noqa: SIM110 (compiled)
        if here[place] == y:
            return True
    return False


@njit
def _members(index, body):
    """Return the entities that fulfil the body of a rule with a constant."""
    if body >= 0:
        return index.ends[index.starts[body] : index.starts[body + 1]]
    return index.owners[index.order[index.borders[-1 - body] : index.borders[-body]]]


@njit
def _answer(index, tables, x, step, only, place, latest, found, value, hits):
    """Find the answers to a question, all or only one, and the evidence for each; return how many there are.

    `place` holds -1 for every entity, before and after.
    """
    size = 0
    if only == x:  # no rule concludes that
        return size
    weights, kinds, places = fired(index, tables, x, step, only)
    enough = LEVELS if tables.maximum else tables.strongest
    for number in range(len(weights)):
        if only >= 0 and size and 0 < enough <= hits[0]:  # weaker rules change nothing
            break
        weight, rule = weights[number], places[number]
        if kinds[number] == 0:
            size = _walk(index, tables, x, rule, number, only, place, latest, found, size, value, hits)
        elif kinds[number] == 1:
            y = index.owners[tables.body_answers[rule]]
            if y != x:
                size = _note(y, number, weight, tables, place, latest, found, size, value, hits)
        elif only >= 0:
            size = _note(only, number, weight, tables, place, latest, found, size, value, hits)
        else:
            for y in _members(index, tables.answer_bodies[rule]):
                if y != x:
                    size = _note(y, number, weight, tables, place, latest, found, size, value, hits)
    asked = opposite(step, index.relations)
    begin, end = index.borders[asked], index.borders[asked + 1]
    total = index.borders[step + 1] - index.borders[step] + tables.discount
    lone = -1 if only < 0 else row_of(index, only, asked)
    if only >= 0:
        begin, end = 0, int(lone >= 0)
    for at in range(begin, end):  # what answers such questions in train
        row = index.order[at] if only < 0 else lone
        y = index.owners[row]
        if y == x:
            continue
        if place[y] < 0:
            place[y] = size
            found[size], value[size], hits[size] = y, 0.0, 0
            size += 1
        share = (index.starts[row + 1] - index.starts[row]) / total
        if not tables.maximum:
            value[place[y]] -= math.log1p(-share)
        elif hits[place[y]] < LEVELS:
            for _ in range(LEVELS - hits[place[y]]):
                value[place[y]] *= BASE
            value[place[y]] += share * 0.999
            hits[place[y]] = LEVELS
        else:
            value[place[y]] += share * 0.999
    for at in range(size):
        place[found[at]] = -1
        if tables.maximum:
            for _ in range(LEVELS - hits[at]):
                value[at] *= BASE
            value[at] = -math.log1p(-value[at] / BASE**LEVELS)
    return size


@kernel(nogil=True)
def _answers(index, tables, given, steps, ends):
    entities = len(index.first) - 1
    place, latest = np.full(entities, -1, np.int32), np.empty(entities, np.int32)
    found, value, hits = np.empty(entities, np.int32), np.empty(entities), np.empty(entities, np.int32)
    first = np.zeros(len(given) + 1, np.int64)
    every, evidence = np.empty(1024, np.int32), np.empty(1024)
    for question in range(len(given)):
        only = ends[question] if len(ends) else -1
        size = _answer(index, tables, given[question], steps[question], only, place, latest, found, value, hits)
        begin = first[question]
        while begin + size > len(every):
            longer, more = np.empty(2 * len(every), np.int32), np.empty(2 * len(every))
            longer[:begin], more[:begin] = every[:begin], evidence[:begin]
            every, evidence = longer, more
        order = np.argsort(found[:size])
        every[begin : begin + size], evidence[begin : begin + size] = found[:size][order], value[:size][order]
        first[question + 1] = begin + size
    return first, every[: first[-1]].copy(), evidence[: first[-1]].copy()


@kernel(nogil=True)
def _firing(index, tables, x, step, end):
    entities = len(index.first) - 1
    place, latest = np.full(entities, -1, np.int32), np.empty(entities, np.int32)
    found, value, hits = np.empty(1, np.int32), np.empty(1), np.empty(1, np.int32)
    weights, kinds, places = fired(index, tables, x, step, end)
    speaking, number = np.empty((len(weights), 2), np.int64), 0
    for rule in range(len(weights) if x != end else 0):
        speaks = True
        if kinds[rule] == 0:
            speaks = _walk(index, tables, x, places[rule], 0, end, place, latest, found, 0, value, hits) > 0
            place[end] = -1
        if speaks:
            speaking[number, 0], speaking[number, 1] = kinds[rule], places[rule]
            number += 1
    return speaking[:number].copy()


@kernel(nogil=True)
def _count(first, entities, evidence, offsets, targets, starts, stops, known, barred, number, counts):
    for question in range(len(first) - 1):
        begin, end = first[question], first[question + 1]
        for at in range(offsets[question], offsets[question + 1]):
            target = targets[at]
            place = find(entities, begin, end, target)
            reached = place < end and entities[place] == target
            own = evidence[place] if reached else 0.0
            for other in range(begin, end):
                counts[0, at] += evidence[other] > own
                counts[1, at] += evidence[other] == own and entities[other] != target
            if own == 0.0:
                counts[1, at] += number - (end - begin) - (not reached)
            for kind in range(2):
                low = starts[question] if kind == 0 else 0
                high = stops[question] if kind == 0 else 1
                for which in range(low, high):
                    entity = known[which] if kind == 0 else barred[question]
                    if entity == target or entity == -1:
                        continue
                    place = find(entities, begin, end, entity)
                    other_own = evidence[place] if place < end and entities[place] == entity else 0.0
                    counts[2 + 2 * kind, at] += other_own > own
                    counts[3 + 2 * kind, at] += other_own == own
