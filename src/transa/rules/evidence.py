"""The evidence that rules give for triples, from facts they fire on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from transa.choices import Side
from transa.data.graph import Triples
from transa.errors import InputError
from transa.kernels.rule_answers import Answers, RuleTables, answers, firing
from transa.kernels.rule_index import RuleIndex
from transa.rules.index import rule_index
from transa.rules.rule_set import COLUMNS, RuleSet

#: How the confidences of several rules for one answer are put together.
Aggregation = Literal["maximum", "noisy_or"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rules and the facts they fire on.

    The evidence for a triple is -log(1 - p). With `maximum`, p is the confidence of the strongest rule that speaks for it, and the
    second and third decide between equals; with `noisy_or`, 1 - p is the product of 1 - confidence over the strongest rules. What
    share of the questions about a relation and side an entity answers in train counts as one more, weak rule.

    Attributes
    ----------
    rules
        The rules.
    facts
        The triples.
    num_entities, num_relations
        The sizes of the vocabularies.
    aggregation, strongest
        How confidences are put together, and of how many rules with `noisy_or`; 0: of all.
    weights
        Where rules speak beside a model: for each step, the factors of the model's score and of the evidence, of shape (steps, 2);
        None for rules alone.
    """

    rules: RuleSet
    facts: Triples
    num_entities: int
    num_relations: int
    aggregation: Aggregation = "maximum"
    strongest: int = 0
    weights: npt.NDArray[np.float64] | None = None

    def aggregated(self, aggregation: Aggregation, strongest: int = 0) -> Evidence:
        """Return the same rules and facts, put together in another way."""
        return self._sharing(replace(self, aggregation=aggregation, strongest=strongest))

    def weighed(self, weights: npt.NDArray[np.float64]) -> Evidence:
        """Return the same rules and facts with weights beside a model."""
        return self._sharing(replace(self, weights=weights))

    def extended(self, facts: Triples, num_entities: int) -> Evidence:
        """Return the same rules on more facts, of which there may be some about new entities."""
        return replace(self, facts=np.concatenate([self.facts, facts]), num_entities=num_entities)

    def _sharing(self, other: Evidence) -> Evidence:
        other.__dict__["index"], other.__dict__["_every"] = self.index, self._every
        return other

    def weights_of(self, steps: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the weights of some steps."""
        every = np.tile([1.0, 1.0], (2 * self.num_relations, 1)) if self.weights is None else self.weights
        found: npt.NDArray[np.float64] = every[steps]
        return found

    def answers(self, given: npt.NDArray[Any], steps: npt.NDArray[Any]) -> Answers:
        """Return the answers that rules give to questions: where do the steps lead from the given entities?"""
        return answers(self.index, self.tables, given.astype(np.int64), steps.astype(np.int64))

    def of(self, triples: Triples, side: Side = "tail") -> npt.NDArray[np.float64]:
        """Return the evidence for each triple as an answer to the question about one side."""
        return self._of(triples, side, self.tables)

    def reaches(self, triples: Triples) -> npt.NDArray[np.bool_]:
        """Tell of each triple whether a rule speaks for it; how often its entities stand there in train is no rule."""
        found = self._of(triples, "tail", self._every[0]._replace(strongest=1, maximum=False, discount=np.inf))
        return found > 0

    def _of(self, triples: Triples, side: Side, tables: RuleTables) -> npt.NDArray[np.float64]:
        # in whole columns, since strided ones would be compiled for as well
        heads, relations, tails = np.ascontiguousarray(triples.T, dtype=np.int64)
        if side == "tail":
            found = answers(self.index, tables, heads, relations, tails)
        else:
            found = answers(self.index, tables, tails, relations + self.num_relations, heads)
        evidence = np.zeros(len(triples))
        evidence[np.diff(found.first) > 0] = found.evidence
        return evidence

    def speaking(self, head: int, relation: int, tail: int) -> npt.NDArray[np.int64]:
        """Return the rules that speak for a triple, by their place in `rules`, the strongest first."""
        found = firing(self.index, self.tables, head, relation, tail)
        chains, by_answer = self._places
        places = [(by_answer if kind else chains)[place] for kind, place in found.tolist()]
        return np.array(places, np.int64)

    # ------------------------------------------------------------------ as kernels see it

    @cached_property
    def index(self) -> RuleIndex:
        """The facts as rules walk them."""
        return rule_index(self.facts, self.num_entities, self.num_relations)

    @property
    def tables(self) -> RuleTables:
        """The rules as questions find them."""
        return self._every[0]._replace(strongest=self.strongest, maximum=self.aggregation == "maximum")

    @property
    def _places(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rule of each entry of the tables: of chains, and of constants by row."""
        return self._every[1]

    @cached_property
    def _every(self) -> tuple[RuleTables, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        rules, index, size = self.rules, self.index, 2 * self.num_relations
        weights = -np.log1p(-np.minimum(rules.confidence, 0.9999))
        chains = np.flatnonzero(rules.constant < 0)
        forwards, backwards = rules.body[chains], _reversed(rules.body[chains], self.num_relations)
        concluded = np.concatenate([rules.head[chains], rules.head[chains] + self.num_relations])
        order = np.lexsort((-np.tile(weights[chains], 2), concluded))
        steps = np.concatenate([forwards, backwards])[order]
        chain_places = np.tile(chains, 2)[order]
        constants = np.flatnonzero((rules.constant >= 0) & (rules.body[:, 0] >= 0))
        rows = self._rows(rules.constant[constants], _opposite(rules.head[constants], self.num_relations))
        known = rules.body_constant[constants] >= 0
        step = rules.body[constants, 0]
        body = np.where(
            known, self._rows(rules.body_constant[constants], _opposite(step, self.num_relations)), -1 - step
        )
        there = (rows >= 0) & (~known | (body >= 0))  # the others fire on no fact
        constants, rows, body, step = constants[there], rows[there], body[there], step[there]
        by_row = np.lexsort((-weights[constants], rows))
        keys = np.where(body >= 0, body, len(index.owners) - 1 - body)
        by_body = np.lexsort((-weights[constants], rules.head[constants], keys))
        tables = RuleTables(
            _borders(concluded[order], size),
            steps,
            weights[chain_places],
            _borders(rows[by_row], len(index.owners)),
            body[by_row],
            weights[constants[by_row]],
            _borders(keys[by_body], len(index.owners) + size),
            rules.head[constants[by_body]],
            rows[by_body],
            weights[constants[by_body]],
            float(rules.discount),
            0,
            True,
        )
        return tables, (chain_places, constants[by_row])

    def _rows(self, entities: npt.NDArray[np.int64], steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the row of each entity and step, or -1 if it reaches nothing."""
        keys = self.index.owners.astype(np.int64) * (2 * self.num_relations) + self.index.steps
        wanted = entities * (2 * self.num_relations) + steps
        found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return np.where(keys[found] == wanted, found, -1) if len(keys) else np.full(len(wanted), -1)

    # ------------------------------------------------------------------ as it is kept

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that `of_arrays` needs."""
        settings = [self.aggregation == "maximum", self.strongest, self.rules.discount]
        columns = {name: getattr(self.rules, name) for name in COLUMNS}
        found = columns | {"facts": self.facts.copy(), "settings": np.array(settings, np.float64)}
        return found if self.weights is None else found | {"weights": self.weights}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], num_entities: int, num_relations: int) -> Evidence:
        """Read what `arrays` returned.

        Raises
        ------
        InputError
            If something is missing, or refers to entities or relations that are not there.
        """
        missing = [name for name in (*COLUMNS, "facts", "settings") if name not in arrays]
        if missing:
            raise InputError(f"rules: {missing[0]} is missing")
        settings = arrays["settings"].astype(np.float64).ravel()
        if len(settings) != 3 or not np.isfinite(settings).all():
            raise InputError("rules: expected 3 settings")
        columns = [arrays[name].astype(np.int64) for name in COLUMNS]
        rules = RuleSet.from_columns(columns, float(settings[2]))
        facts = arrays["facts"]
        if facts.ndim != 2 or facts.shape[1:] != (3,):
            raise InputError(f"rules: expected facts of shape (facts, 3), found {facts.shape}")
        limits = [
            *((rules.head, 0, 2 * num_relations), (rules.constant, -1, num_entities)),
            *((rules.body, -1, 2 * num_relations), (rules.body_constant, -1, num_entities)),
            *((facts[:, ::2], 0, num_entities), (facts[:, 1], 0, num_relations)),
        ]
        for values, low, high in limits:
            if values.size and (values.min() < low or values.max() >= high):
                raise InputError(
                    f"rules: expected ids from {low} to {high - 1}, found {values.min()} to {values.max()}"
                )
        weights = arrays.get("weights")
        if weights is not None and (weights.shape != (2 * num_relations, 2) or not np.isfinite(weights).all()):
            raise InputError(f"rules: expected weights of shape {(2 * num_relations, 2)}, found {weights.shape}")
        kind: Aggregation = "maximum" if settings[0] else "noisy_or"
        return cls(rules, facts.astype(np.int32), num_entities, num_relations, kind, int(settings[1]), weights)


def _opposite(steps: npt.NDArray[np.int64], relations: int) -> npt.NDArray[np.int64]:
    """Return the steps that lead back."""
    return np.where(steps < relations, steps + relations, steps - relations)


def _reversed(bodies: npt.NDArray[np.int64], relations: int) -> npt.NDArray[np.int64]:
    """Return the steps of chains from their end to their beginning."""
    length = (bodies >= 0).sum(axis=1)
    found = np.full_like(bodies, -1)
    for place in range(bodies.shape[1]):
        rows = np.flatnonzero(length > place)
        found[rows, place] = _opposite(bodies[rows, length[rows] - 1 - place], relations)
    return found


def _borders(sorted_values: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return where each of 0 to size begins among sorted values."""
    return np.searchsorted(sorted_values, np.arange(size + 1)).astype(np.int64)
