"""What becomes of the scores that a scan bounds: they are counted against targets, or the best of them are kept.

Each query has levels, and the scan finds out which entities score below them, above them or the same. When targets are counted, the
levels are their exact scores. When the best are kept, a query has one level, a score that the last of them does not exceed; it falls as
answers are found. A pair of query and entity is open as long as its bounds do not tell on which side of a level of the query it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from transa.kernels.bounds import ROWS
from transa.kernels.by_class import by_class
from transa.kernels.exact import exact_score, score_pairs
from transa.kernels.facts import find
from transa.kernels.scores import FAST


class Counting(NamedTuple):
    """Count for each target the entities that score better or the same; the levels of a query are those of its targets.

    Attributes
    ----------
    targets
        The entity of each level.
    counts
        Result of shape (6, targets), at first 0: entities better than the target, others equal to it, of both those that are known
        answers, and of both those that are barred.
    rescored
        Result for each task, at first 0: how many pairs had to be scored in full.
    """

    targets: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    rescored: npt.NDArray[np.int64]


class Keeping(NamedTuple):
    """Keep for each query the entities of the lowest scores that are neither known answers nor barred, the first of equal ones.

    Attributes
    ----------
    answers, scores
        Results of shape (queries, number), at first -1 and infinity: entities and their scores in double precision, in rising order.
    """

    answers: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


@by_class("reducer")
def enter(metric, vectors, questions, known, tile, space, reducer):
    """Prepare a tile that has been bounded."""


@by_class("reducer")
def narrow(tile, space, reducer):
    """Lower the levels as far as the bounds of the tile allow."""


@by_class("reducer")
def settle(metric, vectors, questions, known, tile, space, refined, reducer):
    """Take in the tile, with exact scores for pairs that are still open. `refined` tells how many have been scored in full already."""


# ---------------------------------------------------------------------------------------------------------------- open pairs


@njit(fastmath=FAST, forceinline=True)
def list_open(questions, tile, space):
    """List the pairs that are open, and return how many."""
    offsets, levels, slacks = questions.offsets, space.levels, space.slacks
    like = space.lower.dtype.type
    found = 0
    for q in range(tile.start, tile.stop):
        slack = slacks[q]
        for t in range(offsets[q], offsets[q + 1]):
            level = levels[t]
            found = _list_between(like(level - slack), like(level + slack), tile, space, q - tile.start, -1, found)
    _unlist(space, found)
    return found


@njit(fastmath=FAST, forceinline=True)
def _list_between(low, high, tile, space, row, own, found):
    """List the pairs of one query whose bounds are neither both below `low` nor both above `high`, but for column `own`."""
    lower, upper, listed = space.lower, space.upper, space.listed
    rows, columns = space.pair_rows, space.pair_columns
    for x in range(tile.width):
        if lower[row, x] <= high and low <= upper[row, x] < np.inf and x != own and not listed[row, x]:
            listed[row, x] = True
            rows[found], columns[found] = row, x
            found += 1
    return found


@njit(fastmath=FAST, forceinline=True)
def _unlist(space, found):
    """Mark the pairs of the list as if they were not in it: it has been made, and the next one may begin."""
    rows, columns, listed = space.pair_rows, space.pair_columns, space.listed
    for entry in range(found):
        listed[rows[entry], columns[entry]] = False


@njit(fastmath=FAST, forceinline=True)
def keep_open(questions, tile, space, found):
    """Keep in the list what is still open, and return how many pairs that are."""
    offsets, levels, slacks, lower, upper = questions.offsets, space.levels, space.slacks, space.lower, space.upper
    rows, columns = space.pair_rows, space.pair_columns
    like = lower.dtype.type
    left = 0
    for entry in range(found):
        row, x = rows[entry], columns[entry]
        q = tile.start + row
        slack = slacks[q]
        is_open = False
        for t in range(offsets[q], offsets[q + 1]):
            level = levels[t]
            is_open = is_open or (lower[row, x] <= like(level + slack) and upper[row, x] >= like(level - slack))
        if is_open:
            rows[left], columns[left] = row, x
            left += 1
    return left


# ------------------------------------------------------------------------------------------------------------------ counting


@enter.of(Counting)
def _score_targets(metric, vectors, questions, known, tile, space, reducer):
    """Before the first entities, score the targets of the tile's queries, and what is barred."""
    offsets, levels, targets, counts = questions.offsets, space.levels, reducer.targets, reducer.counts
    if tile.begin == 0:
        for q in range(tile.start, tile.stop):
            barred, value = known.barred[q], 0.0
            if barred >= 0:
                value = exact_score(metric, vectors, tile, space, q - tile.start, barred)
            for t in range(offsets[q], offsets[q + 1]):
                score = exact_score(metric, vectors, tile, space, q - tile.start, targets[t])
                levels[t] = score
                if barred >= 0 and barred != targets[t]:
                    counts[4, t] = value < score
                    counts[5, t] = value == score


@narrow.of(Counting)
def _leave_levels(tile, space, reducer):
    """Leave the levels of targets as they are."""


