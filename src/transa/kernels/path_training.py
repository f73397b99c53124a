"""Training with a loss for triples and one for paths, example by example: corruption, both losses, gradients and steps at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from transa.kernels.arguments import Array, Step
from transa.kernels.cache import kernel
from transa.kernels.codes import DIAGONAL, L1, MUL, RNN, SQUARED_L2
from transa.kernels.facts import absent, find
from transa.kernels.losses import loss_and_factors
from transa.kernels.optimizers import update_row
from transa.kernels.paths import PathIndex
from transa.kernels.random import below, draw, unit
from transa.kernels.scores import FAST

#: Who owns a row of the joint table.
ENTITY, RELATION, METRIC = range(3)


class PathExamples(NamedTuple):
    """The triples of a block, each from one of its ends.

    Attributes
    ----------
    triples, spans
        All triples, and where their known heads and tails start and stop (`transa.data.Corruptor.spans`).
    heads, tails
        The known heads and tails.
    order, start, stop
        The examples of the block are ``order[start:stop]``: i is triple i, and i + triples the same from tail to head by the inverse.
    offsets, first, second, weight
        The paths of each example (`transa.data.paths.KeptPaths`).
    """

    triples: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int64]
    heads: npt.NDArray[np.int32]
    tails: npt.NDArray[np.int32]
    order: npt.NDArray[np.int64]
    start: int
    stop: int
    offsets: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float32]


class PathObjective(NamedTuple):
    """Both losses.

    Attributes
    ----------
    loss, margin, temperature, negligible
        The loss of triples; see `transa.kernels.losses`.
    negatives, relation_share
        Negatives of each example, and how often one replaces the relation.
    path_margin, path_samples
        The margin of the loss of paths, and how many of them are drawn for an example; 0: all count.
    norm, kind
        How residuals are measured and paths composed (`transa.kernels.codes`).
    """

    loss: int
    margin: float
    temperature: float
    negligible: float
    negatives: int
    relation_share: float
    path_margin: float
    path_samples: int
    norm: int
    kind: int


@njit(fastmath=FAST, forceinline=True)
def _length(norm, residuals, place, table, weights):
    """Return the length of a residual; `weights` is the row of its metric."""
    total = residuals.dtype.type(0)
    if norm == L1:
        for i in range(residuals.shape[1]):
            total += abs(residuals[place, i])
    elif norm == SQUARED_L2:
        for i in range(residuals.shape[1]):
            total += residuals[place, i] * residuals[place, i]
    else:
        for i in range(residuals.shape[1]):
            total += table[weights, i] * residuals[place, i] * residuals[place, i]
    return total


@njit(fastmath=FAST, forceinline=True)
def _slopes(norm, residuals, place, table, weights, factor, gradients, to):
    """Turn a residual into the gradient of factor times its length, and add that of the metric to ``gradients[to]``."""
    size = residuals.shape[1]
    if norm == L1:
        for i in range(size):
            e = residuals[place, i]
            residuals[place, i] = factor if e > 0 else (-factor if e < 0 else 0 * factor)
    elif norm == SQUARED_L2:
        for i in range(size):
            residuals[place, i] *= 2 * factor
    else:
        for i in range(size):
            e = residuals[place, i]
            gradients[to, i] += factor * e * e
            residuals[place, i] = 2 * factor * table[weights, i] * e


def train_paths(
    examples: PathExamples,
    index: PathIndex,
    objective: PathObjective,
    key: np.uint64,
    step: Step,
    table: Array,
    first: Array,
    second: Array,
    sides: Array,
    pulls: Array,
) -> tuple[float, float, int]:
    """Take a step for each example of a block.

    Every gradient is computed from the state before its example.

    Parameters
    ----------
    examples, index, objective
        What to learn, from which triples, by which losses.
    key
        The key of the random numbers of this epoch.
    step
        The step, with values for entities, relations and metrics.
    table, first, second
        The rows of entities, of relations, of their inverses and, with DIAGONAL, of the metrics of both; the optimiser's state.
    sides, pulls
        With RNN, of shape (2, steps, k): what steps are before they are added, and the sums of the gradients with respect to it.

    Returns
    -------
    tuple of float, float and int
        The loss of triples, the loss of paths, and how many negatives violate.
    """
    found = _train_paths(examples, index, objective, key, step, table, first, second, sides, pulls)
    return float(found[0]), float(found[1]), int(found[2])


@kernel(fastmath=FAST)
def _train_paths(examples, index, objective, key, step, table, first, second, sides, pulls):
    triples, spans, order = examples.triples, examples.spans, examples.order
    offsets, firsts, seconds, weights = examples.offsets, examples.first, examples.second, examples.weight
    entities, relations, size = len(index.starts) - 1, index.relations, table.shape[1]
    negatives, norm, kind = objective.negatives, objective.norm, objective.kind
    metrics = entities + 2 * relations
    like = table.dtype.type
    most = 0
    for position in range(examples.start, examples.stop):
        most = max(most, offsets[order[position] + 1] - offsets[order[position]])
    most = objective.path_samples if objective.path_samples else most
    residuals = np.empty((max(1 + negatives, 2), size), table.dtype)
    scores, factors = np.empty((1, 1 + negatives), table.dtype), np.empty((1, 1 + negatives), table.dtype)
    ends = np.empty((1 + negatives, 3), np.int64)  # the rows of each triple: head, relation, tail
    changed = np.empty(1 + negatives, np.int64)  # which of the three a negative replaces
    gradients = np.empty((6 + 2 * negatives + 2 * most, size), table.dtype)
    rows = np.empty(len(gradients), np.int64)
    loss = path_loss = 0.0
    violations = 0
    for position in range(examples.start, examples.stop):
        example = order[position]
        turned = example >= len(triples)
        row = example - len(triples) if turned else example
        head, tail = np.int64(triples[row, 0]), np.int64(triples[row, 2])
        relation = np.int64(triples[row, 1])
        if turned:
            head, tail, relation = tail, head, relation + relations
        linked = find(index.others, index.starts[head], index.starts[head + 1], tail)
        until = linked
        while until < index.starts[head + 1] and index.others[until] == tail:
            until += 1
        unlinked = 2 * relations - (until - linked)
        counter = position * (negatives + 1 + objective.path_samples)
        # ------------------------------------------------------------ the triple and its negatives
        ends[0, 0], ends[0, 1], ends[0, 2] = head, entities + relation, tail
        for j in range(1 + negatives):
            for c in range(3):
                ends[j, c] = ends[0, c]
            if j > 0:
                bits = draw(key, np.uint64(counter + j - 1))
                chance = unit(bits)
                if chance < objective.relation_share and unlinked > 0:
                    changed[j] = 1
                    ends[j, 1] = entities + absent(index.steps, linked, until, below(bits, unlinked))
                else:
                    at_head = chance - objective.relation_share < (1 - objective.relation_share) / 2
                    free_heads = entities - (spans[row, 1] - spans[row, 0])
                    free_tails = entities - (spans[row, 3] - spans[row, 2])
                    if (at_head != turned and free_heads > 0) or free_tails == 0:  # the head of the triple itself
                        found = absent(examples.heads, spans[row, 0], spans[row, 1], below(bits, free_heads))
                        changed[j] = 2 if turned else 0
                    else:
                        found = absent(examples.tails, spans[row, 2], spans[row, 3], below(bits, free_tails))
                        changed[j] = 0 if turned else 2
                    ends[j, changed[j]] = found
            a, b, c = ends[j, 0], ends[j, 1], ends[j, 2]
            for i in range(size):
                residuals[j, i] = table[a, i] + table[b, i] - table[c, i]
            scores[0, j] = _length(norm, residuals, j, table, b + 2 * relations)
        found_loss, found_violations, active = loss_and_factors(
            objective.loss, objective.margin, objective.temperature, objective.negligible, scores, factors, 0
        )
        loss += found_loss
        violations += found_violations
        # places: head, relation, tail, the relation's metric, then a row and a metric for each negative
        count = 4
        for place in range(4):
            for i in range(size):
                gradients[place, i] = 0
        rows[0], rows[1], rows[2], rows[3] = head, entities + relation, tail, metrics + relation
        for j in range((1 + negatives) if active else 0):
            if factors[0, j] == 0:
                continue
            to_metric = 3
            if j > 0:
                rows[count] = ends[j, changed[j]]
                for i in range(size):
                    gradients[count, i] = 0
                count += 1
                if changed[j] == 1 and norm == DIAGONAL:
                    rows[count] = ends[j, 1] + 2 * relations
                    for i in range(size):
                        gradients[count, i] = 0
                    to_metric = count
                    count += 1
            _slopes(norm, residuals, j, table, ends[j, 1] + 2 * relations, factors[0, j], gradients, to_metric)
            own = count - (2 if to_metric != 3 else 1)
            to_head = own if j > 0 and changed[j] == 0 else 0
            to_relation = own if j > 0 and changed[j] == 1 else 1
            to_tail = own if j > 0 and changed[j] == 2 else 2
            for i in range(size):
                g = residuals[j, i]
                gradients[to_head, i] += g
                gradients[to_relation, i] += g
                gradients[to_tail, i] -= g
        # ------------------------------------------------------------ its paths
        begin, end = offsets[example], offsets[example + 1]
        if end > begin and unlinked > 0:
            whole = 0.0
            for place in range(begin, end):
                whole += weights[place]
            bits = draw(key, np.uint64(counter + negatives))
            other = absent(index.steps, linked, until, below(bits, unlinked))
            wrong = count  # the other relation and its metric
            rows[wrong], rows[wrong + 1] = entities + other, metrics + other
            for i in range(size):
                gradients[wrong, i] = gradients[wrong + 1, i] = 0
            count += 2
            samples = objective.path_samples
            for number in range(samples if samples else end - begin):
                chosen, share = begin + number, np.float64(0)
                if samples:
                    left = unit(draw(key, np.uint64(counter + negatives + number + 1))) * whole
                    chosen = begin
                    while chosen < end - 1 and left >= weights[chosen]:
                        left -= weights[chosen]
                        chosen += 1
                    share = whole / samples
                else:
                    share = np.float64(weights[chosen])
                one, two = np.int64(firsts[chosen]), np.int64(seconds[chosen])
                single = two == 2 * relations
                a, b = entities + one, entities + two
                for i in range(size):
                    if single:
                        p = table[a, i]
                    elif kind == RNN:
                        p = sides[0, one, i] + sides[1, two, i]
                    elif kind == MUL:
                        p = table[a, i] * table[b, i]
                    else:
                        p = table[a, i] + table[b, i]
                    residuals[0, i] = p - table[entities + relation, i]
                    residuals[1, i] = p - table[entities + other, i]
                gap = objective.path_margin + np.float64(
                    _length(norm, residuals, 0, table, metrics + relation)
                    - _length(norm, residuals, 1, table, metrics + other)
                )
                if gap <= 0:
                    continue
                path_loss += share * gap
                _slopes(norm, residuals, 0, table, metrics + relation, like(share), gradients, 3)
                _slopes(norm, residuals, 1, table, metrics + other, like(-share), gradients, wrong + 1)
                for i in range(size):
                    g, w = residuals[0, i], residuals[1, i]
                    gradients[1, i] -= g
                    gradients[wrong, i] -= w
                    g += w
                    if single:
                        gradients[count, i] = g
                    elif kind == RNN:
                        pulls[0, one, i] += g
                        pulls[1, two, i] += g
                    elif kind == MUL:
                        gradients[count, i] = g * table[b, i]
                        gradients[count + 1, i] = g * table[a, i]
                    else:
                        gradients[count, i] = g
                        gradients[count + 1, i] = g
                if single:
                    rows[count] = a
                    count += 1
                elif kind != RNN:
                    rows[count], rows[count + 1] = a, b
                    count += 2
                active = True
        # ------------------------------------------------------------ the steps
        for place in range(count if active else 0):
            role = ENTITY if rows[place] < entities else (RELATION if rows[place] < metrics else METRIC)
            if role == METRIC and norm != DIAGONAL:
                continue
            update_row(
                step.optimizer,
                step.learning_rates[role],
                step.penalties[role],
                step.constraints[role],
                step.number,
                table,
                rows[place],
                gradients,
                place,
                first,
                second,
            )
    return loss, path_loss, violations
