"""Questions as people ask them, with answers that valid confirms or not: what probabilities are learned from.

The model knows train; facts of valid are what it is to find. Questions are drawn from all that could be asked about the entities and
relations of train, in their natural proportion: most have no answer in valid. Those with one are drawn more often and count less. Of
the answers that `discover` searches, the most promising ones take part whether drawn or not. Test takes no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.evaluation.logistic import Logistic
from transa.evaluation.measures import Values
from transa.evaluation.queries import SIDES, Side
from transa.inference.answer_chances import (
    FOUND,
    AnswerChances,
    Candidates,
    answered,
    candidates_of,
    new_only,
    rivals_of,
)
from transa.inference.new_tails import new_tails, parts_of
from transa.inference.search import best

if TYPE_CHECKING:
    from transa.inference.trained import Trained

#: Answers that are looked at.
TOP = 10

#: Questions of one kind that are asked, and how many scores they may take.
MOST, LEAST, SCORES = 2000, 300, 30_000_000

#: Answers that are learned from beside those to drawn questions, the most promising ones, and how many scores the search may take.
PROMISING, SEARCHED = 10_000, 300_000_000

#: Pairs of entity and relation that are looked at in search of questions without a known answer.
DRAWN = 400_000

#: Borders of the shares by which entities without a known answer are sorted.
BORDERS = (0.1, 0.4, 0.7)

#: How many questions the share of all relations is worth beside that of one relation.
PRIOR = 5.0

Ids = npt.NDArray[np.int64]
#: Entities and relations of questions, and how much each counts.
Asked = tuple[Ids, Ids, Values]


class Rows(NamedTuple):
    """Answers to learn from: what their probability depends on, whether valid holds them, how much each counts, and its question."""

    columns: Values
    labels: npt.NDArray[np.bool_]
    weights: Values
    groups: Ids
    questions: Ids

    def where(self, kept: npt.NDArray[Any]) -> Rows:
        """Return some of the rows, by number or by a mask."""
        return Rows(*(column[kept] for column in self))


def learn(trained: Trained) -> AnswerChances:
    """Learn probabilities of answers from train and valid."""
    train, valid = trained.graph.training_facts, trained.graph.known("valid")
    found: dict[bool, dict[Side, Rows]] = {True: {}, False: {}}
    for side in SIDES:
        for known in (True, False):
            entities, relations, weights = (_known_questions if known else _fresh_questions)(trained, side)
            if not len(entities):
                continue
            left_out = new_only(trained, side, entities, relations, (train,))
            number = min(TOP, trained.model.num_entities)
            listed = best(trained.ranker, side, entities, relations, number, left_out)
            # Rivals are those that remain once valid is known. A question that valid answers first stands for one that stays open.
            rivals = rivals_of(trained, side, entities, relations, (train, valid) if known else (train,), listed)
            rows, places = np.nonzero(listed[0] >= 0)
            triples = answered(side, entities[rows], relations[rows], listed[0][rows, places])
            scores, ours = listed[1][rows, places], (rivals[0][rows], rivals[1][rows])
            found[known][side] = _rows(trained, side, triples, scores, ours, weights[rows])
    drawn, fresh = (list(found[known].values()) for known in (True, False))
    first = _fit(drawn, FOUND)
    if first is not None and "tail" in found[True]:
        drawn = [found[True][side] for side in found[True] if side != "tail"]
        drawn += _with_promising(trained, first, found[True]["tail"])
        first = _fit(drawn, FOUND)
    return AnswerChances(first, _fit(fresh, 1.0))


def _rows(
    trained: Trained, side: Side, triples: Triples, scores: Values, rivals: tuple[Ids, Values], weights: Values
) -> Rows:
    train, valid = trained.graph.training_facts, trained.graph.known("valid")
    candidates = candidates_of(trained, side, triples, scores, rivals, train)
    questions = 2 * _keys(train, triples[:, 0 if side == "tail" else 2], triples[:, 1]) + (side == "head")
    return Rows(candidates.columns, valid.contains(triples), weights, candidates.groups, questions)


def _fit(parts: list[Rows], share: float) -> Logistic | None:
    if not parts:
        return None
    columns, labels, weights, groups, questions = (np.concatenate(column) for column in zip(*parts, strict=True))
    if weights.sum() <= 0:
        return None
    distinct, place = np.unique(questions, return_inverse=True)
    mixed = np.random.default_rng(0).permutation(len(distinct))[place]
    return Logistic.fit(columns, labels, weights, groups, mixed, share)


def _with_promising(trained: Trained, first: Logistic, drawn: Rows) -> list[Rows]:
    """Return the most promising answers of all that `discover` searches, and those drawn answers about tails that are not among them.

    The answers that `discover` shows are the most probable of millions. Among drawn questions there are few like them.
    """
    train, valid = trained.graph.training_facts, trained.graph.known("valid")
    parts = list(parts_of(trained))
    scores = sum(len(heads) * len(trained.range_of(relation, "tail")) for relation, heads in parts)
    share, random = min(1.0, SEARCHED / max(scores, 1)), np.random.default_rng(0)
    kept, least = drawn.where(np.empty(0, np.int64)), -np.inf
    for relation, heads in parts:
        some = heads[random.random(len(heads)) < share]
        if not len(some):
            continue
        found = new_tails(trained, relation, some, (train,), TOP)
        rows, places = np.nonzero(found.answers >= 0)
        listed = found.answers, found.scores
        rivals = rivals_of(trained, "tail", some, np.full(len(some), relation), (train, valid), listed)
        more = _rows(
            trained,
            "tail",
            found.triples(rows, places),
            found.scores[rows, places],
            (rivals[0][rows], rivals[1][rows]),
            np.full(len(rows), 1 / share),
        )
        more = more.where(first.logits(more.columns, more.groups) >= least)
        kept = Rows(*(np.concatenate(both) for both in zip(kept, more, strict=True)))
        if len(kept.labels) > 2 * PROMISING:
            kept, least = _most_promising(kept, first)
    kept, least = _most_promising(kept, first)
    others = (drawn.columns[:, Candidates.NONE] == 1) | (first.logits(drawn.columns, drawn.groups) < least)
    return [kept, drawn.where(others)]


def _most_promising(rows: Rows, first: Logistic) -> tuple[Rows, float]:
    """Return the rows with the highest log-odds, and the least of these; all rows, and no least one, if there are few."""
    if len(rows.labels) <= PROMISING:
        return rows, -np.inf
    logits = first.logits(rows.columns, rows.groups)
    chosen = np.argsort(-logits, kind="stable")[:PROMISING]
    return rows.where(chosen), float(logits[chosen[-1]])


def _known_questions(trained: Trained, side: Side) -> Asked:
    """Return questions that train answers: those that valid answers too, and others."""
    train, valid = trained.graph.training_facts, trained.graph.known("valid")
    entities, relations = _questions(train, side)
    more = np.isin(_keys(train, entities, relations), _keys(train, *_questions(valid, side)))
    rows, weights = _drawn(np.ones(len(more)), more.astype(np.int64), _cap(trained))
    return entities[rows], relations[rows], weights


def _fresh_questions(trained: Trained, side: Side) -> Asked:
    """Return questions about entities and relations of train that it does not answer, as they remain once valid is known.

    Of n questions that are alike, a share a has its answer in valid. They leave, and of the n (1 - a) that stay, as many as left have
    an answer beyond the graph. So the questions without an answer count n (1 - 2 a), where they counted n (1 - a), and those with an
    answer in valid stand for those with an answer beyond.
    """
    train, valid = trained.graph.training_facts, trained.graph.known("valid")
    seen, known, held = trained.seen, _keys(train, *_questions(train, side)), _keys(train, *_questions(valid, side))
    yes = np.setdiff1d(held, known)
    yes = yes[seen[0][yes // train.num_relations] & seen[1][yes % train.num_relations]]
    every = np.flatnonzero(seen[0]), np.flatnonzero(seen[1])
    total, random = len(every[0]) * len(every[1]), np.random.default_rng(0)
    some = np.arange(total) if total <= DRAWN else np.unique(random.integers(0, total, DRAWN))
    no = _keys(train, every[0][some // len(every[1])], every[1][some % len(every[1])])
    no = no[~np.isin(no, known) & ~np.isin(no, held)]
    keys = np.concatenate([yes, no])
    weights = np.concatenate([np.ones(len(yes)), np.full(len(no), total / max(len(some), 1))])
    has_answer = np.arange(len(keys)) < len(yes)
    entities, relations = np.divmod(keys, train.num_relations)
    more = trained.answer_counts.more(side, entities, relations, np.zeros(len(keys), np.int64))
    level = np.digitize(more, BORDERS)
    cell = relations * (len(BORDERS) + 1) + level
    of_level = np.bincount(level, weights * has_answer) / np.maximum(np.bincount(level, weights), 1e-12)
    all_of, yes_of = np.bincount(cell, weights), np.bincount(cell, weights * has_answer)
    share = (yes_of[cell] + PRIOR * of_level[level]) / (all_of[cell] + PRIOR)
    stay = np.maximum(1 - 2 * share, 0) / np.maximum(1 - share, 1e-12)
    weights = np.where(has_answer, weights, weights * stay)
    rows, weights = _drawn(weights, np.where(has_answer, 0, 1 + level), _cap(trained))
    return entities[rows], relations[rows], weights


def _drawn(weights: Values, kinds: Ids, cap: int) -> tuple[Ids, Values]:
    """Draw at most `cap` rows of each kind, and return them and their weights, whose sum is that of all rows of the kind."""
    rows, kept = [], []
    for kind in np.unique(kinds).tolist():
        of_kind = np.flatnonzero((kinds == kind) & (weights > 0))
        some = np.sort(np.random.default_rng(0).permutation(of_kind)[:cap])
        rows.append(some)
        kept.append(weights[some] * (weights[of_kind].sum() / max(float(weights[some].sum()), 1e-12)))
    return np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([np.empty(0), *kept])


def _questions(facts: KnownFacts, side: Side) -> tuple[Ids, Ids]:
    if side == "tail":
        return facts.tails.queries // facts.num_relations, facts.tails.queries % facts.num_relations
    return facts.heads.queries % facts.num_entities, facts.heads.queries // facts.num_entities


def _keys(facts: KnownFacts, entities: npt.NDArray[Any], relations: npt.NDArray[Any]) -> Ids:
    found: Ids = entities.astype(np.int64) * facts.num_relations + relations
    return found


def _cap(trained: Trained) -> int:
    return int(np.clip(SCORES // max(trained.model.num_entities, 1), LEAST, MOST))
