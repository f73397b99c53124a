"""Commands where matplotlib is not installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

HINT = "pictures need matplotlib: pip install 'transa[plot]'"


@pytest.fixture(autouse=True)
def _without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("weights", "run", "--picture", "w.png"),
        ("figure", "1", "run"),
        ("classify", "run", "--picture", "c.png"),
        ("explain", "run", "a", "r", "b", "--picture", "e.png"),
        ("map", "run", "--picture", "m.png"),
    ],
)
def test_a_picture_is_refused_before_anything_is_read(command, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = command(*arguments)  # there is no run folder either, but that would be found out later
    assert (result.code, HINT in result.err) == (2, True), result.err
    assert list(tmp_path.iterdir()) == []


def test_the_demo_goes_on_without_its_picture(command, tmp_path: Path) -> None:
    result = command("demo", "--json")
    assert (result.code, f"note: no picture will be drawn: {HINT}" in result.err) == (0, True), result.err
    summary = json.loads(result.out)
    assert (summary["picture"], summary["test"]["both"]["mrr"] > 0.5) == (None, True)
    assert not (tmp_path / "runs" / "demo" / "training.png").exists()
