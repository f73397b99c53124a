"""How many entities score better than a target, or the same: with compiled kernels, or with torch for any model and device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.evaluation.queries import Queries
from transa.kernels.codes import DIAGONAL, FULL, PSD
from transa.models import Model, Rows

#: Entities that the kernels take at a time.
CHUNK = 2048
#: Queries that are one task of a thread, at most, and the least number of tasks a thread should get.
TASK, TASKS = 256, 8
#: Queries in one call of the kernels: progress is told after each.
SLICE = 8192
#: Numbers that the torch path holds at a time.
BUDGET = 1 << 25

Watch = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted for each target, in the order of the queries.

    Attributes
    ----------
    counts
        Of shape (4, targets): entities better than the target, others equal to it, and of both those that are known answers.
    rescored
        How many pairs of query and entity had to be scored in full, where bounds decide most.
    """

    counts: npt.NDArray[np.int64]
    rescored: int


def count_targets(model: Model, queries: Queries, *, chunk: int | None = None, watch: Watch | None = None) -> Counts:
    """Count for each target of each query the entities that score better or the same.

    Parameters
    ----------
    model, queries
        What scores, and what is asked.
    chunk
        Entities at a time; the result does not depend on it.
    watch
        Called now and then with the number of targets that have been done since.
    """
    if model.kernel() is not None and model.entity.vector.device.type == "cpu":
        return _count_with_kernels(model, queries, chunk or CHUNK, watch)
    return _count_with_torch(model, queries, chunk, watch)


def _count_with_kernels(model: Model, queries: Queries, chunk: int, watch: Watch | None) -> Counts:
    import numba

    from transa.kernels.ranking import count_better, spectra
    from transa.training.threads import dealt, one_blas_thread

    kernel = model.kernel()
    assert kernel is not None  # noqa: S101
    entities = np.ascontiguousarray(model.entity.vector.numpy())
    vectors = model.relation.get("vector")
    shifts = np.zeros((model.num_relations, model.dim), entities.dtype) if vectors is None else vectors.numpy()
    metric = np.ascontiguousarray(model.relation.metric.numpy()) if kernel.kind >= DIAGONAL else None
    reach = np.abs(entities).max(axis=0).astype(np.float64) if len(entities) else np.zeros(model.dim)
    unit = (2 * model.dim + 32) * float(np.finfo(entities.dtype).eps) / 2
    squared = True if kernel.kind >= FULL else None
    signed = True if kernel.kind == PSD else None
    counts = np.zeros((4, len(queries.targets)), np.int64)
    rescored = 0
    with one_blas_thread():
        spectrum = spectra(metric, np.unique(queries.relations)) if kernel.kind == FULL else None
        size = max(1, min(TASK, len(queries) // (TASKS * numba.get_num_threads())))
        tasks = queries.parts(size, by_relation=metric is not None)
        begin = 0
        while begin < len(tasks) - 1:
            end = max(begin + 1, int(np.searchsorted(tasks, tasks[begin] + SLICE, side="right")) - 1)
            part = tasks[begin : end + 1]
            looked = np.zeros(len(part) - 1, np.int64)
            count_better(
                *(kernel.kind, 1.0 if queries.side == "tail" else -1.0, queries.fixed, queries.relations, part),
                *(dealt(np.diff(part)), entities, shifts, metric, squared, spectrum, signed),
                *(reach, unit, queries.target_offsets, queries.targets, queries.starts, queries.stops, queries.known),
                *(min(chunk, max(len(entities), 1)), counts, looked),
            )
            rescored += int(looked.sum())
            if watch is not None:
                watch(int(queries.target_offsets[part[-1]] - queries.target_offsets[part[0]]))
            begin = end
    return Counts(counts, rescored)


def _count_with_torch(model: Model, queries: Queries, chunk: int | None, watch: Watch | None) -> Counts:
    device = model.entity.vector.device
    counts = np.zeros((4, len(queries.targets)), np.int64)
    at_once = chunk or max(1, BUDGET // (model.dim * 8))
    size = max(1, min(TASK, BUDGET // max(model.num_entities, 1)))
    owner = queries.query_of_target
    for begin, end in zip(*_pairs(queries.parts(size, by_relation=model.grouped)), strict=True):
        scores = _all_scores(model, queries, begin, end, at_once)
        first, last = int(queries.target_offsets[begin]), int(queries.target_offsets[end])
        for start in range(first, last, size):
            rows = slice(start, min(start + size, last))
            mine = torch.from_numpy(owner[rows] - begin).to(device)
            levels = scores[mine, torch.from_numpy(queries.targets[rows]).to(device)]
            own = scores[mine]
            counts[0, rows] = (own < levels[:, None]).sum(1).cpu().numpy()
            counts[1, rows] = (own == levels[:, None]).sum(1).cpu().numpy() - 1
            counts[2:, rows] = _count_known(queries, owner[rows], queries.targets[rows], scores, begin, levels)
        if watch is not None:
            watch(last - first)
    return Counts(counts, len(queries) * model.num_entities)


def _pairs(borders: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
    return borders[:-1].tolist(), borders[1:].tolist()


def _all_scores(model: Model, queries: Queries, begin: int, end: int, at_once: int) -> Tensor:
    """Return the scores of some queries, of shape (queries, entities); of a grouped model, all of one relation."""
    device = model.entity.vector.device
    given = model.gather("entity", torch.from_numpy(queries.fixed[begin:end]).to(device))
    fixed = Rows({name: table.unsqueeze(1) for name, table in given.items()})
    if model.grouped:
        relation = model.gather("relation", torch.tensor(queries.relations[begin], device=device))
    else:
        gathered = model.gather("relation", torch.from_numpy(queries.relations[begin:end]).to(device))
        relation = Rows({name: table.unsqueeze(1) for name, table in gathered.items()})
    scores = torch.empty(end - begin, model.num_entities, dtype=model.entity.vector.dtype, device=device)
    step = max(1, at_once // max(end - begin, 1))
    with torch.no_grad():
        for start in range(0, model.num_entities, step):
            some = Rows({name: table[start : start + step].unsqueeze(0) for name, table in model.entity.items()})
            pair = (some, fixed) if queries.side == "head" else (fixed, some)
            scores[:, start : start + step] = model.score(pair[0], relation, pair[1])
    return scores


def _count_known(
    queries: Queries,
    owner: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    scores: Tensor,
    begin: int,
    levels: Tensor,
) -> npt.NDArray[np.int64]:
    """Count the known answers that score better than each target, and those that score the same."""
    sizes = queries.stops[owner] - queries.starts[owner]
    row = np.repeat(np.arange(len(owner)), sizes)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    answers = queries.known[np.repeat(queries.starts[owner], sizes) + inside].astype(np.int64)
    other = answers != targets[row]
    row, answers = row[other], answers[other]
    device = scores.device
    rows = torch.from_numpy(row).to(device)
    values = scores[torch.from_numpy(owner[row] - begin).to(device), torch.from_numpy(answers).to(device)]
    limits = levels[rows]
    return np.stack(
        [
            torch.bincount(rows[chosen], minlength=len(owner)).cpu().numpy()
            for chosen in (values < limits, values == limits)
        ]
    )
