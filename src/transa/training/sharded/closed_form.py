"""The closed form of W_r by several workers: partial sums by lane, which the worker that holds W_r adds in the order of the lanes."""

from __future__ import annotations

import numpy as np
import torch

from transa.kernels.arguments import Array, Examples
from transa.kernels.closed_form import ClosedForm, SortedTriples, closed_form_sums
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
    owned = np.concatenate([np.empty(0, np.int64), *rows])
    every = np.concatenate([np.empty((0, size), kind), *values])
    places, found = engine.relations.deliver(owned, every, np.arange(len(every)))
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
    _, places, tables = engine.small(Examples(triples, 0, len(triples), entities, at_head), ("vector",))
    rules = engine.model.metric_rules
    assert rules is not None  # noqa: S101
    how = ClosedForm(rules.absolute, False, 0.0, False, negatives)
    at = 0
    for part, lane in zip(parts, sums, strict=True):
        until = at + part.stop - part.start
        relations, first = np.unique(triples[at:until, 1], return_index=True)
        found = np.empty((len(relations), engine.model.dim, engine.model.dim), tables.vectors.dtype)
        closed_form_sums(
            *(how, places.triples, np.append(at + first, until), places.negatives, places.at_head),
            *(tables.vectors, tables.num_entities, found),
        )
        for relation, value in zip(relations.tolist(), found, strict=True):
            lane[relation] = lane[relation] + value if relation in lane else value
        at = until
