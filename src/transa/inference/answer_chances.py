"""The probability that a new answer to a question is true.

It is learned from questions as people ask them (`held_out_questions`): what is the share of answers that valid holds, among new
answers whose score, lead over other answers and number of known answers are alike? Relations have offsets of their own, which are
shrunk where a relation has few facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.evaluation.logistic import Logistic
from transa.evaluation.measures import Values
from transa.evaluation.queries import Side
from transa.inference.search import best, best_in_range

if TYPE_CHECKING:
    from transa.inference.trained import Trained

#: What the number means, in one line.
MEANING = (
    "probability: the share of answers like this that were found among held-out facts, "
    "if as many facts are missing from the graph as valid holds"
)

#: No probability is nearer to 0 or 1.
EDGE = 0.001

#: Of the true answers to questions with a known one, the share that valid holds; the others are missing from the graph.
FOUND = 0.5

#: Answers that are looked at first for the two best in range.
FIRST = 16


@dataclass(frozen=True, eq=False)
class Candidates:
    """Answers, and what their probability depends on.

    Attributes
    ----------
    columns
        Of shape (answers, 9): the score, in standard deviations of the relation's training scores; its lead over the best other new
        answer, compressed, and whether it is the best; and for the asked and for the other side how usual a further answer is
        (`AnswerCounts.more`) and how many are known, then whether the answer has none on its own side, alone and times how usual one
        is.
    groups
        Twice the relation; plus one if heads are asked for.
    known
        Whether the question has a known answer, other than this one.
    """

    columns: Values
    groups: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]

    #: How many columns there are, and which of them tells whether the answer has none on its own side.
    SIZE, NONE = 9, 7


@dataclass(frozen=True)
class AnswerChances:
    """Turns candidates into probabilities.

    Attributes
    ----------
    known, fresh
        For questions that have a known answer, and for those without; None if there was nothing to learn from.
    """

    known: Logistic | None
    fresh: Logistic | None

    def logits(self, candidates: Candidates) -> Values:
        """Return the log-odds of each answer; NaN if there are none.

        If as many facts are missing beyond the graph as valid holds, half of the true answers that are not in train are in valid. So
        where a share q of answers is true, q / 2 are found there. These are known by now and are no candidates any more, which
        leaves odds of (q / 2) / (1 - q): half of what they were. A question without a known answer has left with its answer, which
        `held_out_questions` sees to.
        """
        found = np.full(len(candidates.columns), np.nan)
        for curve, rows in ((self.known, candidates.known), (self.fresh, ~candidates.known)):
            if curve is not None:
                found[rows] = curve.logits(candidates.columns[rows], candidates.groups[rows])
        found[candidates.known] += np.log(1 - FOUND)
        return found

    def probability(self, candidates: Candidates) -> list[float | None]:
        """Return the probability of each answer, never 0 or 1."""
        with np.errstate(
            over="ignore"
        ):  # the odds may be too long for a number; scipy's function takes a while to load
            chances = 1 / (1 + np.exp(-self.logits(candidates)))
        found = np.clip(chances, EDGE, 1 - EDGE)
        return [None if np.isnan(each) else each for each in found.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            name: None if curve is None else curve.to_dict()
            for name, curve in (("known", self.known), ("fresh", self.fresh))
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AnswerChances:
        """Return the object that `to_dict` described."""
        return cls(
            *(
                None if values[name] is None else Logistic.from_dict(values[name], Candidates.SIZE)
                for name in ("known", "fresh")
            )
        )


def candidates_of(
    trained: Trained,
    side: Side,
    triples: Triples,
    scores: Values,
    rivals: tuple[npt.NDArray[np.int64], Values],
    facts: KnownFacts,
) -> Candidates:
    """Return what the probability of each answer depends on.

    Parameters
    ----------
    trained
        The model and its graph.
    side
        The side that is asked for.
    triples, scores
        The answers as whole triples, and their scores for this side.
    rivals
        The ids and the scores of the two best new answers to each question (`rivals_of`).
    facts
        The facts that count as known.
    """
    asked, other = (0, 2) if side == "tail" else (2, 0)
    opposite: Side = "head" if side == "tail" else "tail"
    relations = triples[:, 1]
    mean, deviation = trained.usual(relations)
    counts = {
        each: _known(trained.graph.training_facts, facts, each, triples, given)
        for each, given in ((side, asked), (opposite, other))
    }
    more = {
        each: trained.answer_counts.more(each, triples[:, given], relations, counts[each])
        for each, given in ((side, asked), (opposite, other))
    }
    ids, best_scores = rivals
    rival = np.where(ids[:, 0] == triples[:, other], best_scores[:, 1], best_scores[:, 0])
    lead = np.where(np.isfinite(rival), rival - scores, 0.0) / deviation
    usual = {each: np.log(share / (1 - share)) for each, share in more.items()}
    none = counts[opposite] == 0
    columns = np.stack(
        [
            np.clip((mean - scores) / deviation, -1e6, 1e6),
            np.sign(lead) * np.log1p(np.abs(lead)),
            (rival > scores) & ~none,  # so too without any rival
            usual[side],
            np.log1p(counts[side]),
            usual[opposite],
            np.log1p(counts[opposite]),
            none,
            none * usual[opposite],
        ],
        axis=1,
    )
    return Candidates(columns, relations.astype(np.int64) * 2 + (side == "head"), counts[side] > 0)


def rivals_of(
    trained: Trained,
    side: Side,
    fixed: npt.NDArray[Any],
    relations: npt.NDArray[Any],
    old: Sequence[KnownFacts],
    listed: tuple[npt.NDArray[np.int64], Values] | None = None,
) -> tuple[npt.NDArray[np.int64], Values]:
    """Return the two best new answers to each question that stand on that side of the relation in train, and their scores.

    Where there are not as many, the id is -1 and the score infinite.

    Parameters
    ----------
    trained, side, fixed, relations
        The questions.
    old
        The triples that are not new.
    listed
        The best answers and their scores, if there are some already; they may hold old ones.
    """
    if listed is None:
        left_out = new_only(trained, side, fixed, relations, old)
        listed = best(trained.ranker, side, fixed, relations, min(FIRST, trained.model.num_entities), left_out)
    answers = listed[0]
    triples = answered(
        side, np.repeat(fixed, answers.shape[1]), np.repeat(relations, answers.shape[1]), answers.ravel()
    )
    opposite: Side = "head" if side == "tail" else "tail"
    inside = _count(trained.graph.training_facts, opposite, np.maximum(answers, 0).ravel(), triples[:, 1]) > 0
    for facts in old:
        inside &= ~facts.contains(triples)
    inside = inside.reshape(answers.shape) & (answers >= 0)
    place = np.cumsum(inside, axis=1) - 1
    ids, scores = np.full((len(fixed), 2), -1, np.int64), np.full((len(fixed), 2), np.inf)
    for column in (0, 1):
        rows, found = np.nonzero(inside & (place == column))
        ids[rows, column], scores[rows, column] = answers[rows, found], listed[1][rows, found]
    missing = np.flatnonzero((ids[:, 1] < 0) & (answers[:, -1] >= 0))  # there may be others further down
    for relation in np.unique(relations[missing]).tolist():
        rows = missing[relations[missing] == relation]
        left_out = new_only(trained, side, fixed[rows], relations[rows], old)
        ids[rows], scores[rows] = best_in_range(trained, side, fixed[rows], relation, 2, left_out)
    return ids, scores


def answered(side: Side, fixed: npt.NDArray[Any], relations: npt.NDArray[Any], answers: npt.NDArray[Any]) -> Triples:
    """Return questions about one side with their answers as triples."""
    ends = (fixed, answers) if side == "tail" else (answers, fixed)
    return np.stack([ends[0], relations, ends[1]], axis=1).astype(np.int32)


def new_only(
    trained: Trained,
    side: Side,
    fixed: npt.NDArray[Any],
    relations: npt.NDArray[Any],
    old: Sequence[KnownFacts],
    *loops: float,
) -> list[npt.NDArray[np.int32]]:
    """Return for each question the entities that are no new answers: those of old triples, and itself where barred.

    `loops` is the share of loops in train from which an entity may answer itself, if it is not the usual one.
    """
    found = []
    for entity, relation in zip(np.asarray(fixed).tolist(), np.asarray(relations).tolist(), strict=True):
        sets = [each.heads_of(relation, entity) if side == "head" else each.tails_of(entity, relation) for each in old]
        itself = [] if trained.answers_itself(relation, *loops) else [entity]
        found.append(np.unique(np.concatenate([*sets, itself]).astype(np.int32)))
    return found


def _known(train: KnownFacts, facts: KnownFacts, side: Side, triples: Triples, given: int) -> npt.NDArray[np.int64]:
    """Return how many answers, other than this one, each question has in train; if none, how many are known at all.

    Probabilities are learned with train alone as what is known, so a count must not grow by the facts of valid.
    """
    ours, every = (
        _count(known, side, triples[:, given], triples[:, 1]) - known.contains(triples) for known in (train, facts)
    )
    return np.where(ours > 0, ours, every)


def _count(
    facts: KnownFacts, side: Side, fixed: npt.NDArray[Any], relations: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    triples = np.stack([fixed, relations, fixed], axis=1)
    index, asked = (
        (facts.tails, facts.tail_queries(triples)) if side == "tail" else (facts.heads, facts.head_queries(triples))
    )
    rows = index.rows(asked)
    return np.where(rows >= 0, index.offsets[rows + 1] - index.offsets[rows], 0)
