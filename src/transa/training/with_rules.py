"""Rules beside a trained model: how much the model's score and the rules' evidence count, learned on the validation split.

For each question of the validation split, the right answer competes with the best answers of the model and of the rules that make no
known fact, in a softmax over ``-scale f + weight e``: f is the model's score and e the evidence. Questions are left out if their right
answer is neither among the model's best nor reached by a rule. Both numbers are learned for all questions together, by maximum
likelihood, then for each relation and side that has enough questions, drawn towards those of all. In the end all weights of the
evidence are multiplied by the factor of the highest MRR: where rules are right far more often than the model, they come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.graph import Triples
from transa.errors import InputError
from transa.evaluation.queries import SIDES, Queries, Side
from transa.evaluation.ranking import Ranker
from transa.evaluation.scores import answer_scores
from transa.models import Model
from transa.models.loop_prior import barred_answers
from transa.rules import Evidence
from transa.training.recipe import Recipe
from transa.training.rule_engine import WAYS, mined_evidence
from transa.training.validation import valid_sample

#: How many validation triples are learned from, and how many answers of the model and of the rules compete with each.
SAMPLE, RIVALS = 4000, 100
#: Questions that a relation and side must have for numbers of its own, and how strongly these are drawn to those of all.
ENOUGH, PULL = 20, 5.0
#: What the weights of evidence are multiplied with.
FACTORS = (0.5, 1.0, 2.0, 4.0, 16.0, 256.0)


@dataclass(frozen=True, eq=False)
class Contest:
    """Right answers among their rivals.

    Attributes
    ----------
    steps
        The relation and side of each question, as a step.
    starts
        Where the candidates of each question begin; the first is the right answer.
    own, said
        The model's score of each candidate, and the evidence for it.
    """

    steps: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    own: npt.NDArray[np.float64]
    said: npt.NDArray[np.float64]

    def take(self, chosen: npt.NDArray[np.bool_]) -> Contest:
        """Return some of the questions."""
        sizes = np.diff(np.append(self.starts, len(self.own)))
        rows = np.repeat(chosen, sizes)
        kept = sizes[chosen]
        return Contest(self.steps[chosen], np.cumsum(kept) - kept, self.own[rows], self.said[rows])

    def mrr(self, weights: npt.NDArray[np.float64]) -> float:
        """Return the mean reciprocal rank of the right answers among their rivals, given the numbers of each step."""
        owner = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.own))))
        scale, weight = weights[self.steps[owner]].T
        values = weight * self.said - scale * self.own
        right = values[self.starts][owner]
        before = np.add.reduceat((values > right) + 0.5 * (values == right), self.starts)
        return float((1 / (before + 0.5)).mean())  # the right answer is as good as itself, which counts half

    def loss(self, numbers: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the mean of -log p of the right answers, and its gradient."""
        features = np.stack([-self.own, self.said])
        values = numbers @ features
        owner = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.own))))
        values -= np.maximum.reduceat(values, self.starts)[owner]
        chances = np.exp(values)
        totals = np.add.reduceat(chances, self.starts)
        chances /= totals[owner]
        right = features[:, self.starts].sum(axis=1) - (features * chances).sum(axis=1)
        size = len(self.starts)
        return float((np.log(totals) - values[self.starts]).sum() / size), -right / size


def joined(model: Model, graph: KnowledgeGraph, recipe: Recipe) -> Evidence:
    """Mine rules and learn how they and a trained model are put together.

    Raises
    ------
    InputError
        If the graph has no validation triples to learn from.
    """
    sample = valid_sample(graph, SAMPLE, recipe.seed)
    if not len(sample):
        raise InputError(
            "with_rules: the graph has no validation triples to learn the weights of rules from; see --split"
        )
    known, mined = graph.known("train", "valid"), mined_evidence(graph, recipe)
    best: tuple[float, Evidence] | None = None
    for way in WAYS:
        if recipe.aggregation not in ("auto", way[0]):
            continue
        evidence = mined.aggregated(*way)
        whole = together([contest(model, evidence, sample, known, side) for side in SIDES])
        if not len(whole.starts):  # no right answer is within reach, and both count alike
            return evidence.weighed(np.ones((2 * evidence.num_relations, 2)))
        weights = learned(whole, 2 * evidence.num_relations)
        for factor in FACTORS:
            tried = weights * [1.0, factor]
            mrr = whole.mrr(tried)
            if best is None or mrr > best[0]:
                best = mrr, evidence.weighed(tried)
    assert best is not None  # noqa: S101
    return best[1]


