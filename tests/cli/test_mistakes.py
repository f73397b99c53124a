"""What newcomers write in place of the form that works: the message shows that form."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer

from tests.inference.runs import kept
from transa.cli import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train g --split 0.8 0.1 0.1", "Did you mean --split 0.8,0.1,0.1?"),
        ("train --out run --split 0.8, 0.1, 0.1 g", "Did you mean --split 0.8,0.1,0.1?"),
        ("train g --split=0.8 0.1 0.1 --out run", "Did you mean --split 0.8,0.1,0.1?"),
        ("train g --out run --set epochs 3", "Did you mean --set epochs=3?"),
        ("train g --out run --set epochs = 3 --set dim= 8", "Did you mean --set epochs=3 --set dim=8?"),
        ("train g --out run --set epochs=3 dim=8", "Did you mean --set epochs=3 --set dim=8?"),
        ("stats g --minimum-confidence score 0.5", "Did you mean --minimum-confidence score=0.5?"),
        ("evaluate run --hits 1 3 10", "Did you mean --hits 1,3,10?"),
        ("discover run --relation next 'far away'", "Did you mean --relation next --relation 'far away'?"),
        ("predict run e1 next", 'Example: transa predict runs/films --head "Film 1" --relation has_genre'),
        ("predict run e1 --relation next", "Example: transa predict runs/films"),
        ("models transa", "Got unexpected extra argument(s) (transa)."),
        ("train g --epochs 3", "--epochs, which is a setting. Did you mean --set epochs=3?"),
        ("train g --learning-rate=0.1", "Did you mean --set learning_rate=0.1?"),
        ("tune g --directional", "Did you mean --set directional=VALUE?"),
        ("train g --no-such-thing", "No such option: --no-such-thing"),
        ("predict run --epochs 3", "No such option: --epochs"),
        ("fit g", "No such command 'fit'; did you mean 'train'?"),
        ("Score run", "No such command 'Score'; did you mean 'evaluate'?"),
        ("predcit run", "did you mean 'predict'?"),
        ("xyzzy", "No such command 'xyzzy'"),
    ],
)
def test_the_message_shows_the_form_that_works(command, line: str, message: str) -> None:
    result = command(*shlex.split(line))
    assert result.code == 2 and not result.out
    assert message in result.err and "Traceback" not in result.err


def test_help_is_shown_whatever_else_is_written(command) -> None:
    result = command("predict", "run", "e1", "next", "--help")
    assert result.code == 0 and "--head" in result.out


@pytest.mark.parametrize("name", [name for name, each in COMMANDS.items() if each.epilog])
def test_the_example_of_a_command_is_understood(name: str) -> None:
    _, program, called, *words = shlex.split(COMMANDS[name].epilog)
    assert (program, called) == ("transa", name)
    COMMANDS[name].make_context(name, words)


def test_a_folder_of_runs_names_them(command, tmp_path: Path) -> None:
    for name in ("first", "second"):
        kept(tmp_path / "runs" / name)
    found = command("evaluate", tmp_path / "runs")
    assert found.code == 2 and not found.out
    assert f"it holds the runs {tmp_path / 'runs' / 'first'}, {tmp_path / 'runs' / 'second'}" in found.err
    found = command("evaluate", tmp_path / "runs" / "secnd")
    assert found.code == 2 and "there is no such run folder; did you mean 'second'?" in found.err


@pytest.mark.parametrize("name", ["ADA", " Ada", "ada "])
def test_case_and_blanks_at_the_ends_do_not_matter(command, tmp_path: Path, name: str) -> None:
    run = kept(tmp_path / "run", named=True)
    claims = tmp_path / "claims.csv"
    claims.write_text(f"head,relation,tail\n{name},next,Cleo\n")
    for words in (("predict", run, "--head", name, "--relation", "next"), ("explain", run, name, "next", "Cleo")):
        assert command(*words).code == 0
    assert command("check", run, claims).code == 0


def test_a_name_that_fits_two_entities_is_answered_with_both(command, tmp_path: Path) -> None:
    run = kept(tmp_path / "run", named=True)
    found = command("explain", run, "bOb", "next", "Cleo")
    assert found.code == 2 and "is ambiguous: 'e1' (Bob), 'e2'" in found.err
