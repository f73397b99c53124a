"""Counter-based random numbers.

A number is a function of a key and a counter, so threads need no state: any thread can compute the number at position `i`, and the
result is the same for any number of threads and any order of work. The mixing function is the finaliser of SplitMix64 (Steele, Lea,
Flood 2014), applied to the key and then to the counter.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from transa.kernels.cache import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(forceinline=True)
def mix(state):
    """Turn 64 bits into 64 bits that look unrelated to them."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@njit(forceinline=True)
def draw(key, counter):
    """Return the 64 random bits at position `counter` of the sequence of `key`."""
    return mix(mix(np.uint64(key) + GOLDEN) + (np.uint64(counter) + np.uint64(1)) * GOLDEN)


@njit(forceinline=True)
def below(bits, bound):
    """Return a whole number from 0 to `bound` - 1 (`bound` < 2^32), from the upper half of `bits`.

    The bias is at most bound / 2^32, one in 4,000 for a million entities.
    """
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(forceinline=True)
def unit(bits):
    """Return a number in [0, 1) from the lower half of `bits`, independent of `below` on the same bits."""
    return np.float64(bits & np.uint64(0xFFFFFFFF)) * (1.0 / 4294967296.0)


def stream(seed: int, purpose: int, index: int) -> np.uint64:
    """Return the key of the sequence for a seed, a purpose (say, corruption) and an index (say, the epoch)."""
    return np.uint64(_stream(seed, purpose, index))


@kernel()
def _stream(seed, purpose, index):
    return mix(mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(purpose) * GOLDEN) + np.uint64(index) * GOLDEN)


@njit(forceinline=True)
def shuffled_position(position, count, half, key):
    """Return where `position` goes in the permutation of 0 .. count - 1 that `key` selects.

    A Feistel network of four rounds permutes the numbers of 2 * `half` bits, the fewest bits that hold `count`. A result of `count` or
    more goes through the network again until it is below, which takes fewer than four passes on average. So a shuffle needs no memory,
    and any thread can compute any part of it.
    """
    mask = (np.uint64(1) << half) - np.uint64(1)
    value = np.uint64(position)
    while True:
        left, right = value >> half, value & mask
        for turn in range(4):
            left, right = right, left ^ (mix(right + key + np.uint64(turn) * GOLDEN) & mask)
        value = (left << half) | right
        if value < np.uint64(count):
            return np.int64(value)


@njit(forceinline=True)
def half_bits(count):
    """Return half the number of bits, rounded up, that numbers below `count` need."""
    half = np.uint64(1)
    while (np.uint64(1) << (2 * half)) < np.uint64(count):
        half += np.uint64(1)
    return half
