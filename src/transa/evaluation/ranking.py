"""How many entities score better than a target, and which score best: with compiled kernels, or with torch for any model and device."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transa.errors import InputError
from transa.evaluation.queries import BestAnswers, Callback, Queries, RankCounts
from transa.evaluation.reordering import ReorderingRanker
from transa.evaluation.torch_ranking import TorchRanker
from transa.evaluation.type_ranking import TypeRanker
from transa.kernels.codes import DIAGONAL, PSD_LOW_RANK, SIGNED_LOW_RANK, SQUARED_L2
from transa.models import Model, Rows
from transa.models.loop_prior import barred_answers
from transa.models.tables import EVIDENCE, PENALTY, ROLES, WORDS

if TYPE_CHECKING:
    from transa.evaluation.compiled_ranking import CompiledRanker
    from transa.evaluation.rule_ranking import RuleRanker

    AnyRanker = CompiledRanker | TorchRanker | RuleRanker | ReorderingRanker

#: Parameters up to here give scores that no precision overflows; beyond, every score is looked at.
LARGEST = 1e9
#: How many numbers the vectors of a small model hold, and how many queries to the largest of these are few; the smaller, the more.
SMALL, FEW = 1 << 18, 16


class Ranker:
    """Ranks entities by a model's scores.

    Parameters
    ----------
    model
        What scores. The compiled kernels decide in double precision; torch, for scores they do not know and on other
        devices, decides in the model's own.
    chunk
        Entities at a time; results do not depend on it.
    loop_prior
        Whether to use the model's loop prior, if it has one.

    Attributes
    ----------
    has_prior
        Whether a loop prior is used.
    """

    def __init__(self, model: Model, chunk: int | None = None, loop_prior: bool = True) -> None:
        self.model = model
        self.has_prior = loop_prior and model.loop_free is not None
        self._chunk = chunk
        self._may_compile = largest_parameter(model) <= LARGEST and model.device.type == "cpu"

    def count(self, queries: Queries, callback: Callback | None = None) -> RankCounts:
        """Count for each target of each query the entities that score better or the same.

        What the loop prior bars is counted with the others, and once more by itself.

        `callback` is called now and then with the number of targets that have been done since.
        """
        asked = as_asked(self.model, queries)
        return self._ranker_for(queries).count(asked, self._barred(queries), callback)

    def best(self, queries: Queries, number: int, *, leave_out_known: bool = False) -> BestAnswers:
        """Return the `number` entities of the lowest scores for each query, and these scores, without what the loop prior bars.

        Of equal scores the lowest id comes first. Where there are not as many, ids are -1 and scores infinite.
        """
        asked = as_asked(self.model, queries)
        return self._ranker_for(queries).best(asked, self._barred(queries), number, leave_out_known)

    def _ranker_for(self, queries: Queries) -> AnyRanker:
        return self._ranker

    @cached_property
    def _ranker(self) -> AnyRanker:
        """The compiled ranker if it can rank by the model, otherwise torch's; one for rules, types, or two stages."""
        if self.model.evidence is not None:
            from transa.evaluation.rule_ranking import RuleRanker

            return RuleRanker(self.model, self._chunk)
        if self.model.penalty is not None:
            return TypeRanker(self.model, self._chunk)
        stage = self.model.first_stage()
        if stage is not None:
            return ReorderingRanker(self.model, Ranker(stage, self._chunk)._ranker)
        if not self._may_compile or not has_compiled_ranking(self.model):
            return TorchRanker(self.model, self._chunk)
        from transa.evaluation.compiled_ranking import CompiledRanker  # loads the compiler, which takes a while

        return CompiledRanker(self.model, self._chunk)

    def _barred(self, queries: Queries) -> npt.NDArray[np.int64]:
        if not self.has_prior:
            return np.full(len(queries), -1, np.int64)
        return barred_answers(self.model, queries.fixed, queries.relations)


class QuickRanker(Ranker):
    """A ranker that answers a few questions to a small model by torch, in double precision like the kernels.

    That takes less time than it takes to load the kernels, and far less than to compile them.
    """

    def _ranker_for(self, queries: Queries) -> AnyRanker:
        kernels = self._may_compile and self.model.kernel() is not None and not self.model.has_company
        return self._in_double if kernels and are_few(len(queries), self.model) else self._ranker

    @cached_property
    def _in_double(self) -> TorchRanker:
        return TorchRanker(_in_double(self.model), self._chunk)


def as_asked(model: Model, queries: Queries) -> Queries:
    """Return questions about heads as a directional model answers them: about tails, of the inverse relations."""
    if not model.directional or queries.side == "tail":
        return queries
    return replace(queries, side="tail", relations=queries.relations + model.graph_relations)


def are_few(queries: int, model: Model) -> bool:
    """Tell whether these are few questions to a small model."""
    size = model.num_entities * model.dim
    return queries * size <= FEW * SMALL and size <= SMALL and model.parameters <= 10 * SMALL


def _in_double(model: Model) -> Model:
    """Return a copy of the model with the same parameters in double precision."""
    other = copy(model)
    for role in ROLES:
        setattr(other, role, Rows({name: table.double() for name, table in getattr(model, role).items()}))
    return other


def has_compiled_ranking(model: Model) -> bool:
    """Tell whether the compiled kernels know the score of a model; torch ranks the others."""
    kernel = model.kernel()
    if kernel is None or model.penalty is not None:
        return False
    from transa.kernels.scores import find_score

    ranking = find_score(kernel.score).ranking
    if model.biases:  # they are added to sums of squares, and to no root of one
        return ranking in (SQUARED_L2, DIAGONAL, PSD_LOW_RANK, SIGNED_LOW_RANK) and not kernel.root
    return ranking is not None


def largest_parameter(model: Model) -> float:
    """Return the largest absolute value of a model's tables.

    Raises
    ------
    InputError
        If a table holds NaN or infinity, by which nothing can be ranked.
    """
    largest = 0.0
    for name, table in model.tensors().items():
        if table.numel() and not name.startswith((EVIDENCE, PENALTY, WORDS)):
            reach = max(-float(table.min()), float(table.max()))
            if not math.isfinite(reach):
                raise InputError(f"the model's table {name} holds NaN or infinity")
            largest = max(largest, reach)
    return largest
