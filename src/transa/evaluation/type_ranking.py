"""Ranking by a model's own score and its type penalty, with torch in double precision."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.evaluation.queries import Queries
from transa.evaluation.torch_ranking import TorchRanker
from transa.models import Rows


class TypeRanker(TorchRanker):
    """Ranks by the score and the type penalty, if there is one; see `transa.evaluation.ranking.Ranker`."""

    def _scores_of(self, queries: Queries, begin: int, end: int) -> Tensor:
        return self._own_scores(queries, begin, end)

    def _own_scores(self, queries: Queries, begin: int, end: int) -> Tensor:
        """Return the model's own scores with its type penalty, of shape (queries, entities), in double precision."""
        scores = self._scores_by_vectors(queries, begin, end)
        penalty = self.model.penalty
        steps = self._steps(queries, begin, end)
        if penalty is None or not penalty.weights[steps].any():
            return scores
        return scores + torch.from_numpy(penalty.weights[steps])[:, None] * torch.from_numpy(penalty.misfits_of(steps))

    def _scores_by_vectors(self, queries: Queries, begin: int, end: int) -> Tensor:
        """Return the scores by vectors alone: by matrix products where they are linear in a candidate's squares."""
        if not self.model.linear:
            return super()._scores_of(queries, begin, end).double().cpu()
        given, relation = (
            Rows({name: table.double() for name, table in self.model.gather(role, torch.from_numpy(ids)).items()})
            for role, ids in (("entity", queries.fixed[begin:end]), ("relation", queries.relations[begin:end]))
        )
        at_head = torch.full((end - begin,), queries.side == "head")
        with torch.no_grad():
            scores = -self.model.linear_scores(given, relation, self._in_double, at_head)
        return scores - given.bias[:, None] if "bias" in given else scores

    def _steps(self, queries: Queries, begin: int, end: int) -> npt.NDArray[np.int64]:
        """Return the steps that lead from what is given to what is asked for."""
        relations = queries.relations[begin:end]
        # of a directional model, the relations of questions about heads are steps already
        return relations + (self.model.graph_relations if queries.side == "head" else 0)

    @cached_property
    def _in_double(self) -> Rows:
        """The parameters of all entities."""
        return Rows({name: table.double().cpu() for name, table in self.model.entity.items()})

    def spread(self, queries: Queries) -> float:
        """Return how far the scores of entities differ for a question: their mean standard deviation, of the first questions."""
        return next((float(scores.std(1).mean()) for _, _, scores in self._scores(queries)), 0.0)

    def ranks_by_weight(
        self, queries: Queries, barred: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the filtered rank of each target if a misfit adds each of some weights to the score, of shape (weights, targets)."""
        penalty = self.model.penalty
        assert penalty is not None  # noqa: S101
        ranks, owner = np.empty((len(weights), len(queries.targets))), queries.query_of_target
        for begin, end, scores in self._scores(queries):
            rows = slice(int(queries.target_offsets[begin]), int(queries.target_offsets[end]))
            own, targets = owner[rows] - begin, queries.targets[rows]
            misfits = torch.from_numpy(penalty.misfits_of(self._steps(queries, begin, end)))
            levels, unfit = scores[own, targets].clone(), misfits[own, targets]
            for query in range(begin, end):
                scores[query - begin, queries.known[queries.starts[query] : queries.stops[query]]] = torch.inf
                if barred[query] >= 0:
                    scores[query - begin, barred[query]] = torch.inf
            for number, weight in enumerate(weights.tolist()):
                values, level = (scores + weight * misfits)[own], (levels + weight * unfit)[:, None]
                ranks[number, rows] = (1 + (values < level).sum(1) + (values == level).sum(1) / 2).numpy()
        return ranks
