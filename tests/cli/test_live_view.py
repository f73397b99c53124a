"""What people see while a model is trained and while kernels are compiled."""

from __future__ import annotations

import pytest
from numba import njit
from numba.core import event

import transa
from transa.cli.live_view import Compiler, LiveView
from transa.training import Trainer, recipe_from


def test_lines_tell_how_far_training_is(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = recipe_from({"model": "transe", "dim": 4, "epochs": 30, "learning_rate": 0.01})
    Trainer(transa.load("nations"), recipe).fit(LiveView())
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch ")]
    assert [line.split(":")[0] for line in lines] == [f"epoch {number}/30" for number in (1, *range(3, 31, 3))]
    assert all("loss" in line and "triples/s" in line for line in lines)


def test_the_compiler_is_heard_once_for_each_kernel() -> None:
    @njit
    def inner(number):  # type: ignore[no-untyped-def]
        return number + 1

    @njit
    def _outer_one(number):  # type: ignore[no-untyped-def]
        return inner(number) * 2

    told: list[str] = []
    compiler = Compiler(told.append)
    event.register("numba:compile", compiler)
    try:
        assert _outer_one(1) == 4
        assert _outer_one(2) == 6
    finally:
        event.unregister("numba:compile", compiler)
    assert told == ["outer one"]
    assert compiler.take().startswith("compiled 1 kernel in ")
    assert compiler.take() == ""
