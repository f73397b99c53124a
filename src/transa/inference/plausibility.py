"""How plausible claims are, comparable between relations: by their scores, beside the answers the model prefers, and by roles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.data.graph import Triples
from transa.evaluation.classification import finite_scores
from transa.evaluation.queries import Side
from transa.inference.answer_chances import rivals_of
from transa.inference.programme import Floats
from transa.inference.roles import Roles
from transa.inference.trained import Trained

#: The greatest weight that a score gives; a loop that the prior bars has this one below 0.
MOST = 20.0


def weights_of(trained: Trained, roles: Roles, triples: Triples) -> Floats:
    """Return (threshold - score) / scale and the logarithms of the role fits, added: above 0 is more likely true than not.

    The scale is the standard deviation of the relation's training scores. Without validation triples there are no thresholds, and
    the mean of these scores stands in their place.
    """
    if not len(triples):
        return np.empty(0)
    margins = trained.margins(triples, trained.scores(triples))
    if trained.confidence is not None:
        margins = margins / trained.usual[1][triples[:, 1]]
    found: Floats = np.clip(margins, -MOST, MOST) + np.log(roles.fit(triples)).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class Standing:
    """How known facts stand beside new answers to the same questions.

    Attributes
    ----------
    leads
        For (head, relation, ?) and for (?, relation, tail): by how many standard deviations of the relation's training scores the fact
        is better than the best new answer, as sign(x) log(1 + |x|); of shape (n, 2).
    rivals
        These best new answers: the ids of a tail and of a head, -1 where there is none.
    fits
        How well head and tail fit their sides of the relation (`Roles.fit`).
    """

    leads: Floats
    rivals: npt.NDArray[np.int64]
    fits: Floats

    @property
    def weights(self) -> Floats:
        """The leads and the logarithms of the fits, added: the lower, the more improbable is the fact."""
        found: Floats = self.leads.sum(axis=1) + np.log(self.fits).sum(axis=1)
        return found


def standing_of(trained: Trained, roles: Roles, triples: Triples) -> Standing:
    """Compare known facts with new answers to the same questions."""
    sides: tuple[Side, ...] = ("tail", "head")
    leads, rivals = zip(*(_lead(trained, side, triples) for side in sides), strict=True)
    return Standing(np.stack(leads, axis=1), np.stack(rivals, axis=1), roles.fit(triples))


def _lead(trained: Trained, side: Side, triples: Triples) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return how far facts lead the best new answer to a question about a side, and that answer."""
    fixed = triples[:, 0 if side == "tail" else 2].astype(np.int64)
    relations = triples[:, 1].astype(np.int64)
    _, first, place = np.unique(
        fixed * len(trained.graph.relations) + relations, return_index=True, return_inverse=True
    )
    old = (trained.facts, trained.denied)
    ids, scores = (each[place, 0] for each in rivals_of(trained, side, fixed[first], relations[first], old))
    asked = trained.model.inverted(triples) if trained.model.directional and side == "head" else triples
    own = finite_scores(trained.model, asked, one_way=trained.model.directional)
    lead = np.where(ids >= 0, np.where(np.isfinite(scores), scores, own) - own, 0.0) / trained.usual[1][relations]
    return np.sign(lead) * np.log1p(np.abs(lead)), ids
