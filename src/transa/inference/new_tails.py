"""The best new tails of each head and relation that occur together in train, among the tails that the relation has there.

That is a small part of all entities x entities x relations, and each search is exact (`Ranker.best`). `discover` searches it for new
facts, and their probabilities are learned from the same search with train alone as what is known (`held_out_questions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.data.graph import Triples
from transa.evaluation.measures import Values
from transa.inference.answer_chances import answered, new_only
from transa.inference.search import best_in_range

if TYPE_CHECKING:
    from transa.inference.trained import Trained

#: The share of loops in train from which on new loops of a relation are looked for.
LOOPS = 0.5

#: Heads that are searched at a time; `discover` reports progress after each part.
PART = 2048


@dataclass(frozen=True, eq=False)
class NewTails:
    """Tails of some heads of a relation, the best first.

    Attributes
    ----------
    relation, heads
        The questions.
    answers, scores
        Of shape (heads, number); where there are not as many, the id is -1 and the score infinite.
    """

    relation: int
    heads: npt.NDArray[np.int32]
    answers: npt.NDArray[np.int64]
    scores: Values

    def triples(self, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Triples:
        """Return some of the answers as triples."""
        return answered("tail", self.heads[rows], np.full(len(rows), self.relation), self.answers[rows, columns])


def parts_of(trained: Trained, chosen: set[int] | None = None) -> Iterator[tuple[int, npt.NDArray[np.int32]]]:
    """Yield each relation with some of its heads, until all heads have come; `chosen` are the relations, and None is all of them."""
    train = trained.graph.train
    order = np.argsort(train[:, 1], kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(train[order, 1])) + 1):
        relation = int(train[rows[0], 1])
        if chosen is None or relation in chosen:
            heads = np.unique(train[rows, 0])
            for begin in range(0, len(heads), PART):
                yield relation, heads[begin : begin + PART]


def new_tails(
    trained: Trained, relation: int, heads: npt.NDArray[np.int32], old: Sequence[KnownFacts], number: int
) -> NewTails:
    """Return the `number` best tails of each head that no triple of `old` has."""
    left_out = new_only(trained, "tail", heads, np.full(len(heads), relation), old, LOOPS)
    return NewTails(relation, heads, *best_in_range(trained, "tail", heads, relation, number, left_out))
