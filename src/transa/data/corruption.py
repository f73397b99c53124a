"""Negatives: true triples in which another entity replaces the head or the tail."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from transa.data.facts import Answers, KnownFacts
from transa.data.graph import Triples
from transa.data.relations import RelationStatistics
from transa.errors import InputError
from transa.kernels.purposes import CORRUPTION

if TYPE_CHECKING:
    from transa.kernels.facts import Candidates

Sampling = Literal["uniform", "bern", "tail"]


class Corruptor:
    """Draws negatives that are not known facts.

    The known facts should be the training triples alone. If validation and test triples were avoided too, they would never occur as
    negatives, and the model could learn the answers from that.

    Parameters
    ----------
    facts
        The triples that are never drawn.
    sampling
        Which side to replace. ``"uniform"`` replaces either with probability 1/2. ``"bern"`` (Wang et al. 2014) replaces the head with
        probability tph / (tph + hpt) of the relation: the side with fewer true answers is replaced more often, and fewer negatives
        happen to be true. ``"tail"`` always replaces the tail, unless every entity makes a known fact there.
    seed
        From 0 to 2^63 - 1. The same seed gives the same corruptions, whatever the number of threads.
    typed
        Replace a head only by heads, and a tail only by tails, that the relation has in a known fact (Socher et al. 2013). If
        neither side has one left, any entity may be drawn; with ``"tail"`` if there is no such tail left.
    purpose
        What the negatives are for (`transa.kernels.purposes`): evaluation does not draw the same ones as training.
    """

    def __init__(
        self,
        facts: KnownFacts,
        sampling: Sampling = "bern",
        seed: int = 0,
        *,
        typed: bool = False,
        purpose: int = CORRUPTION,
    ) -> None:
        if sampling not in ("uniform", "bern", "tail"):
            raise InputError(f"unknown sampling {sampling!r}; expected 'uniform', 'bern' or 'tail'")
        if not 0 <= seed < 2**63:
            raise InputError(f"expected a seed from 0 to 2^63 - 1, found {seed}")
        self.facts = facts
        self.sampling = sampling
        self.seed = seed
        self.purpose = purpose
        self.typed = typed
        self.head_probability: npt.NDArray[np.float64] = np.full(
            facts.num_relations, 0.0 if sampling == "tail" else 0.5
        )
        if sampling == "bern":
            self.head_probability = RelationStatistics.of(facts).head_probability

    @cached_property
    def candidates(self) -> Candidates:
        """The entities that the kernels draw from."""
        from transa.kernels.facts import Candidates

        facts, answers = self.facts, (self.facts.heads.answers, self.facts.tails.answers)
        if self.typed:
            heads = _pools(facts.heads.queries // facts.num_entities, facts.heads, facts)
            tails = _pools(facts.tails.queries % facts.num_relations, facts.tails, facts)
        else:
            heads = tails = (np.empty(0, np.int64), answers[0][:0], answers[0][:0])
        return Candidates(self.head_probability, facts.num_entities, *answers, *heads, *tails)

    def corrupt(self, triples: Triples, negatives: int = 1, *, epoch: int = 0, first: int = 0) -> Triples:
        """Return `negatives` corruptions of each triple, of shape (triples, negatives, 3).

        Parameters
        ----------
        triples
            Rows of (head, relation, tail), all of them known facts.
        negatives
            How many for each.
        epoch
            Another epoch gives other corruptions.
        first
            The position of the first triple in the epoch: corrupting in one piece or in several gives the same.

        Raises
        ------
        InputError
            If a triple is not a known fact, or if every corruption of it is one.
        """
        from transa.kernels.facts import corrupt_pairs
        from transa.kernels.random import stream

        entities = np.empty((len(triples), negatives), dtype=np.int32)
        at_head = np.empty((len(triples), negatives), dtype=bool)
        corrupt_pairs(
            triples,
            self.spans(triples),
            0,
            len(triples),
            first,
            stream(self.seed, self.purpose, epoch),
            self.candidates,
            entities,
            at_head,
        )
        out = np.repeat(triples[:, None, :], negatives, axis=1)
        out[..., 0] = np.where(at_head, entities, out[..., 0])
        out[..., 2] = np.where(at_head, out[..., 2], entities)
        return out

    def spans(self, triples: Triples, *, known: bool = False) -> npt.NDArray[np.int64]:
        """Return for each triple where its known heads start and stop in the index of heads, and its tails in that of tails.

        With `known`, the caller knows that all are known facts.

        Raises
        ------
        InputError
            If a triple is not a known fact, or if with any other entity on either side it would still be one.
        """
        facts = self.facts
        unknown = np.empty(0, np.int64) if known else np.flatnonzero(~facts.contains(triples))
        if len(unknown):
            raise InputError(f"the triple {tuple(triples[unknown[0]].tolist())} (ids) is not a known fact")
        heads = facts.heads.rows(facts.head_queries(triples))
        tails = facts.tails.rows(facts.tail_queries(triples))
        spans = np.stack(
            [
                facts.heads.offsets[heads],
                facts.heads.offsets[heads + 1],
                facts.tails.offsets[tails],
                facts.tails.offsets[tails + 1],
            ],
            axis=1,
        )
        full = np.minimum(spans[:, 1] - spans[:, 0], spans[:, 3] - spans[:, 2]) == facts.num_entities
        if full.any():
            raise InputError(
                f"the triple {tuple(triples[full.argmax()].tolist())} (head, relation, tail ids) cannot be corrupted: "
                "with any other entity on either side it is a known fact"
            )
        return spans


def _pools(
    relations: npt.NDArray[np.int64], index: Answers, facts: KnownFacts
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the distinct answers of each relation, where each begins, and the place of each answer among those of its relation."""
    keys = np.repeat(relations, np.diff(index.offsets)) * facts.num_entities + index.answers
    pools, places = np.unique(keys, return_inverse=True)
    offsets = np.searchsorted(pools, np.arange(facts.num_relations + 1) * facts.num_entities)
    places = places - offsets[keys // facts.num_entities]
    return offsets, (pools % facts.num_entities).astype(np.int32), places.astype(np.int32)
