"""What constraints say against each claim, beside the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.inference.claims import Claims
from transa.inference.plausibility import MOST
from transa.inference.programme import Floats


@dataclass(frozen=True, eq=False)
class Against:
    """What the constraints say against each claim, and for it.

    Attributes
    ----------
    total
        What others cost or gain by the claim, over all constraints: above 0 it is in the way.
    most, claim, row
        The most that one constraint says against it, the claim on the other side (-1: none) and the row (-1: none).
    count
        How many claims are set against it.
    """

    total: Floats
    most: Floats
    claim: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]


def against_of(claims: Claims, prices: Floats) -> Against:
    """Sum up what the constraints say against each claim, beside the prices of the others."""
    size = len(claims.triples)
    total, most = np.zeros(size), np.zeros(size)
    claim, row, count = np.full(size, -1), np.full(size, -1), np.zeros(size, np.int64)

    def say(one: int, other: int, line: int, much: float) -> None:
        total[one] += much
        if much > most[one]:
            most[one], claim[one], row[one] = much, other, line

    for line, reason in enumerate(claims.reasons):
        members, signs = claims.members(line)
        cost = float(claims.rows.costs[line])
        if reason.kind == "type":
            count[members[0]] += 1
            say(int(members[0]), -1, line, MOST)
        elif reason.kind == "implies":
            body = int(members[signs > 0][0])
            head = int(members[signs < 0][0]) if len(members) > 1 else -1
            needed = MOST if head < 0 else -float(prices[head])  # what the head takes away, if the body needs it
            if needed > 0:
                count[body] += 1
                say(body, head, line, min(cost, needed))
            if head >= 0:
                total[head] -= min(cost, max(0.0, float(prices[body])))
        else:
            best = members[np.argsort(-prices[members], kind="stable")[:2]].tolist()
            for one in members.tolist():
                other = best[1] if one == best[0] else best[0]
                count[one] += len(members) - 1
                say(one, other, line, min(cost, max(0.0, float(prices[other]))))
    return Against(total, most, claim, row, count)
