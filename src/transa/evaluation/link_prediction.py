"""Link prediction: where the true head and tail of a triple stand among all entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transa.choices import Ties as Ties
from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.evaluation.queries import SIDES, Callback, Queries, Side
from transa.evaluation.ranking import Ranker
from transa.models import Model
from transa.models.loop_prior import barred_triples

HITS = (1, 3, 10)


@dataclass(frozen=True, eq=False)
class LinkPrediction:
    """Counts behind the ranks of each triple, of shape (triples, 2): head and tail.

    Attributes
    ----------
    triples
        Rows of (head, relation, tail).
    num_entities
        The number of candidates, known facts among them.
    better, equal
        How many entities score better than the true one, and how many others the same.
    known_better, known_equal
        How many of these make a known fact.
    known
        How many other entities make a known fact.
    queries
        How many distinct questions were asked.
    rescored
        The share of all pairs of question and entity that had to be scored in full: bounds decided the others.
    without_prior
        The same triples ranked without the loop prior; None if no prior was used.
    """

    triples: Triples
    num_entities: int
    better: npt.NDArray[np.int64]
    equal: npt.NDArray[np.int64]
    known_better: npt.NDArray[np.int64]
    known_equal: npt.NDArray[np.int64]
    known: npt.NDArray[np.int64]
    queries: int
    rescored: float
    without_prior: LinkPrediction | None = None

    def ranks(self, *, filtered: bool = True, ties: Ties = "realistic") -> npt.NDArray[np.float64]:
        """Return the ranks from 1, of shape (triples, 2).

        Parameters
        ----------
        filtered
            Leave other known facts out.
        ties
            Among entities of equal score the true one stands in the middle (``"realistic"``), first or last.
        """
        better, equal = self.better, self.equal
        if filtered:
            better, equal = better - self.known_better, equal - self.known_equal
        return 1 + better + {"realistic": 0.5, "optimistic": 0.0, "pessimistic": 1.0}[ties] * equal

    def candidates(self, *, filtered: bool = True) -> npt.NDArray[np.int64]:
        """Return among how many entities each true one is ranked, itself included."""
        return self.num_entities - (self.known if filtered else np.zeros_like(self.known))

    def measures(
        self,
        side: Side | Literal["both"] = "both",
        *,
        filtered: bool = True,
        ties: Ties = "realistic",
        hits: Sequence[int] = HITS,
    ) -> dict[str, float]:
        """Return mean rank, MRR, Hits@k, median rank, and the adjusted mean rank and its index.

        AMR is the mean rank divided by that of a random order; AMRI is 1 - (MR - 1) / (expected MR - 1): 1 at best, 0 for a random
        order (Berrendorf et al. 2020).

        Parameters
        ----------
        side
            Heads, tails or both.
        filtered, ties
            See `ranks`.
        hits
            The k of Hits@k.
        """
        columns = slice(None) if side == "both" else SIDES.index(side)
        ranks = self.ranks(filtered=filtered, ties=ties)[:, columns].ravel()
        expected = (self.candidates(filtered=filtered)[:, columns].mean() + 1) / 2
        mean = float(ranks.mean())
        return {
            "mr": mean,
            "mrr": float((1 / ranks).mean()),
            **{f"hits@{k}": float((ranks <= k).mean()) for k in hits},
            "median": float(np.median(ranks)),
            "amr": float(mean / expected),
            "amri": float(1 - (mean - 1) / (expected - 1)) if expected > 1 else 0.0,
        }

    def summary(
        self, *, filtered: bool = True, ties: Ties = "realistic", hits: Sequence[int] = HITS
    ) -> dict[str, dict[str, float]]:
        """Return the measures for both, head and tail."""
        sides: tuple[Side | Literal["both"], ...] = ("both", *SIDES)
        return {side: self.measures(side, filtered=filtered, ties=ties, hits=hits) for side in sides}

    def by_side(self, ties: Ties, hits: Sequence[int]) -> dict[str, dict[str, dict[str, float]]]:
        """Return the measures for both, head and tail, each raw and filtered."""
        kinds = {kind: self.summary(filtered=kind == "filtered", ties=ties, hits=hits) for kind in ("raw", "filtered")}
        return {side: {kind: measures[side] for kind, measures in kinds.items()} for side in ("both", *SIDES)}

    def take(self, rows: npt.NDArray[Any]) -> LinkPrediction:
        """Return the counts of some of the triples."""
        arrays = ("triples", "better", "equal", "known_better", "known_equal", "known")
        without = None if self.without_prior is None else self.without_prior.take(rows)
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays}, without_prior=without)


def link_prediction(
    model: Model | Ranker,
    triples: Triples,
    known: KnownFacts,
    *,
    chunk: int | None = None,
    callback: Callback | None = None,
    loop_prior: bool = True,
) -> LinkPrediction:
    """Rank the head and the tail of each triple among all entities.

    Parameters
    ----------
    model
        The model that scores, or its ranker if there is one already; then `chunk` and `loop_prior` are the ranker's.
    triples
        Rows of (head, relation, tail), at least one.
    known
        The facts that a filtered rank leaves out.
    chunk
        Entities at a time; the result does not depend on it.
    callback
        Called now and then with the number of ranks that have been found since.
    loop_prior
        Whether to use the model's loop prior, if it has one (`transa.models.loop_prior`).
    """
    counts = np.zeros((7, len(triples), 2), dtype=np.int64)
    asked = rescored = 0
    itself = known.contains(triples)
    ranker = model if isinstance(model, Ranker) else Ranker(model, chunk, loop_prior)
    entities = ranker.model.num_entities
    for column, side in enumerate(SIDES):
        queries = Queries.of(triples, known, side)
        found = ranker.count(queries, callback)
        counts[:6, queries.origins, column] = found.counts
        owner = queries.query_of_target
        counts[6, queries.origins, column] = (queries.stops - queries.starts)[owner] - itself[queries.origins]
        asked += len(queries)
        rescored += found.rescored
    share = rescored / max(asked * entities, 1)
    better, equal, known_better, known_equal, barred_better, barred_equal, others = counts
    plain = LinkPrediction(triples, entities, better, equal, known_better, known_equal, others, asked, share)
    barred = np.stack([barred_better, barred_equal])
    return _with_prior(plain, barred, ranker.model, known) if ranker.has_prior else plain


def _with_prior(
    plain: LinkPrediction, barred: npt.NDArray[np.int64], model: Model, known: KnownFacts
) -> LinkPrediction:
    """Rank with the loop prior: the barred entity comes last, be it a rival of the true entity or the true entity itself.

    `barred` counts for each rank the rivals that are barred: those better than the true entity, and those equal to it.
    """
    triples, last = plain.triples, barred_triples(model, plain.triples)[:, None]
    loops = np.stack([triples[:, [2, 1, 2]], triples[:, [0, 1, 0]]], axis=1)  # what the given entity would answer
    known_loops = known.contains(loops.reshape(-1, 3)).reshape(-1, 2)
    return replace(
        plain,
        better=np.where(last, plain.num_entities - 1, plain.better - barred[0]),
        equal=np.where(last, 0, plain.equal - barred[1]),
        known_better=np.where(last, plain.known, plain.known_better - barred[0] * known_loops),
        known_equal=np.where(last, 0, plain.known_equal - barred[1] * known_loops),
        without_prior=plain,
    )
