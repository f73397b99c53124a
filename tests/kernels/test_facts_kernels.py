"""Kernels on sorted answers against plain Python."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transa.kernels.facts import Candidates, absent, contains, corrupt_one, find

answers = st.sets(st.integers(0, 30), max_size=31).map(sorted)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Many small calls wait for each other's threads where other programs want the processors too."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def embedded(before: list[int], values: list[int], after: list[int]) -> tuple[np.ndarray, int, int]:
    """One query's answers in the middle of an array that holds other queries' answers too."""
    return np.array(before + values + after, dtype=np.int32), len(before), len(before) + len(values)


@given(before=answers, values=answers, after=answers, wanted=st.integers(-1, 32))
@settings(deadline=None)
def test_find_gives_the_first_position_not_below(
    before: list[int], values: list[int], after: list[int], wanted: int
) -> None:
    array, start, stop = embedded(before, values, after)
    assert find(array, start, stop, wanted) == start + bisect_left(values, wanted)


@given(before=answers, values=answers, after=answers)
@settings(deadline=None)
def test_absent_counts_through_all_numbers_that_are_no_answers(
    before: list[int], values: list[int], after: list[int]
) -> None:
    array, start, stop = embedded(before, values, after)
    expected = [number for number in range(40) if number not in values]
    assert [absent(array, start, stop, index) for index in range(len(expected))] == expected


@given(
    facts=st.dictionaries(st.integers(0, 10), st.sets(st.integers(0, 6), min_size=1), max_size=6),
    asked=st.lists(st.tuples(st.integers(-1, 11), st.integers(-1, 7)), max_size=20),
)
@settings(deadline=None)
def test_contains_tells_what_a_dictionary_tells(facts: dict[int, set[int]], asked: list[tuple[int, int]]) -> None:
    queries = sorted(facts)
    found = contains(
        np.array(queries, dtype=np.int64),
        np.cumsum([0, *(len(facts[query]) for query in queries)]),
        np.array([answer for query in queries for answer in sorted(facts[query])], dtype=np.int32),
        np.array([query for query, _ in asked], dtype=np.int64),
        np.array([answer for _, answer in asked], dtype=np.int32),
    )
    assert found.tolist() == [answer in facts.get(query, ()) for query, answer in asked]


NOBODY = np.array([], dtype=np.int32)
EVERYBODY = np.arange(3, dtype=np.int32)
ALMOST = np.array([0, 2], dtype=np.int32)


def choose(bits: int, head_probability: float, heads: np.ndarray, tails: np.ndarray) -> tuple[bool, int]:
    nothing = np.array([], dtype=np.int64)
    candidates = Candidates(np.array([head_probability]), 3, heads, tails, *(2 * (nothing, NOBODY, NOBODY)))
    return corrupt_one(np.uint64(bits), 0, 0, len(heads), 0, len(tails), candidates)


@pytest.mark.parametrize("bits", [0, 2**31, 2**32 - 1, 2**63, 2**64 - 1])
class TestChoosingACorruption:
    def test_probability_1_replaces_the_head(self, bits: int) -> None:
        assert choose(bits, 1.0, ALMOST, NOBODY) == (True, 1)

    def test_probability_0_replaces_the_tail(self, bits: int) -> None:
        assert choose(bits, 0.0, NOBODY, ALMOST) == (False, 1)

    def test_a_full_side_gives_way_to_the_other(self, bits: int) -> None:
        assert choose(bits, 1.0, EVERYBODY, ALMOST) == (False, 1)
        assert choose(bits, 0.0, ALMOST, EVERYBODY) == (True, 1)

    def test_two_full_sides_leave_nothing(self, bits: int) -> None:
        assert choose(bits, 1.0, EVERYBODY, EVERYBODY)[1] == -1
        assert choose(bits, 0.0, EVERYBODY, EVERYBODY)[1] == -1
