"""What all pictures share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from transa.analysis.drawing import can_draw, check_picture, drawing
from transa.errors import InputError, TransaWarning


def test_letters_that_no_font_has_are_named_once_and_stay_in_svg(tmp_path: Path) -> None:
    letter = "\U00013080"
    for name in ("f.png", "f.svg"):
        with (
            pytest.warns(TransaWarning, match=f"no font here has {letter}: ") as caught,
            drawing(tmp_path / name, 2, 2) as figure,
        ):
            figure.suptitle(f"{letter} and {letter}")
        assert len(caught) == 1
    assert f"{letter} and {letter}" in (tmp_path / "f.svg").read_text("utf-8")


def test_a_drawing_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), drawing(tmp_path / "f.png", 2, 2):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_same_picture_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        with drawing(tmp_path / name, 2, 2) as figure:
            figure.subplots().plot([1, 2])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_draw()
    check_picture(tmp_path / "f.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not can_draw()
    with pytest.raises(InputError, match=r"pictures need matplotlib: pip install 'transa\[plot\]'"):
        check_picture(tmp_path / "f.png")
    with pytest.raises(InputError, match="pictures need matplotlib"), drawing(tmp_path / "f.png", 2, 2):
        pass
