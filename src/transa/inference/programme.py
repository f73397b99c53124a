"""Integer programmes of many small parts: which claims to take, if some exclude others and some need others.

Maximise sum_i w_i x_i - sum_k c_k s_k over x_i in {0, 1} and s_k >= 0, where row k says a_k x <= b_k + s_k. The cost c_k of a law is
infinite, so that its s_k is 0. All b_k >= 0, so that taking nothing is always allowed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

#: Components share a call of the solver up to so many variables, since a call takes longer than a small component.
TOGETHER = 2000


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints on claims.

    Attributes
    ----------
    matrix
        A row for each constraint, a column for each claim.
    bounds
        What a row may add up to, at least 0.
    costs
        What it costs to exceed the bound by 1; infinity for a law.
    """

    matrix: Any
    bounds: Floats
    costs: Floats


@dataclass(frozen=True, eq=False)
class Solution:
    """Which claims to take.

    Attributes
    ----------
    taken
        Whether each claim is taken.
    value
        What this solution reaches.
    bound
        What no solution can exceed. If it equals the value, the solution is proved to be best.
    components
        How many components of claims the rows hold together, of two or more claims each.
    solved
        How many of them an integer programme was solved for; in the others, all claims of positive weight go together.
    seconds
        How long it took.
    """

    taken: npt.NDArray[np.bool_]
    value: float
    bound: float
    components: int
    solved: int
    seconds: float

    @property
    def gap(self) -> float:
        """How far the value may be from the best, as a share of the bound."""
        return max(0.0, self.bound - self.value) / max(abs(self.bound), 1.0)

    @property
    def proved(self) -> bool:
        """Whether the solution is proved to be best, but for rounding."""
        return self.gap < 1e-6


def solve(weights: Floats, rows: Rows, *, seconds: float = 600.0, together: int = TOGETHER) -> Solution:
    """Solve a programme, component by component.

    Parameters
    ----------
    weights
        What each claim adds.
    rows
        The constraints.
    seconds
        When to stop searching. What is left is then filled greedily, and the bound says how good that is.
    together
        Up to how many variables components share a call of the solver; 0 gives each a call of its own.
    """
    begun = time.monotonic()
    taken = weights > 0
    excess = rows.matrix @ taken.astype(float) - rows.bounds
    sizes, component = _components(rows.matrix)
    row_component = component[_first_columns(rows.matrix)]
    open_ = np.unique(row_component[excess > 1e-9])
    bound = float(weights[taken & ~np.isin(component, open_)].sum())
    for columns, lines in _calls(component, row_component, open_, together):
        left = begun + seconds - time.monotonic()
        part = Rows(rows.matrix[lines][:, columns], rows.bounds[lines], rows.costs[lines])
        taken[columns], most = _solve_part(weights[columns], part, left)
        bound += most
    value = value_of(taken, weights, rows)
    return Solution(
        taken, value, max(bound, value), int((sizes > 1).sum()), len(open_), round(time.monotonic() - begun, 3)
    )


def value_of(taken: npt.NDArray[np.bool_], weights: Floats, rows: Rows) -> float:
    """Return what a choice of claims reaches; minus infinity if it breaks a law."""
    excess = np.maximum(rows.matrix @ taken.astype(float) - rows.bounds, 0.0)
    broken = excess > 1e-9
    return float(weights[taken].sum() - (excess[broken] * rows.costs[broken]).sum())


def _components(matrix: Any) -> tuple[Ids, Ids]:
    """Return the size of each component, and the component of each claim."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    lines, size = matrix.shape
    joined = abs(matrix)
    both = sparse.block_array([[None, joined], [joined.T, sparse.csr_array((size, size))]], format="csr")
    _, labels = connected_components(both, directed=False)
    _, component = np.unique(labels[lines:], return_inverse=True)
    return np.bincount(component, minlength=1), component


def _first_columns(matrix: Any) -> Ids:
    """Return a column of each row; every row has one."""
    found: Ids = matrix.indices[matrix.indptr[:-1]].astype(np.int64)
    return found


def _calls(component: Ids, row_component: Ids, open_: Ids, together: int) -> Iterator[tuple[Ids, Ids]]:
    """Yield the columns and rows of each call of the solver."""
    columns = np.argsort(component, kind="stable")
    lines = np.argsort(row_component, kind="stable")
    ends = np.searchsorted(component[columns], open_, side="right")
    begins = np.searchsorted(component[columns], open_)
    line_ends = np.searchsorted(row_component[lines], open_, side="right")
    line_begins = np.searchsorted(row_component[lines], open_)
    held: list[int] = []
    count = 0
    for place in range(len(open_)):
        size = int(ends[place] - begins[place])
        if held and count + size > together:
            yield _joined(columns, begins, ends, held), _joined(lines, line_begins, line_ends, held)
            held, count = [], 0
        held.append(place)
        count += size
    if held:
        yield _joined(columns, begins, ends, held), _joined(lines, line_begins, line_ends, held)


def _joined(order: Ids, begins: Ids, ends: Ids, places: list[int]) -> Ids:
    return np.concatenate([order[begins[place] : ends[place]] for place in places])


def _solve_part(weights: Floats, rows: Rows, seconds: float) -> tuple[npt.NDArray[np.bool_], float]:
    """Return which claims to take, and what no choice can exceed."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, soft = len(weights), np.flatnonzero(np.isfinite(rows.costs))
    greedy = _greedy(weights, rows)
    if seconds <= 0:
        return greedy, float(weights[weights > 0].sum())
    slack = sparse.csr_array((-np.ones(len(soft)), (soft, np.arange(len(soft)))), shape=(len(rows.bounds), len(soft)))
    found = milp(
        -np.concatenate([weights, -rows.costs[soft]]),
        integrality=np.concatenate([np.ones(size), np.zeros(len(soft))]),
        bounds=Bounds(0, np.concatenate([np.ones(size), np.full(len(soft), np.inf)])),
        constraints=LinearConstraint(sparse.hstack([rows.matrix, slack], format="csc"), -np.inf, rows.bounds),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    bound = weights[weights > 0].sum() if found.mip_dual_bound is None else -found.mip_dual_bound
    taken = greedy if found.x is None else found.x[:size] > 0.5
    if value_of(taken, weights, rows) < value_of(greedy, weights, rows):
        taken = greedy
    return taken, float(bound)


def _greedy(weights: Floats, rows: Rows) -> npt.NDArray[np.bool_]:
    """Take claims one by one, those of the greatest weight first, if each adds more than the rows it breaks cost."""
    columns = rows.matrix.tocsc()
    sums, taken = np.zeros(len(rows.bounds)), np.zeros(len(weights), bool)
    for claim in np.argsort(-weights, kind="stable").tolist():
        part = slice(columns.indptr[claim], columns.indptr[claim + 1])
        lines, steps = columns.indices[part], columns.data[part]
        before = np.maximum(sums[lines] - rows.bounds[lines], 0.0)
        more = np.maximum(sums[lines] + steps - rows.bounds[lines], 0.0) - before
        changed = np.abs(more) > 1e-9
        if weights[claim] - (more[changed] * rows.costs[lines][changed]).sum() > 0:
            taken[claim] = True
            sums[lines] += steps
    return taken
