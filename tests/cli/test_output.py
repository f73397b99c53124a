"""Tables as people see them."""

from __future__ import annotations

import pytest

from transa.cli.output import note, table


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


def test_a_name_with_line_breaks_stays_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    table("From a\nto b", ("name",), [("one\ntwo\tthree",), ("four\u2028five",), ("\u202eevil",)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "From a\\nto b" and len(lines) == 1 + 1 + 2 + 3 + 1  # title, border, header, rows, border
    assert "one\\ntwo\\tthree" in lines[4] and "four\\u2028five" in lines[5] and "\\u202eevil" in lines[6]


def test_a_note_is_one_line_without_orders_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("no answer to (a\nb, \x1b[2J, ?)")
    assert capsys.readouterr().err == "note: no answer to (a\\nb, \\x1b[2J, ?)\n"
