"""Functions that choose their implementation by the class of an argument, compiled and not."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from numba import TypingError, njit

from transa.kernels.by_class import by_class


class Square(NamedTuple):
    side: float


class Rectangle(NamedTuple):
    width: float
    height: float


class Circle(NamedTuple):
    radius: float


@by_class("shape")
def area(factor, shape):
    """Return the area of a shape times a factor."""


@area.of(Square)
def _area_of_square(factor, shape):
    return factor * shape.side**2


@area.of(Rectangle)
def _area_of_rectangle(factor, shape):
    return factor * shape.width * shape.height


@njit
def compiled_area(factor, shape):
    return area(factor, shape)


@pytest.mark.parametrize("call", [area, compiled_area], ids=["plain", "compiled"])
def test_the_class_of_the_named_argument_chooses(call):
    assert call(2.0, Square(3.0)) == 18
    assert call(2.0, Rectangle(3.0, 4.0)) == 24


def test_a_class_without_an_implementation_is_refused():
    with pytest.raises(KeyError):
        area(2.0, Circle(1.0))
    with pytest.raises(TypingError):
        compiled_area(2.0, Circle(1.0))
