"""What the paths between two entities say of a relation: a bonus for those whose composition is near to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.codes import L1, MUL, SQUARED_L2
from transa.kernels.paths import PathIndex, mark, opposite, slot_of, table_size, walk
from transa.kernels.scores import FAST


class Compositions(NamedTuple):
    """How a path becomes a vector p, and how far it is from that of a relation.

    Attributes
    ----------
    vectors
        A row for each step: the relations and then their inverses. A path of one step is this vector.
    left, right
        What the first and the second step of a longer path are before they are added, or multiplied (`kind` MUL).
    weights
        The weights of the squares for each step, with the norm DIAGONAL; otherwise without columns.
    kind, norm
        Codes of `transa.kernels.codes`.
    """

    vectors: Array
    left: Array
    right: Array
    weights: Array
    kind: int
    norm: int


class PathQuestions(NamedTuple):
    """Pairs of entities for each of which a step is in question.

    Attributes
    ----------
    fixed, steps, candidates
        The paths from ``fixed[q]`` to each of ``candidates[q]`` are asked about the step ``steps[q]``; -1 is no candidate.
    borders
        Questions of one step stand together: those of one group from ``borders[g]`` to ``borders[g + 1]``.
    """

    fixed: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    borders: npt.NDArray[np.int64]


class PathRules(NamedTuple):
    """How paths count.

    Attributes
    ----------
    bonus
        What a path whose vector is that of the relation adds; a distance is taken from it.
    relevance
        Whether each is multiplied by P(r | p).
    inverse
        Whether the paths back count as well, for the inverse of the relation.
    own
        Whether the step in question counts as a path.
    best
        Whether the best path alone counts, however reliable, in place of the mean of all by reliability.
    """

    bonus: float
    relevance: bool
    inverse: bool
    own: bool
    best: bool


@njit(fastmath=FAST)
def energy(composed, first, second, step):
    """Return how far a path is from a step."""
    vectors, left, right, weights = composed.vectors, composed.left, composed.right, composed.weights
    size = vectors.shape[1]
    single = second == len(vectors)
    total = vectors.dtype.type(0)
    for i in range(size):
        if single:
            p = vectors[first, i]
        elif composed.kind == MUL:
            p = left[first, i] * right[second, i]
        else:
            p = left[first, i] + right[second, i]
        e = p - vectors[step, i]
        if composed.norm == L1:
            total += abs(e)
        elif composed.norm == SQUARED_L2:
            total += e * e
        else:
            total += weights[step, i] * e * e
    return np.float64(total)


@njit
def _values(composed, first, second, step, relations, bonus):
    """Return the bonus of a path, less its energy, and that of the reversed path for the inverse step."""
    there = bonus - energy(composed, first, second, step)
    single = second == 2 * relations
    back = opposite(first, relations) if single else opposite(second, relations)
    forth = second if single else opposite(first, relations)
    return there, bonus - energy(composed, back, forth, opposite(step, relations))


def path_terms(
    index: PathIndex,
    composed: Compositions,
    relevance: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]],
    asked: PathQuestions,
    rules: PathRules,
) -> npt.NDArray[np.float64]:
    """Return for each candidate of each question the mean bonus of its paths by reliability, or the best one; 0 without a path.

    `relevance` is a `transa.data.paths.Relevance`.
    """
    terms = np.zeros(asked.candidates.shape)
    _path_terms(index, composed, tuple(relevance), asked, rules, terms)
    return terms


@kernel(parallel=True)
def _path_terms(index, composed, relevance, asked, rules, terms):
    relations = index.relations
    offsets, paths, probability = relevance
    fixed, steps, candidates, borders = asked.fixed, asked.steps, asked.candidates, asked.borders
    bonus, weighed, inverse, own, best = rules.bonus, rules.relevance, rules.inverse, rules.own, rules.best
    for group in prange(len(borders) - 1):
        step = steps[borders[group]]
        relation = step % relations
        begin, end = (offsets[relation], offsets[relation + 1]) if weighed else (0, 0)
        keys = np.full(table_size(end - begin), -1, np.int64)
        values = np.zeros((len(keys), 2))
        for place in range(begin, end):
            first, second = paths[place] // (2 * relations + 1), paths[place] % (2 * relations + 1)
            if step >= relations:
                single = second == 2 * relations
                back = opposite(first, relations)
                first = back if single else opposite(second, relations)
                second = second if single else back
            slot = slot_of(keys, first * (2 * relations + 1) + second)
            keys[slot] = first * (2 * relations + 1) + second
            there, back_too = _values(composed, first, second, step, relations, bonus)
            values[slot, 0] = probability[place] * there
            values[slot, 1] = probability[place] * back_too
        marks = np.full(len(index.starts) - 1, -1, np.int64)
        before = np.int64(-1)
        walked, shares = np.empty((2, 1024), np.int32), np.empty((2, 1024))
        for q in range(borders[group], borders[group + 1]):
            mark(index, before, fixed[q], marks)
            before = fixed[q]
            for c in range(candidates.shape[1]):
                if candidates[q, c] < 0:
                    continue
                number = walk(index, before, marks, candidates[q, c], walked, shares)
                if number > walked.shape[1]:
                    walked, shares = np.empty((2, 2 * number), np.int32), np.empty((2, 2 * number))
                    walk(index, before, marks, candidates[q, c], walked, shares)
                there = back = whole_there = whole_back = 0.0
                for w in range(number):
                    first, second = np.int64(walked[0, w]), np.int64(walked[1, w])
                    if not own and second == 2 * relations and first == step:
                        continue
                    whole_there += shares[0, w]
                    whole_back += shares[1, w]
                    one = other = 0.0
                    if weighed:
                        key = first * (2 * relations + 1) + second
                        slot = slot_of(keys, key)
                        if keys[slot] != -1:
                            one, other = values[slot, 0], values[slot, 1]
                    else:
                        one, other = _values(composed, first, second, step, relations, bonus)
                    if best:
                        there, back = max(there, one), max(back, other)
                    else:
                        there += shares[0, w] * one
                        back += shares[1, w] * other
                if whole_there > 0 and (inverse or step < relations):
                    terms[q, c] += there if best else there / whole_there
                if whole_back > 0 and (inverse or step >= relations):
                    terms[q, c] += back if best else back / whole_back
