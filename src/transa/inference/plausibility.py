"""How plausible claims are, comparable between relations: by their scores, the best new answers and other facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.data.graph import KnowledgeGraph, Triples
from transa.evaluation.scores import answer_scores
from transa.inference.answer_chances import rivals_of
from transa.inference.links import Links
from transa.inference.programme import Floats
from transa.inference.roles import Roles
from transa.inference.trained import Trained

#: The greatest weight that a score gives; a loop that the prior bars has this one below 0.
MOST = 20.0

#: How much links, role fits and rules count beside the score: chosen on UMLS and NELL186 with wrong facts put in, of other seeds than
#: that of the figures in results/ (`benchmarks/auditing.py`).
LINKED, FITTING, RULED = 2.0, 0.5, 0.5
#: Rules that count for a fact, the strongest.
STRONGEST = 5


def weights_of(trained: Trained, roles: Roles, triples: Triples) -> Floats:
    """Return (threshold - score) / scale and the logarithms of the role fits, added: above 0 is more likely true than not.

    The scale is the standard deviation of the relation's training scores. Without validation triples there are no thresholds, and
    the mean of these scores stands in their place.
    """
    if not len(triples):
        return np.empty(0)
    margins = trained.margins(triples, trained.scores(triples))
    if trained.confidence is not None:
        margins = margins / trained.usual(triples[:, 1])[1]
    found: Floats = np.clip(margins, -MOST, MOST) + np.log(roles.fit(triples)).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class Standing:
    """What speaks for and against known facts.

    Attributes
    ----------
    usual
        By how many standard deviations a score is better than the mean of the relation's training scores.
    leads
        By how many of them it is better than that of the best new answer to (head, relation, ?), as sign(x) log(1 + |x|).
    rivals
        The ids of these best new answers, -1 where there is none.
    links
        How closely head and tail are linked by other facts (`Links`).
    fits
        How well head and tail fit their sides of the relation (`Roles.fit`), of shape (n, 2).
    rules
        The evidence that rules give, the fact itself not counted among their cases.
    """

    usual: Floats
    leads: Floats
    rivals: npt.NDArray[np.int64]
    links: Floats
    fits: Floats
    rules: Floats

    @property
    def weights(self) -> Floats:
        """All of it in one number: the lower, the more improbable is the fact.

        A model learns single facts by heart, so that its score alone says little about the facts it was trained on. Links, roles and
        rules come from the other facts.
        """
        others = LINKED * np.log1p(self.links) + FITTING * np.log(self.fits).sum(axis=1) + RULED * self.rules
        found: Floats = self.usual + self.leads + others
        return found


def standing_of(trained: Trained, roles: Roles, triples: Triples) -> Standing:
    """Weigh known facts: beside the usual ones of their relation, the best new answers and other facts."""
    relations = triples[:, 1].astype(np.int64)
    mean, deviation = trained.usual(relations)
    usual = np.clip((mean - trained.scores(triples)) / deviation, -MOST, MOST)
    asked = triples[:, 0].astype(np.int64) * len(trained.graph.relations) + relations
    _, first, place = np.unique(asked, return_index=True, return_inverse=True)
    old = (trained.facts, trained.denied)
    found = rivals_of(trained, "tail", triples[first, 0].astype(np.int64), relations[first], old)
    rivals, scores = (each[place, 0] for each in found)
    own = answer_scores(trained.model, triples, "tail")
    lead = (np.where(rivals >= 0, scores, own) - own) / deviation
    leads = np.sign(lead) * np.log1p(np.abs(lead))
    links, fits = Links(trained.graph).between(triples), roles.fit(triples)
    return Standing(usual, leads, rivals, links, fits, said_by_rules(trained.graph, triples))


def said_by_rules(graph: KnowledgeGraph, triples: Triples) -> Floats:
    """Return the evidence that rules, mined quickly from the other facts, give for facts of train: the mean of both sides."""
    from transa.rules import Evidence, QuickRules  # loads the compiler

    rules = QuickRules.of(graph).every.rules.less_one_case()
    said = Evidence(rules, graph.train, len(graph.entities), len(graph.relations), "noisy_or", STRONGEST)
    found: Floats = (said.of(triples, "tail") + said.of(triples, "head")) / 2
    return found