@settle.of(Counting, fastmath=FAST)
def _count(metric, vectors, questions, known, tile, space, refined, reducer):
    offsets, targets, counts, rescored = questions.offsets, reducer.targets, reducer.counts, reducer.rescored
    levels, slacks, lower, upper, answers = space.levels, space.slacks, space.lower, space.upper, known.answers
    like = lower.dtype.type
    begin, width = tile.begin, tile.width
    found = 0
    for q in range(tile.start, tile.stop):
        row, slack = q - tile.start, slacks[q]
        from_known = find(answers, known.starts[q], known.stops[q], begin)
        to_known = find(answers, from_known, known.stops[q], begin + width)
        for t in range(offsets[q], offsets[q + 1]):
            level = levels[t]
            low, high = like(level - slack), like(level + slack)
            better = near = 0
            for x in range(width):
                better += upper[row, x] < low
                near += lower[row, x] <= high
            counts[0, t] += better
            for place in range(from_known, to_known):
                counts[2, t] += answers[place] != targets[t] and upper[row, answers[place] - begin] < low
            if near - better != (begin <= targets[t] < begin + width):  # not the target alone
                found = _list_between(low, high, tile, space, row, targets[t] - begin, found)
    _unlist(space, found)
    for start in range(0, found, ROWS):
        _count_pairs(metric, vectors, questions, known, tile, space, start, min(start + ROWS, found), reducer)
    rescored[tile.task] += max(refined, found)  # those found are among those refined, if there are any


@njit(fastmath=FAST, forceinline=True)
def _count_pairs(metric, vectors, questions, known, tile, space, start, stop, reducer):
    """Count the listed pairs `start` to `stop` against the targets for which they are open."""
    offsets, targets, counts = questions.offsets, reducer.targets, reducer.counts
    rows, columns, lower, upper = space.pair_rows, space.pair_columns, space.lower, space.upper
    like = lower.dtype.type
    values = score_pairs(metric, vectors, tile, space, start, stop)
    for entry in range(start, stop):
        row, x = rows[entry], columns[entry]
        q, entity = tile.start + row, tile.begin + x
        slack = space.slacks[q]
        error = vectors.exact_error * space.extents[q]
        for t in range(offsets[q], offsets[q + 1]):
            level = space.levels[t]
            if upper[row, x] < like(level - slack) or lower[row, x] > like(level + slack) or entity == targets[t]:
                continue
            value = values[entry - start]
            if abs(value - level) <= error:
                value = exact_score(metric, vectors, tile, space, row, entity)
            if value <= level:
                which = 0 if value < level else 1
                counts[which, t] += 1
                place = find(known.answers, known.starts[q], known.stops[q], entity)
                if place < known.stops[q] and known.answers[place] == entity:
                    counts[2 + which, t] += 1


# ---------------------------------------------------------------------------------------------------------- keeping the best


@enter.of(Keeping)
def _leave_out(metric, vectors, questions, known, tile, space, reducer):
    """Leave out known answers and what is barred."""
    lower, upper, answers = space.lower, space.upper, known.answers
    for q in range(tile.start, tile.stop):
        barred = known.barred[q] - tile.begin
        if 0 <= barred < tile.width:
            lower[q - tile.start, barred] = np.inf
            upper[q - tile.start, barred] = np.inf
        from_known = find(answers, known.starts[q], known.stops[q], tile.begin)
        to_known = find(answers, from_known, known.stops[q], tile.begin + tile.width)
        for place in range(from_known, to_known):
            lower[q - tile.start, answers[place] - tile.begin] = np.inf
            upper[q - tile.start, answers[place] - tile.begin] = np.inf


@narrow.of(Keeping, fastmath=FAST, forceinline=False)  # called in three places, and long to compile
def _lower_levels(tile, space, reducer):
    """Lower levels to the score of the last answer found, or to as many upper bounds as answers are sought."""
    scores, levels, upper = reducer.scores, space.levels, space.upper
    number = scores.shape[1]
    for q in range(tile.start, tile.stop):
        row, last = q - tile.start, scores[q, number - 1]
        better = 0
        for x in range(tile.width):
            better += upper[row, x] < last
        if better >= number:
            bound = np.partition(upper[row, : tile.width], number - 1)[number - 1]
            last = min(last, np.float64(bound) + space.slacks[q])
        levels[q] = last


@settle.of(Keeping, fastmath=FAST)
def _keep(metric, vectors, questions, known, tile, space, refined, reducer):
    scores, levels, slacks, lower = reducer.scores, space.levels, space.slacks, space.lower
    last = scores.shape[1] - 1
    for q in range(tile.start, tile.stop):
        row, level, slack = q - tile.start, levels[q], slacks[q]
        for x in range(tile.width):
            if lower[row, x] < np.inf and lower[row, x] <= min(level, scores[q, last]) + slack:
                value = exact_score(metric, vectors, tile, space, row, tile.begin + x)
                _insert(value, tile.begin + x, q, reducer)


@njit(forceinline=True)
def _insert(value, entity, q, reducer):
    """Put an entity in its place among the best of query q, after those of the same score."""
    answers, scores = reducer.answers, reducer.scores
    place = number = scores.shape[1]
    while place > 0 and value < scores[q, place - 1]:
        place -= 1
    if place < number:
        for later in range(number - 1, place, -1):
            scores[q, later] = scores[q, later - 1]
            answers[q, later] = answers[q, later - 1]
        scores[q, place] = value
        answers[q, place] = entity
