"""How many entities score better than a target, and which score best: with compiled kernels, or with torch for any model and device."""

from __future__ import annotations

import math

from transa.errors import InputError
from transa.evaluation.compiled_ranking import CompiledRanker
from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.evaluation.torch_ranking import TorchRanker
from transa.kernels.scores import find_score
from transa.models import Model

#: Parameters up to here give scores that no precision overflows; beyond, every score is looked at.
LARGEST = 1e9


class Ranker:
    """Ranks entities by a model's scores.

    Parameters
    ----------
    model
        What scores. The compiled kernels decide in double precision; torch, for scores they do not know and on other
        devices, decides in the model's own.
    chunk
        Entities at a time; results do not depend on it.
    """

    def __init__(self, model: Model, chunk: int | None = None) -> None:
        self.model = model
        largest = largest_parameter(model)
        compiled = has_compiled_ranking(model) and model.entity.vector.device.type == "cpu" and largest <= LARGEST
        self._ranker = CompiledRanker(model, chunk) if compiled else TorchRanker(model, chunk)

    def count(self, queries: Queries, callback: Callback | None = None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same.

        `callback` is called now and then with the number of targets that have been done since.
        """
        return self._ranker.count(queries, callback)

    def best(self, queries: Queries, number: int, *, leave_out_known: bool = False) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores.

        Of equal scores the lowest id comes first. Where there are not as many, ids are -1 and scores infinite.
        """
        return self._ranker.best(queries, number, leave_out_known)


def has_compiled_ranking(model: Model) -> bool:
    """Tell whether the compiled kernels know the score of a model; torch ranks the others."""
    kernel = model.kernel()
    return kernel is not None and find_score(kernel.score).ranking is not None


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
