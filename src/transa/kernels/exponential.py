"""The exponential of numbers that are not positive, in a form that the compiler turns into vector instructions."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import float32, int32, njit, types
from numba.extending import intrinsic, overload

_LOG2_E = np.float32(1.4426950408889634)
#: ln 2 in two parts. The first has few digits, so its product with a small whole number is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440054690581e-4)
#: Of the polynomial for e^r - 1 - r, |r| <= ln 2 / 2, divided by r^2: the highest power first (Cephes).
_POWERS = tuple(
    map(
        np.float32, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.50000001201)
    )
)
_HALF, _ONE, _LOWEST = np.float32(0.5), np.float32(1), np.float32(-87)


@intrinsic
def _power_of_two(context, exponent):
    """Return 2^exponent in single precision, for exponents from -126 to 127: a whole number put where a float has its exponent."""

    def build(context, builder, signature, arguments):
        bits = ir.IntType(32)
        shifted = builder.shl(builder.add(arguments[0], ir.Constant(bits, 127)), ir.Constant(bits, 23))
        return builder.bitcast(shifted, ir.FloatType())

    return types.float32(types.int32), build


def exp_not_positive(x: float) -> float:
    """Return e^x for x <= 0; in single precision with a relative error below 2e-7, and at least e^-87."""
    return float(np.exp(x))


@njit(forceinline=True)
def _exp_single(x):
    x = max(x, _LOWEST)
    whole = int32(x * _LOG2_E - _HALF)  # rounds to the nearest, as x <= 0
    count = float32(whole)
    rest = x - count * _LN2_HIGH
    rest = rest - count * _LN2_LOW
    first, second, third, fourth, fifth, sixth = _POWERS
    value = first * rest + second
    value = value * rest + third
    value = value * rest + fourth
    value = value * rest + fifth
    value = value * rest + sixth
    return (value * rest * rest + rest + _ONE) * _power_of_two(whole)


@overload(exp_not_positive, jit_options={"forceinline": True})
def _exp_not_positive(x):
    if x == types.float32:
        return lambda x: _exp_single(x)
    return lambda x: np.exp(x)
