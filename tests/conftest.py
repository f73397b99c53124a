"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from transa.cli import main

hypothesis.settings.register_profile("transa", deadline=None)
hypothesis.settings.load_profile("transa")


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run ``transa`` with the given arguments in this process."""

    def run(*arguments: object) -> Result:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["transa", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        code = stop.value.code
        return Result(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """Return the folder of benchmark datasets; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("TRANSA_DATA")
    if not folder:
        pytest.skip("TRANSA_DATA is not set")
    return Path(folder)
