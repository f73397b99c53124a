"""Help as people see it on a terminal of 80 columns."""

from __future__ import annotations

import re
import sys

import pytest
import typer

from transa.cli import app, main

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["transa", *arguments, "--help"])
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_option_in_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = shown(monkeypatch, capsys, name)
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if option.startswith("-"):
                assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), (option, text)


def test_brackets_in_help_are_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "transa[umap]" in shown(monkeypatch, capsys, "map")


def test_the_list_of_commands_tells_what_each_does_in_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(monkeypatch, capsys)
    assert all(name in text for name in COMMANDS)
    assert "..." not in text.replace("[ARGS]...", "")
