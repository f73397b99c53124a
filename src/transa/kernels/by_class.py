"""Functions with one implementation for each class of an argument, chosen when a kernel is compiled.

Kernels get what belongs together as named tuples. What differs from one score to the next is a class of its own, and the function that
has to know asks for the class. The compiler sees the one implementation that is meant, and none of the others costs anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from numba.extending import overload


def by_class(argument: str) -> Callable[[Callable[..., Any]], Any]:
    """Make a function whose implementation is chosen by the class of a named tuple, its parameter `argument`.

    The function itself has a docstring and no body. ``@function.of(Class, ...)`` adds an implementation, which has the same parameters
    and is inlined by force; further options are those of ``numba.njit``. Calls from plain Python choose as well.
    """

    def declare(declared: Callable[..., Any]) -> Any:
        place = list(signature(declared).parameters).index(argument)
        implementations: dict[type, Callable[..., Any]] = {}

        @wraps(declared)
        def call(*arguments: Any) -> Any:
            return implementations[type(arguments[place])](*arguments)

        def of(*classes: type, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
            def add(implementation: Callable[..., Any]) -> Callable[..., Any]:
                def choose(*types: Any) -> Callable[..., Any] | None:
                    return implementation if getattr(types[place], "instance_class", None) in classes else None

                overload(call, jit_options={"forceinline": True, **options}, strict=False)(choose)
                implementations.update(dict.fromkeys(classes, implementation))
                return implementation

            return add

        call.of = of  # type: ignore[attr-defined]
        return call

    return declare
