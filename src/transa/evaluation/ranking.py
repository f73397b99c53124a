"""How many entities score better than a target, or the same: with compiled kernels, or with torch for any model and device."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.errors import InputError
from transa.evaluation.queries import Queries
from transa.kernels.codes import DIAGONAL, FULL, L2, PSD
from transa.kernels.scores import find_score
from transa.kernels.threads import dealt, one_blas_thread
from transa.models import Model, Rows

#: Entities that the kernels take at a time.
CHUNK = 2048
#: Queries that are one task of a thread, at most, and the least number of tasks a thread should get.
TASK, TASKS = 256, 8
#: The same where entities are projected for one relation at a time.
HYPERPLANE_TASK = 16
#: Queries in one call of the kernels: progress is told after each.
SLICE = 8192
#: Numbers that the torch path holds at a time.
BUDGET = 1 << 25
#: Parameters up to here give scores that no precision overflows; beyond, every score is looked at.
LARGEST = 1e9

Callback = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class RankCounts:
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


class Ranker:
    """Ranks entities by a model's scores.

    Parameters
    ----------
    model
        What scores. The compiled kernels decide in double precision; torch, for the models that have no kernel and on other
        devices, in the model's own.
    chunk
        Entities at a time; results do not depend on it.
    """

    def __init__(self, model: Model, chunk: int | None = None) -> None:
        self.model = model
        self.chunk = chunk
        kernel = model.kernel()
        compiled = kernel is not None and find_score(kernel.score).ranking is not None
        compiled = compiled and model.entity.vector.device.type == "cpu"
        self.kernels = Kernels(model) if largest_parameter(model) <= LARGEST and compiled else None

    def count(self, queries: Queries, callback: Callback | None = None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same.

        `callback` is called now and then with the number of targets that have been done since.
        """
        if self.kernels is not None:
            return self.kernels.count(queries, self.chunk or CHUNK, callback)
        return _count_with_torch(self.model, queries, self.chunk, callback)

    def best(
        self, queries: Queries, number: int, *, leave_out_known: bool = False
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the `number` entities of the lowest scores for each query, and these scores.

        Of equal scores the lowest id comes first. Where there are not as many, ids are -1 and scores infinite.
        """
        if self.kernels is not None:
            return self.kernels.best(queries, number, self.chunk or CHUNK, leave_out_known)
        return _best_with_torch(self.model, queries, number, self.chunk, leave_out_known)


def largest_parameter(model: Model) -> float:
    """Return the largest absolute value of a model's tables.

    Raises
    ------
    InputError
        If a table holds NaN or infinity, by which nothing can be ranked.
    """
    largest = 0.0
    for name, table in model.tensors().items():
        if table.numel():
            reach = max(-float(table.min()), float(table.max()))
            if not math.isfinite(reach):
                raise InputError(f"the model's table {name} holds NaN or infinity")
            largest = max(largest, reach)
    return largest


class Kernels:
    """The compiled kernels with what they need to know of a model."""

    def __init__(self, model: Model) -> None:
        kernel = model.kernel()
        assert kernel is not None  # noqa: S101
        code = find_score(kernel.score).ranking
        assert code is not None  # noqa: S101
        self.kind = code
        self.root = kernel.root or self.kind == L2
        self.weights = model.relation.get("weight")
        normals = model.relation.get("normal")
        self.normals = None if normals is None else normals.double().numpy()
        entities = model.entity.vector if normals is None else model.entity.vector.double()
        self.entities = np.ascontiguousarray(entities.numpy())
        vectors = model.relation.get("vector")
        kind = self.entities.dtype
        self.shifts = (
            np.zeros((model.num_relations, model.dim), kind)
            if vectors is None
            else vectors.numpy().astype(kind, copy=False)
        )
        self.metric = np.ascontiguousarray(model.relation.metric.numpy()) if self.kind >= DIAGONAL else None
        self.reach = _reach(self.entities)
        single, double = float(np.finfo(kind).eps) / 2, float(np.finfo(np.float64).eps) / 2
        self.errors = np.array([8 * single, (2 * model.dim + 32) * single, (4 * model.dim + 64) * double])
        self.spectrum: tuple[npt.NDArray[Any], ...] | None = None
        self._analysed = np.zeros(model.num_relations, bool)

    def _arguments(self, queries: Queries, part: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        sign = 1.0 if queries.side == "tail" else -1.0
        squared = True if self.kind >= FULL else None
        signed = True if self.kind == PSD else None
        work = (self.kind, sign, queries.fixed, queries.relations, part, dealt(np.diff(part)))
        entities, reach = self.entities, self.reach
        if self.normals is not None:
            normal = self.normals[queries.relations[part[0]]]
            entities = entities - (entities * normal).sum(1, keepdims=True) * normal
            reach = _reach(entities)
        return (*work, entities, self.shifts, self.metric, squared, self.spectrum, signed, reach, self.errors)

    def _parts(self, queries: Queries) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the borders of tasks for one call after another."""
        if self.kind == FULL:
            self._analyse(np.unique(queries.relations))
        size = max(1, min(TASK, len(queries) // (TASKS * numba.get_num_threads())))
        if self.normals is not None:  # a call for each relation, whose few queries all threads share
            size = min(size, HYPERPLANE_TASK)
        tasks = queries.parts(size, by_relation=self.metric is not None or self.normals is not None)
        begin = 0
        while begin < len(tasks) - 1:
            last = tasks[begin] + SLICE
            if self.normals is not None:
                last = min(last, np.searchsorted(queries.relations, queries.relations[tasks[begin]], side="right"))
            end = max(begin + 1, int(np.searchsorted(tasks, last, side="right")) - 1)
            yield tasks[begin : end + 1]
            begin = end

    def _analyse(self, relations: npt.NDArray[np.int64]) -> None:
        """Bring the eigenpairs of some relations' metrics."""
        from transa.kernels.bounds import spectra

        wanted = relations[~self._analysed[relations]]
        if len(wanted) or self.spectrum is None:
            found = spectra(self.metric, wanted)
            if self.spectrum is not None:
                for mine, new in zip(self.spectrum, found, strict=True):
                    mine[wanted] = new[wanted]
            else:
                self.spectrum = found
            self._analysed[wanted] = True

    def count(self, queries: Queries, chunk: int, callback: Callback | None) -> RankCounts:
        """See `Ranker.count`."""
        from transa.kernels.ranking import count_better

        counts = np.zeros((4, len(queries.targets)), np.int64)
        rescored = 0
        with one_blas_thread():
            for part in self._parts(queries):
                looked = np.zeros(len(part) - 1, np.int64)
                count_better(
                    *self._arguments(queries, part),
                    *(queries.target_offsets, queries.targets, queries.starts, queries.stops, queries.known),
                    *(min(chunk, max(len(self.entities), 1)), counts, looked),
                )
                rescored += int(looked.sum())
                if callback is not None:
                    callback(int(queries.target_offsets[part[-1]] - queries.target_offsets[part[0]]))
        return RankCounts(counts, rescored)

    def best(
        self, queries: Queries, number: int, chunk: int, leave_out_known: bool
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """See `Ranker.best`."""
        from transa.kernels.ranking import best_answers

        answers = np.full((len(queries), number), -1, np.int64)
        scores = np.full((len(queries), number), np.inf)
        stops = queries.stops if leave_out_known else queries.starts
        with one_blas_thread():
            for part in self._parts(queries):
                best_answers(
                    *self._arguments(queries, part),
                    *(
                        np.arange(len(queries) + 1),
                        queries.starts,
                        stops,
                        queries.known,
                        min(chunk, max(len(self.entities), 1)),
                        answers,
                        scores,
                    ),
                )
        if self.root:
            scores = np.sqrt(np.maximum(scores, 0.0))
        if self.weights is not None:
            scores *= self.weights.double().numpy()[queries.relations][:, None]
        return answers, scores


def _reach(entities: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the largest absolute value in each column."""
    return np.asarray(np.abs(entities).max(axis=0, initial=0), np.float64)


def _count_with_torch(model: Model, queries: Queries, chunk: int | None, callback: Callback | None) -> RankCounts:
    device = model.entity.vector.device
    counts = np.zeros((4, len(queries.targets)), np.int64)
    owner = queries.query_of_target
    for begin, end, scores in _score_parts(model, queries, chunk):
        first, last = int(queries.target_offsets[begin]), int(queries.target_offsets[end])
        for start in range(first, last, len(scores)):
            rows = slice(start, min(start + len(scores), last))
            mine = torch.from_numpy(owner[rows] - begin).to(device)
            levels = scores[mine, torch.from_numpy(queries.targets[rows]).to(device)]
            own = scores[mine]
            counts[0, rows] = (own < levels[:, None]).sum(1).cpu().numpy()
            counts[1, rows] = (own == levels[:, None]).sum(1).cpu().numpy() - 1
            counts[2:, rows] = _count_known(queries, owner[rows], queries.targets[rows], scores, begin, levels)
        if callback is not None:
            callback(last - first)
    return RankCounts(counts, len(queries) * model.num_entities)


def _score_parts(model: Model, queries: Queries, chunk: int | None) -> Iterator[tuple[int, int, Tensor]]:
    """Yield parts of the queries with the scores of all entities."""
    at_once = chunk or max(1, BUDGET // (model.dim * 8))
    size = max(1, min(TASK, BUDGET // max(model.num_entities, 1)))
    borders = queries.parts(size, by_relation=model.grouped).tolist()
    for begin, end in itertools.pairwise(borders):
        yield begin, end, _all_scores(model, queries, begin, end, at_once)


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
    if scores.numel() and not math.isfinite(float(scores.min()) - float(scores.max())):
        relation_id = int(queries.relations[begin])
        raise InputError(f"the model has scores for the relation {relation_id} (id) that are NaN or infinite")
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


def _best_with_torch(
    model: Model, queries: Queries, number: int, chunk: int | None, leave_out_known: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    answers = np.full((len(queries), number), -1, np.int64)
    best = np.full((len(queries), number), np.inf)
    found = min(number, model.num_entities)
    for begin, end, scores in _score_parts(model, queries, chunk):
        if leave_out_known:
            for q in range(begin, end):
                scores[q - begin, torch.from_numpy(queries.known[queries.starts[q] : queries.stops[q]]).long()] = (
                    torch.inf
                )
        values, ids = torch.sort(scores, dim=1, stable=True)
        best[begin:end, :found] = values[:, :found].double().cpu().numpy()
        answers[begin:end, :found] = ids[:, :found].cpu().numpy()
    return np.where(np.isinf(best), -1, answers), best
