"""The counted random numbers: the published algorithm, in range, even, and the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from transa.kernels import purposes
from transa.kernels.random import below, draw, half_bits, mix, shuffled_position, stream, unit

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
words = st.integers(0, WORD - 1)

#: The first numbers of SplitMix64 from the seed 1234567, as published with the algorithm's reference implementation.
SPLITMIX = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def numbers(key: int, count: int) -> list[np.uint64]:
    return [np.uint64(draw(np.uint64(key), np.uint64(counter))) for counter in range(count)]


def chance(observed: np.ndarray) -> float:
    """How likely counts at least this uneven are, if all cells are equally likely."""
    return float(stats.chisquare(observed).pvalue)


# ---------------------------------------------------------------------- draw


@pytest.mark.parametrize(("position", "expected"), list(enumerate(SPLITMIX, start=1)))
def test_mixing_is_that_of_splitmix64(position: int, expected: int) -> None:
    assert mix(np.uint64((1234567 + position * GOLDEN) % WORD)) == expected


def test_a_sequence_is_splitmix64_from_the_mixed_key() -> None:
    # The key 1234567 is mixed into the first published number, which then is the seed of the sequence.
    assert numbers(1234567, 4) == [mix(np.uint64((SPLITMIX[0] + i * GOLDEN) % WORD)) for i in range(1, 5)]


@given(key=words, counter=words)
@example(key=0, counter=0)
@example(key=WORD - 1, counter=WORD - 1)
@settings(deadline=None)
def test_a_number_depends_on_key_and_counter_alone(key: int, counter: int) -> None:
    number = draw(np.uint64(key), np.uint64(counter))
    assert 0 <= number < WORD
    assert draw(np.uint64(key), np.uint64(counter)) == number
    assert draw(np.uint64(key), np.uint64((counter + 1) % WORD)) != number
    assert draw(np.uint64((key + 1) % WORD), np.uint64(counter)) != number


@pytest.mark.parametrize("key", [0, 1, 2**63])
def test_each_bit_is_set_half_of_the_time(key: int) -> None:
    count = 20_000
    bits = np.unpackbits(np.array(numbers(key, count)).view(np.uint8).reshape(count, 8), axis=1)
    deviations = (bits.sum(axis=0) - count / 2) / np.sqrt(count / 4)
    assert np.abs(deviations).max() < 5


# ---------------------------------------------------------------------- below and unit


@given(bits=words, bound=st.integers(1, 2**31))
@example(bits=WORD - 1, bound=2**31)
@example(bits=WORD - 1, bound=1)
@example(bits=0, bound=1)
@settings(deadline=None)
def test_below_stays_below(bits: int, bound: int) -> None:
    assert 0 <= below(np.uint64(bits), bound) < bound


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1_000_003, 2**31])
def test_below_reaches_both_ends(bound: int) -> None:
    assert below(np.uint64(0), bound) == 0
    assert below(np.uint64(WORD - 1), bound) == bound - 1


@pytest.mark.parametrize("bound", [2, 3, 10, 100])
@pytest.mark.parametrize("key", [0, 42])
def test_below_is_even(bound: int, key: int) -> None:
    drawn = [below(bits, bound) for bits in numbers(key, 20_000)]
    assert chance(np.bincount(drawn, minlength=bound)) > 1e-4


@given(bits=words)
@example(bits=0)
@example(bits=WORD - 1)
@settings(deadline=None)
def test_unit_stays_from_0_to_below_1(bits: int) -> None:
    assert 0.0 <= unit(np.uint64(bits)) < 1.0


@pytest.mark.parametrize("key", [0, 42])
def test_unit_is_even(key: int) -> None:
    count = 20_000
    drawn = np.array([unit(bits) for bits in numbers(key, count)])
    assert abs(drawn.mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4


def test_below_and_unit_of_the_same_bits_are_independent() -> None:
    bits = numbers(42, 20_000)
    table = np.zeros((5, 5))
    np.add.at(table, ([below(b, 5) for b in bits], [int(5 * unit(b)) for b in bits]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-4


# ---------------------------------------------------------------------- stream


def test_streams_of_different_seed_purpose_or_index_differ() -> None:
    keys = {stream(seed, purpose, index) for seed in (0, 1, 2, 42) for purpose in (0, 1, 2, 3) for index in range(50)}
    assert len(keys) == 4 * 4 * 50


def test_a_stream_is_the_same_whenever_it_is_asked_for() -> None:
    assert stream(42, 1, 7) == stream(42, 1, 7)


def test_the_largest_seed_has_a_stream_of_its_own() -> None:
    assert len({stream(seed, 1, 0) for seed in (0, 2**32, 2**63 - 2, 2**63 - 1)}) == 4


# ---------------------------------------------------------------------- shuffling


def shuffled(count: int, key: int) -> list[int]:
    half = np.uint64(half_bits(count))
    return [shuffled_position(position, count, half, np.uint64(key)) for position in range(count)]


@given(count=st.integers(1, 300), key=words)
@example(count=256, key=0)
@example(count=257, key=WORD - 1)
@settings(deadline=None)
def test_a_shuffle_brings_each_position_exactly_once(count: int, key: int) -> None:
    assert sorted(shuffled(count, key)) == list(range(count))


def test_shuffles_of_different_keys_differ() -> None:
    assert len({tuple(shuffled(100, key)) for key in range(50)}) == 50


def test_each_tenth_is_scattered_evenly_over_all_tenths() -> None:
    size, keys = 1_000, 50
    table = np.zeros((10, 10))
    for index in range(keys):
        np.add.at(table, (np.arange(size) // 100, np.array(shuffled(size, stream(0, 2, index))) // 100), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-4


@given(count=st.integers(1, 2**40))
@settings(deadline=None)
def test_half_bits_are_the_fewest_that_hold_all_numbers(count: int) -> None:
    half = int(half_bits(count))
    assert 4**half >= count
    assert half == 1 or 4 ** (half - 1) < count


def test_every_purpose_has_numbers_of_its_own() -> None:
    given = {name: value for name, value in vars(purposes).items() if name.isupper()}
    assert len(given) >= 7
    assert len(set(given.values())) == len(given)
    assert len({int(stream(0, purpose, 1)) for purpose in given.values()}) == len(given)
