"""A baseline without a model: entities are ranked by rules that are mined quickly from train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph, KnownFacts
from transa.data.graph import Triples
from transa.evaluation.link_prediction import LinkPrediction, Ties, link_prediction
from transa.models import build
from transa.rules.quick import REACHED, QuickRules


@dataclass(frozen=True, eq=False)
class RulesAlone:
    """Some triples ranked by rules, and which of them rules reach.

    Attributes
    ----------
    rules
        The rules.
    found
        The counts behind the ranks.
    """

    rules: QuickRules
    found: LinkPrediction

    @classmethod
    def of(cls, graph: KnowledgeGraph, triples: Triples, known: KnownFacts) -> RulesAlone:
        """Mine the training triples of a graph, and rank the head and the tail of each of some triples.

        Parameters
        ----------
        graph
            The graph.
        triples
            Rows of (head, relation, tail), at least one.
        known
            The facts that a filtered rank leaves out.
        """
        rules = QuickRules.of(graph)
        model = build("rules", len(graph.entities), len(graph.relations), 1)
        model.evidence = rules.evidence
        return cls(rules, link_prediction(model, triples, known))

    @cached_property
    def reached(self) -> npt.NDArray[np.int64]:
        """What reaches each triple, as a place in `transa.rules.quick.REACHED`."""
        return self.rules.reached(self.found.triples)

    def report(self, model: LinkPrediction, ties: Ties, hits: Sequence[int]) -> dict[str, Any]:
        """Return the measures of rules, and those of a model and of rules by what reaches a triple, as plain values."""
        groups = {name: np.flatnonzero(self.reached == place) for place, name in enumerate(REACHED)}
        return {
            "forms": "all" if self.rules.all_forms else "one_atom",
            "rules": len(self.rules.every.rules),
            "complete": self.rules.complete,
            **self.found.by_side(ties, hits),
            "reached": {
                name: {
                    "n": len(rows),
                    "share": len(rows) / len(self.reached),
                    **model.take(rows).by_side(ties, hits),
                    "rules_alone": self.found.take(rows).by_side(ties, hits),
                }
                for name, rows in groups.items()
                if len(rows)
            },
        }
