"""Names that are meant for the terminal and not for its reader."""

from __future__ import annotations

import json

import pytest

from transa.cli.output import emit_json, table


def test_a_name_gives_no_orders_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table("names", ("name",), [("\x1b]0;owned\x07",), ("\x9b2J",)])
    shown = capsys.readouterr().out
    assert "\\x1b]0;owned\\x07" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


def test_json_is_written_whatever_a_path_holds(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"run": "runs/\udcff", "name": "Ōsaka"})
    shown = capsys.readouterr().out
    assert "Ōsaka" in shown
    assert json.loads(shown) == {"run": "runs/\udcff", "name": "Ōsaka"}
