"""Examples in docstrings print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import transa

ROOT = Path(transa.__file__).parent
WITH_EXAMPLES = sorted(path for path in ROOT.rglob("*.py") if ">>>" in path.read_text("utf-8"))


def name_of(path: Path) -> str:
    return ".".join(["transa", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


@pytest.mark.parametrize("module", [name_of(path) for path in WITH_EXAMPLES])
def test_examples_print_what_they_say(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0
