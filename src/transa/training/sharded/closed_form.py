"""The closed form of W_r by several workers: partial sums by lane, which the worker that holds W_r adds in the order of the lanes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from transa.data.graph import Triples
from transa.kernels.arguments import Array
from transa.kernels.closed_form import SortedTriples
from transa.kernels.facts import corrupt_pairs
from transa.kernels.purposes import CLOSED_FORM
from transa.kernels.random import stream
from transa.kernels.threads import one_blas_thread
from transa.training.lanes import cut
from transa.training.metric import finish
from transa.training.sharded.engine import ShardedEngine

#: Triples of a lane whose rows are pulled at once.
TRIPLES = 1024


def update_metric(engine: ShardedEngine, number: int) -> None:
    """Set each W_r that this worker holds to its closed form, after epoch `number`; see `transa.training.metric.update_metric`."""
    triples = engine.epoch_batches.by_relation
    key = stream(engine.recipe.seed, CLOSED_FORM, number)
    borders = cut(0, len(triples.triples), engine.recipe.lanes)
    longest = int(np.diff(borders).max(initial=0))
    sums: list[dict[int, Array]] = [{} for _ in engine.workers.lanes]
    with one_blas_thread():
        for begin in range(0, longest, TRIPLES):
            parts = [
                slice(
                    min(borders[lane] + begin, borders[lane + 1]),
                    min(borders[lane] + begin + TRIPLES, borders[lane + 1]),
                )
                for lane in engine.workers.lanes
            ]
            _add(engine, triples, key, parts, sums)
    size = engine.model.dim**2
    rows = [engine.relations.numbering.rows[list(lane)] for lane in sums if lane]
    values = [np.stack(list(lane.values())).reshape(-1, size) for lane in sums if lane]
    kind = engine.relations.tables["metric"].dtype
    places, found = engine.relations.deliver(
        np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([np.empty((0, size), kind), *values])
    )
    metric = engine.relations.tables["metric"]
    metric[...] = 0
    for place, value in zip(places, found, strict=True):  # in the order of the lanes
        metric[place] += value
    matrices = metric.reshape(-1, engine.model.dim, engine.model.dim)
    matrices[...] = (matrices + matrices.transpose(0, 2, 1)) / 2
    counts = np.zeros(len(metric), np.int64)
    for lane in engine.workers.lanes:
        counts[engine.relations.lane(lane)] = np.diff(triples.offsets)[engine.relations.numbering.members(lane)]
    finish(torch.from_numpy(matrices), counts, engine.model, engine.recipe)


def _add(
    engine: ShardedEngine,
    sorted_triples: SortedTriples,
    key: np.uint64,
    parts: list[slice],
    sums: list[dict[int, Array]],
) -> None:
    """Add what one part of each lane's triples gives to the sums of the lane, by relation."""
    negatives = engine.recipe.metric_negatives
    triples = np.concatenate([sorted_triples.triples[part] for part in parts])
    spans = np.concatenate([sorted_triples.spans[part] for part in parts])
    entities, at_head = np.empty((len(triples), negatives), np.int32), np.empty((len(triples), negatives), np.bool_)
    at = 0
    for part in parts:
        until = at + part.stop - part.start
        corrupt_pairs(
            *(triples, spans, at, until, int(part.start), key, engine.epoch_batches.corruptor.candidates),
            *(entities[at:until], at_head[at:until]),
        )
        at = until
    true, false = _residuals(engine, triples, entities, at_head)
    share = true.dtype.type(1 / negatives)
    at = 0
    for part, lane in zip(parts, sums, strict=True):
        until = at + part.stop - part.start
        relations = triples[at:until, 1]
        for relation in np.unique(relations):
            first, last = np.searchsorted(relations, [relation, relation + 1]) + at
            above = (false[first:last] + true[first:last]).reshape(-1, engine.model.dim)
            below = share * (false[first:last] - true[first:last]).reshape(-1, engine.model.dim)
            product = below.T @ above
            lane[int(relation)] = lane[int(relation)] + product if int(relation) in lane else product
        at = until


def _residuals(
    engine: ShardedEngine, triples: Triples, entities: npt.NDArray[np.int32], at_head: npt.NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return the residuals of triples, of shape (triples, 1, k), and of their corruptions, with absolute values if W_r weighs these."""
    of_entity, of_relation = engine.entities.numbering.rows, engine.relations.numbering.rows
    heads, relations, tails = of_entity[triples[:, :1]], of_relation[triples[:, 1]], of_entity[triples[:, 2:]]
    others = of_entity[entities]
    rows, places = np.unique(np.concatenate([heads, tails, others], axis=1), return_inverse=True)
    places = places.reshape(len(triples), 2 + entities.shape[1])
    related, shifts = np.unique(relations, return_inverse=True)
    vectors = engine.entities.pull(rows, ("vector",))
    shift = engine.relations.pull(related, ("vector",))[shifts][:, None]
    head, tail, other = vectors[places[:, :1]], vectors[places[:, 1:2]], vectors[places[:, 2:]]
    replaced = at_head[:, :, None]
    true, false = head + shift - tail, np.where(replaced, other + shift - tail, head + shift - other)
    rules = engine.model.metric_rules
    if rules is not None and rules.absolute:
        return np.abs(true), np.abs(false)
    return true, false