def contest(model: Model, evidence: Evidence, sample: Triples, known: KnownFacts, side: Side) -> Contest:
    """Let the right answers for one side of some triples compete with the best rivals."""
    queries = Queries.of(sample, known, side)
    steps = queries.relations + (evidence.num_relations if side == "head" else 0)
    best, scores = Ranker(model).best(queries, min(RIVALS, model.num_entities), leave_out_known=True)
    worst = np.where(np.isfinite(scores), scores, -np.inf).max(axis=1)
    worst[np.isneginf(worst)] = np.inf  # there is no rival: all other entities are known answers
    found = evidence.answers(queries.fixed, steps)
    barred = barred_answers(model, queries.fixed, queries.relations)
    parts: list[
        tuple[npt.NDArray[Any], npt.NDArray[Any]]
    ] = []  # of each question, the candidates and the evidence for them
    for query in range(len(queries)):
        part = slice(found.first[query], found.first[query + 1])
        entities, said = found.entities[part].astype(np.int64), found.evidence[part]
        out = np.append(queries.known[queries.starts[query] : queries.stops[query]], barred[query])
        strongest = np.argsort(-said, kind="stable")
        strongest = strongest[~np.isin(entities[strongest], out)][:RIVALS]
        rivals = np.union1d(best[query][best[query] >= 0], entities[strongest])
        for target in queries.targets[queries.target_offsets[query] : queries.target_offsets[query + 1]]:
            candidates = np.append(target, rivals)
            place = np.minimum(np.searchsorted(entities, candidates), max(len(entities) - 1, 0))
            hit = entities[place] == candidates if len(entities) else np.zeros(len(candidates), bool)
            parts.append((candidates, np.where(hit, said[place] if len(said) else 0.0, 0.0)))
    sizes = np.array([len(candidates) for candidates, _ in parts])
    owner = np.repeat(queries.query_of_target, sizes)
    ends = np.concatenate([candidates for candidates, _ in parts])
    given, relations = queries.fixed[owner], queries.relations[owner]
    pair = (ends, given) if side == "head" else (given, ends)
    triples = np.stack([pair[0], relations, pair[1]], axis=1)
    own = answer_scores(model, triples, side)
    starts, said = np.cumsum(sizes) - sizes, np.concatenate([said for _, said in parts])
    reachable = (own[starts] <= worst[queries.query_of_target]) | (said[starts] > 0)
    # a right answer far behind all rivals is lost whatever the numbers, and must not decide them
    own = np.minimum(own, worst[owner])
    return Contest(steps[queries.query_of_target], starts, own, said).take(reachable)


def together(contests: list[Contest]) -> Contest:
    """Return the questions of several contests as one."""
    sizes = np.array([len(each.own) for each in contests])
    shifts = np.cumsum(sizes) - sizes
    return Contest(
        np.concatenate([each.steps for each in contests]),
        np.concatenate([each.starts + shift for each, shift in zip(contests, shifts, strict=True)]),
        np.concatenate([each.own for each in contests]),
        np.concatenate([each.said for each in contests]),
    )


def learned(whole: Contest, steps: int) -> npt.NDArray[np.float64]:
    """Return the numbers of each step, of shape (steps, 2): the factors of the model's score and of the evidence."""
    unit = np.array([max(float(whole.own.std()), 1e-12), 1.0])  # so that both numbers are of one size
    bounds = [(1e-3, None), (1e-3, None)]
    scaled = Contest(whole.steps, whole.starts, whole.own / unit[0], whole.said)
    start = minimize(scaled.loss, np.array([1.0, 1.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = np.tile(start.x / unit, (steps, 1))
    for step, size in zip(*np.unique(whole.steps, return_counts=True), strict=True):
        if size < ENOUGH:
            continue
        own = scaled.take(scaled.steps == step)

        def pulled(numbers: npt.NDArray[np.float64], own: Contest = own, size: int = size) -> Any:
            loss, gradient = own.loss(numbers)
            away = numbers - start.x
            return loss + PULL / size * (away**2).sum(), gradient + 2 * PULL / size * away

        weights[step] = minimize(pulled, start.x, jac=True, method="L-BFGS-B", bounds=bounds).x / unit
    return weights
