"""How many answers questions have in train, and so how likely a question with some known answers has more."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.facts import KnownFacts
from transa.evaluation.queries import Side

#: The smallest and the largest share that is taken from counts.
LEAST, MOST = 0.001, 0.999

#: Questions with at least as many answers that a count needs; of larger counts there are too few.
ENOUGH = 5


class AnswerCounts:
    """The numbers of answers in train, by relation and side.

    Parameters
    ----------
    facts
        The training facts.
    """

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts
        self._alike: dict[tuple[int, Side], npt.NDArray[np.float64]] = {}

    def more(
        self, side: Side, entities: npt.NDArray[Any], relations: npt.NDArray[Any], known: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return how usual it is that a question with `known` answers has another one.

        That is the share of questions with more answers among those of the relation that have at least as many in train. Where no
        answer is known, it is the share of entities that have the relation at all, among those most alike: an entity is like those
        with which it shares the side of a relation.
        """
        found = np.empty(len(entities))
        for relation in np.unique(relations).tolist():
            rows = np.flatnonzero(relations == relation)
            counts = self._counts(relation, side)
            asked = np.minimum(known[rows], counts[max(len(counts) - ENOUGH, 0)] if len(counts) else 0)
            above, from_here = (len(counts) - np.searchsorted(counts, asked, way) for way in ("right", "left"))
            found[rows] = (above + 0.5) / (from_here + 1)
            fresh = rows[known[rows] == 0]
            if len(fresh):
                found[fresh] = self._of_alike(entities[fresh], relation, side)
        return np.clip(found, LEAST, MOST)

    def single(self, side: Side, relation: int) -> tuple[int, int]:
        """Return how many questions of a relation about this side have one answer in train, and how many there are."""
        counts = self._counts(relation, side)
        return int(np.searchsorted(counts, 1, "right")), len(counts)

    @cached_property
    def _sorted(self) -> dict[Side, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """For each side the number of answers of each question, sorted within the relation, and where relations begin."""
        facts, found = self.facts, {}
        sides: tuple[Side, ...] = ("head", "tail")
        for side in sides:
            relation = (
                facts.tails.queries % facts.num_relations
                if side == "tail"
                else facts.heads.queries // facts.num_entities
            )
            counts = np.diff((facts.tails if side == "tail" else facts.heads).offsets)
            order = np.lexsort((counts, relation))
            found[side] = (counts[order], np.searchsorted(relation[order], np.arange(facts.num_relations + 1)))
        return found

    def _counts(self, relation: int, side: Side) -> npt.NDArray[np.int64]:
        counts, borders = self._sorted[side]
        return counts[borders[relation] : borders[relation + 1]]

    @cached_property
    def _roles(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The roles of each entity (a relation as head, or beyond all relations as tail): offsets, roles, and how many have a role."""
        facts = self.facts
        relations = facts.num_relations
        heads, tails = facts.tails.queries, facts.heads.queries
        entities = np.concatenate([heads // relations, tails % facts.num_entities])
        roles = np.concatenate([heads % relations, tails // facts.num_entities + relations])
        order = np.argsort(entities, kind="stable")
        offsets = np.searchsorted(entities[order], np.arange(facts.num_entities + 1))
        return offsets, roles[order], np.bincount(roles, minlength=2 * relations)

    def _of_alike(self, entities: npt.NDArray[Any], relation: int, side: Side) -> npt.NDArray[np.float64]:
        offsets, roles, sizes = self._roles
        shares = self._alike.get((relation, side))
        if shares is None:
            asked = relation if side == "tail" else relation + self.facts.num_relations
            holders = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            has = np.zeros(len(offsets) - 1, bool)
            has[holders[roles == asked]] = True
            shares = np.bincount(roles[has[holders]], minlength=len(sizes)) / (sizes + 1)
            shares[asked] = 0.0
            self._alike[relation, side] = shares
        sizes = offsets[entities + 1] - offsets[entities]
        begins = np.cumsum(sizes) - sizes
        mine = shares[roles[np.repeat(offsets[entities] - begins, sizes) + np.arange(sizes.sum())]]
        found = np.zeros(len(entities))
        found[sizes > 0] = np.maximum.reduceat(mine, begins[sizes > 0]) if len(mine) else 0.0
        return found
