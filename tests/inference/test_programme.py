"""Integer programmes of claims: the best choice, proved, in parts and as a whole."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from transa.inference.programme import Rows, solve, value_of

numbers = st.integers(-40, 40).map(lambda number: number / 8)


@st.composite
def programmes(draw: st.DrawFn) -> tuple[np.ndarray, Rows]:
    """A few claims, of which some exclude each other and some need others; laws and rules with exceptions."""
    size = draw(st.integers(1, 8))
    weights = np.array(draw(st.lists(numbers, min_size=size, max_size=size)))
    lines, bounds, costs = [], [], []
    for _ in range(draw(st.integers(0, 6))):
        line = np.zeros(size)
        if size > 1 and draw(st.booleans()):
            needing, needed = draw(st.permutations(range(size)))[:2]
            line[needing], line[needed] = 1, -1
            bounds.append(0.0)
        else:
            line[list(draw(st.sets(st.integers(0, size - 1), min_size=1)))] = 1
            bounds.append(float(draw(st.integers(0, 1))))
        lines.append(line)
        costs.append(draw(st.sampled_from([0.25, 1.0, 3.0, np.inf])))
    matrix = sparse.csr_array(np.array(lines).reshape(len(lines), size))
    return weights, Rows(matrix, np.array(bounds), np.array(costs))


def best_of_all(weights: np.ndarray, rows: Rows) -> float:
    return max(value_of(np.array(choice, bool), weights, rows) for choice in product((0, 1), repeat=len(weights)))


@settings(max_examples=150, deadline=None)
@given(programmes())
def test_the_solution_is_the_best_of_all_choices(programme: tuple[np.ndarray, Rows]) -> None:
    weights, rows = programme
    found = solve(weights, rows)
    assert found.value == pytest.approx(best_of_all(weights, rows), abs=1e-9)
    assert found.value == pytest.approx(value_of(found.taken, weights, rows))
    assert found.proved and found.gap < 1e-6


@settings(max_examples=75, deadline=None)
@given(programmes(), programmes())
def test_components_one_by_one_together_and_as_a_whole_agree(
    first: tuple[np.ndarray, Rows], second: tuple[np.ndarray, Rows]
) -> None:
    weights = np.concatenate([first[0], second[0]])
    rows = Rows(
        sparse.csr_array(sparse.block_diag([first[1].matrix, second[1].matrix])),
        np.concatenate([first[1].bounds, second[1].bounds]),
        np.concatenate([first[1].costs, second[1].costs]),
    )
    apart, few, whole = (solve(weights, rows, together=number) for number in (0, 5, 10**6))
    parts = best_of_all(*first) + best_of_all(*second)
    assert apart.value == pytest.approx(parts, abs=1e-9)
    assert few.value == pytest.approx(parts, abs=1e-9)
    assert whole.value == pytest.approx(parts, abs=1e-9)
    assert apart.proved and few.proved and whole.proved


@settings(max_examples=75, deadline=None)
@given(programmes())
def test_without_time_the_choice_is_allowed_and_the_bound_holds(programme: tuple[np.ndarray, Rows]) -> None:
    weights, rows = programme
    best = best_of_all(weights, rows)
    found = solve(weights, rows, seconds=0)
    assert 0 <= found.value <= best + 1e-9 <= found.bound + 2e-9
    assert not found.proved or found.value == pytest.approx(best, abs=1e-5)


def test_a_law_is_kept_and_a_rule_is_broken_where_that_pays() -> None:
    weights = np.array([3.0, 2.0, 1.0])
    one = sparse.csr_array(np.ones((1, 3)))
    law = solve(weights, Rows(one, np.ones(1), np.array([np.inf])))
    rule = solve(weights, Rows(one, np.ones(1), np.array([1.5])))
    assert law.taken.tolist() == [True, False, False] and law.value == 3
    assert rule.taken.tolist() == [True, True, False] and rule.value == 3.5
    assert (law.components, law.solved) == (1, 1)


def test_no_programme_is_solved_where_nothing_conflicts() -> None:
    chain = sparse.csr_array(np.array([[1.0, -1.0, 0.0]]))
    found = solve(np.array([1.0, 2.0, -1.0]), Rows(chain, np.zeros(1), np.array([np.inf])))
    assert found.taken.tolist() == [True, True, False]
    assert (found.components, found.solved, found.proved) == (1, 0, True)


def test_without_constraints_every_positive_claim_is_taken() -> None:
    none = Rows(sparse.csr_array((0, 3)), np.empty(0), np.empty(0))
    assert solve(np.array([1.0, -1.0, 0.0]), none).taken.tolist() == [True, False, False]
    assert solve(np.empty(0), Rows(sparse.csr_array((0, 0)), np.empty(0), np.empty(0))).value == 0
