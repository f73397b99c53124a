"""Link prediction on a split of a graph: measures by side, category and relation, and every single rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data.facts import KnownFacts
from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.relations import CATEGORIES, Category, RelationStatistics, by_relation
from transa.data.result_files import write_table
from transa.data.statistics import unseen_rows
from transa.errors import InputError
from transa.evaluation.link_prediction import HITS, LinkPrediction, Ties, link_prediction
from transa.evaluation.popularity import by_popularity
from transa.evaluation.queries import SIDES, Callback, Queries
from transa.evaluation.ranking import Ranker
from transa.evaluation.scores import answer_scores, check_sizes
from transa.frames import Framed
from transa.models import Model
from transa.readable import counted
from transa.table import Table, figure

if TYPE_CHECKING:
    from transa.evaluation.rules_alone import RulesAlone


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Framed):
    """The ranks of the true heads and tails of a split.

    Attributes
    ----------
    found
        The counts behind the ranks.
    model, graph
        The model, and the graph it was evaluated on.
    split, known
        The split that was ranked, and the splits whose facts a filtered rank leaves out.
    population
        How many triples the split has; more than were ranked if this is a sample.
    seed
        Seed of the sample.
    rules
        Whether rules alone stand beside the model.
    """

    found: LinkPrediction
    model: Model = field(repr=False)
    graph: KnowledgeGraph = field(repr=False)
    split: Split
    known: tuple[Split, ...]
    population: int
    seed: int
    rules: bool = False

    def ranks(self, *, filtered: bool = True, ties: Ties = "realistic") -> npt.NDArray[np.float64]:
        """Return the ranks from 1, of shape (triples, 2): head and tail."""
        return self.found.ranks(filtered=filtered, ties=ties)

    def summary(
        self, *, filtered: bool = True, ties: Ties = "realistic", hits: Sequence[int] = HITS
    ) -> dict[str, dict[str, float]]:
        """Return the measures for head, tail and both."""
        return self.found.summary(filtered=filtered, ties=ties, hits=hits)

    def table(self) -> Table:
        """Return the filtered measures as people read them."""
        found = self.summary()
        names = {"mr": "MR", "mrr": "MRR", **{f"hits@{k}": f"Hits@{k}" for k in HITS}}
        rows = tuple((side, *(figure(measures[name]) for name in names)) for side, measures in found.items())
        title = f"{self.model.title} on {counted(len(self.found.triples), f'{self.split} triple')}, filtered ranks"
        return Table(title, ("side", *names.values()), rows)

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @cached_property
    def popularity(self) -> LinkPrediction:
        """The same triples ranked without a model: by how often an entity stands on that side of the relation in train."""
        return by_popularity(self.graph.training_facts, self.found.triples, _known(self.graph, self.known))

    @cached_property
    def rules_alone(self) -> RulesAlone | None:
        """The same triples ranked without a model, by rules that are mined from train when first asked for; None if not wanted."""
        if not self.rules:
            return None
        from transa.evaluation.rules_alone import RulesAlone

        return RulesAlone.of(self.graph, self.found.triples, _known(self.graph, self.known))

    @cached_property
    def relation_categories(self) -> list[Category]:
        """The category of each relation, from the training triples."""
        return RelationStatistics.of(self.graph.training_facts).categories

    @cached_property
    def unseen(self) -> int:
        """How many of the ranked triples have an entity or relation that does not occur in train."""
        return int(unseen_rows(self.graph, self.found.triples).sum())

    def report(self, *, ties: Ties = "realistic", hits: Sequence[int] = HITS) -> dict[str, Any]:
        """Return everything as plain values: fractions, never percentages.

        ``report[side][kind][measure]`` is a measure, with both, head or tail as side and raw or filtered as kind. ``categories`` and
        ``relations`` have the same for each category and relation. ``popularity`` beside it has the measures of the baseline
        that ranks by popularity in train. ``rules_alone`` has those of rules, and under ``reached`` the model's by what reaches a
        triple: a rule of one atom, other rules, or none; it is None if rules were not wanted. ``loop_prior`` tells in how many
        relations the loop prior bars loops, and under ``without`` has the measures without it; it is None if no prior was used.
        """
        relations = self.found.triples[:, 1]
        categories = np.array(self.relation_categories)[relations]
        return {
            "model": self.model.name,
            "split": self.split,
            "n": len(relations),
            "ties": ties,
            "filter": list(self.known),
            "entities": self.found.num_entities,
            "unseen": self.unseen,
            "queries": self.found.queries,
            "rescored": self.found.rescored,
            "loop_prior": self._loop_prior(ties, hits),
            **self.found.by_side(ties, hits),
            "popularity": self.popularity.by_side(ties, hits),
            "rules_alone": None if self.rules_alone is None else self.rules_alone.report(self.found, ties, hits),
            "estimate": self._estimate(ties, hits),
            "categories": {
                category: {
                    "n": int((categories == category).sum()),
                    **self.found.take(categories == category).by_side(ties, hits),
                    "popularity": self.popularity.take(categories == category).by_side(ties, hits),
                }
                for category in CATEGORIES
                if (categories == category).any()
            },
            "relations": {
                self.graph.relations[relation]: {
                    "n": len(rows),
                    "category": self.relation_categories[relation],
                    **self.found.take(rows).by_side(ties, hits),
                    "popularity": self.popularity.take(rows).by_side(ties, hits),
                }
                for relation, rows in by_relation(self.found.triples)
            },
        }

    def _loop_prior(self, ties: Ties, hits: Sequence[int]) -> dict[str, Any] | None:
        without, barred = self.found.without_prior, self.model.loop_free
        if without is None or barred is None:
            return None
        return {"relations": int(barred.sum()), "of": len(barred), "without": without.by_side(ties, hits)}

    def _estimate(self, ties: Ties, hits: Sequence[int]) -> dict[str, Any] | None:
        """Return 95 % intervals if only a sample was ranked. The two ranks of a triple count as one observation."""
        if self.population == len(self.found.triples):
            return None
        ranks = self.ranks(ties=ties)
        values = {"mr": ranks, "mrr": 1 / ranks, **{f"hits@{k}": ranks <= k for k in hits}}
        intervals = {}
        for name, each in values.items():
            means = each.mean(axis=1)
            reach = 1.96 * float(means.std(ddof=1)) / len(means) ** 0.5 if len(means) > 1 else float("inf")
            intervals[name] = [float(means.mean()) - reach, float(means.mean()) + reach] if len(means) > 1 else None
        return {"population": self.population, "seed": self.seed, "confidence": 0.95, "filtered": intervals}

    def frame(self, answers: int = 0) -> pa.Table:
        """Return every single rank as an Arrow table, with two rows for each triple.

        Columns: head, relation, tail (keys), side, category, rank (filtered), raw_rank, optimistic_rank and pessimistic_rank
        (filtered), score (of a directional model, that of the side), and the best `answers` that are not known facts, with their
        scores.
        """
        count = len(self.found.triples)
        heads, relations, tails = np.repeat(self.found.triples, len(SIDES), axis=0).T
        categories = np.array(self.relation_categories, dtype=object)
        columns = {
            "head": self.graph.entities.keys.take(pa.array(heads)),
            "relation": self.graph.relations.keys.take(pa.array(relations)),
            "tail": self.graph.entities.keys.take(pa.array(tails)),
            "side": pa.array(list(SIDES) * count, pa.string()),
            "category": pa.array(categories[relations], pa.string()),
            "rank": pa.array(self.ranks().ravel()),
            "raw_rank": pa.array(self.ranks(filtered=False).ravel()),
            "optimistic_rank": pa.array(self.ranks(ties="optimistic").ravel()),
            "pessimistic_rank": pa.array(self.ranks(ties="pessimistic").ravel()),
            "score": pa.array(self._scores().ravel()),
        }
        if answers:
            ids, scores = self._best(answers)
            for place in range(answers):
                missing = ids[:, place] < 0
                columns[f"answer_{place + 1}"] = self.graph.entities.keys.take(pa.array(ids[:, place], mask=missing))
                columns[f"answer_{place + 1}_score"] = pa.array(scores[:, place], mask=missing)
        return pa.table(columns)

    def _scores(self) -> npt.NDArray[np.float64]:
        """Return the score by which each side of each triple was ranked."""
        return np.stack([answer_scores(self.model, self.found.triples, side) for side in SIDES], axis=1)

    def _best(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        triples, ranker = self.found.triples, Ranker(self.model, loop_prior=self.found.without_prior is not None)
        known = _known(self.graph, self.known)
        ids = np.empty((len(triples), len(SIDES), number), np.int64)
        scores = np.empty((len(triples), len(SIDES), number))
        for column, side in enumerate(SIDES):
            queries = Queries.of(triples, known, side)
            found = ranker.best(queries, number, leave_out_known=True)
            owner = queries.query_of_target
            ids[queries.origins, column], scores[queries.origins, column] = found[0][owner], found[1][owner]
        return ids.reshape(-1, number), scores.reshape(-1, number)

    def write(self, path: Path, *, answers: int = 3, overwrite: bool = False) -> Path:
        """Write every single rank to a .csv, .tsv or .parquet file."""
        return write_table(self.frame(answers), path, overwrite=overwrite)


def evaluate(
    model: Model | Ranker,
    graph: KnowledgeGraph,
    split: Split = "test",
    *,
    known: Sequence[Split] | None = None,
    limit: int | None = None,
    seed: int = 0,
    chunk: int | None = None,
    callback: Callback | None = None,
    loop_prior: bool = True,
    rules: bool = False,
) -> Evaluation:
    """Rank the head and the tail of each true triple of a split among all entities.

    Parameters
    ----------
    model, graph
        A trained model, or a ranker of its own, and the graph it was trained on.
    split
        The triples to rank; those labelled false are left out.
    known
        The splits whose facts a filtered rank leaves out: by default train and valid, and test if test is ranked.
    limit, seed
        Rank a random sample of this many triples.
    chunk
        Entities scored at a time; the result does not depend on it.
    callback
        Called now and then with the number of ranks found since the last call.
    loop_prior
        Whether to use the model's loop prior, if it has one. The report has the figures without it as well.
    rules
        Whether the report has the figures of rules alone beside those of the model, and the model's for triples that rules can and
        cannot reach.
    """
    asked = model.model if isinstance(model, Ranker) else model
    check_sizes(asked, graph)
    if split not in SPLITS:
        raise InputError(f"split: expected one of {', '.join(SPLITS)}, found {split!r}")
    usual = tuple(each for each in SPLITS if each != "test" or split == "test")
    chosen = usual if known is None else tuple(known)
    for each in chosen:
        if each not in SPLITS:
            raise InputError(f"known: expected some of {', '.join(SPLITS)}, found {each!r}")
    if limit is not None and limit < 1:
        raise InputError(f"limit: expected at least 1, found {limit}")
    triples = graph.positives(split)
    if not len(triples):
        raise InputError(f"the graph has no {split} triples")
    population = len(triples)
    if limit is not None and limit < population:
        triples = triples[np.sort(np.random.default_rng(seed).permutation(population)[:limit])]
    filter_ = _known(graph, chosen)
    found = link_prediction(model, triples, filter_, chunk=chunk, callback=callback, loop_prior=loop_prior)
    return Evaluation(found, asked, graph, split, chosen, population, seed, rules)


def _known(graph: KnowledgeGraph, splits: tuple[Split, ...]) -> KnownFacts:
    return graph.known(*splits) if splits else KnownFacts(graph.train[:0], len(graph.entities), len(graph.relations))
