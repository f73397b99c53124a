"""Tables as people see them."""

from __future__ import annotations

import pytest

from transa.cli.output import table


def test_columns_without_names_have_no_line_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    table("Sizes", ("", ""), [("entities", "1,234"), ("share", "7%")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 1 + 2 + 1  # title, border, rows, border


def test_numbers_stay_in_one_piece_where_names_are_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    table("Facts", ("head", "probability"), [("a head of many words", "0.08333"), ("another one", "-")])
    shown = capsys.readouterr().out
    assert "probability" in shown and "    0.08333 " in shown
    assert "a head of many words" not in shown
