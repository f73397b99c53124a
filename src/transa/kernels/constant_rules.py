"""Counts of rules with a constant: r(x, c) <= s(x, d), and r(x, c) <= s(x, z) for any z."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transa.kernels.cache import kernel
from transa.kernels.rule_index import RuleIndex, opposite


def count_constants(
    index: RuleIndex, step: int, support: int, confidence: float, discount: float, most: int
) -> npt.NDArray[np.int64]:
    """Return the rules that a step from x leads to a constant, as rows of (row of c, body, support, body size, PCA body size).

    The row of a constant c holds the entities that the step leads to c. The body is such a row of d, or ``-1 - s`` for any s(x, z).

    Parameters
    ----------
    index
        The facts.
    step
        The step of the head.
    support, confidence, discount
        Rules of less support are left out, and those of less confidence: support / (body size + discount).
    most
        How many rules a constant has at most, those of the highest confidence.
    """
    found: npt.NDArray[np.int64] = _count_constants(index, step, support, confidence, discount, most)
    return found


@kernel(nogil=True)
def _count_constants(index, step, support, confidence, discount, most):
    rows, steps = len(index.owners), len(index.borders) - 1
    size, asked = rows + steps, opposite(step, index.relations)
    counts, having, touched = np.zeros(size, np.int64), np.zeros(size, np.int64), np.empty(size, np.int64)
    for place in range(index.borders[step], index.borders[step + 1]):  # the bodies of those that have the step at all
        x = index.owners[index.order[place]]
        for row in range(index.first[x], index.first[x + 1]):
            having[rows + index.steps[row]] += 1
            for at in range(index.starts[row], index.starts[row + 1]):
                having[index.back[at]] += 1
    found, number = np.empty((64, 5), np.int64), 0
    for place in range(index.borders[asked], index.borders[asked + 1]):
        answer = index.order[place]
        if index.starts[answer + 1] - index.starts[answer] < support:
            continue
        seen = 0
        for member in range(index.starts[answer], index.starts[answer + 1]):
            x = index.ends[member]
            for row in range(index.first[x], index.first[x + 1]):
                body = rows + index.steps[row]
                if counts[body] == 0:
                    touched[seen] = body
                    seen += 1
                counts[body] += 1
                for at in range(index.starts[row], index.starts[row + 1]):
                    body = index.back[at]
                    if counts[body] == 0:
                        touched[seen] = body
                        seen += 1
                    counts[body] += 1
        begin = number
        for which in range(seen):
            body = touched[which]
            count, counts[body] = counts[body], 0
            if body < rows:
                total = index.starts[body + 1] - index.starts[body]
            else:
                total = index.borders[body - rows + 1] - index.borders[body - rows]
            if count < support or count < confidence * (total + discount) or body == answer or body == rows + step:
                continue
            if number == len(found):
                larger = np.empty((2 * number, 5), np.int64)
                larger[:number] = found
                found = larger
            found[number, 0], found[number, 1] = answer, body if body < rows else rows - 1 - body
            found[number, 2], found[number, 3], found[number, 4] = count, total, having[body]
            number += 1
        if number - begin > most:
            part = found[begin:number]
            order = np.argsort(-part[:, 2] / (part[:, 3] + discount), kind="mergesort")[:most]
            best = part[np.sort(order)]
            found[begin : begin + most] = best
            number = begin + most
    return found[:number].copy()
