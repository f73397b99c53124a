"""Groups of options: a command takes a dataclass, and the command line has an option for each field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from transa.cli.options import TextFormat, add_command


@dataclass(frozen=True)
class Wanted:
    """What is wanted."""

    size: Annotated[Literal["small", "large"], typer.Option(help="How large.")]
    names: Annotated[list[str] | None, typer.Option("--name", help="Repeatable.")] = None
    loud: Annotated[bool, typer.Option("--loud")] = False


SEEN: list[Any] = []


def work(
    place: Annotated[str, typer.Argument(metavar="PLACE")],
    wanted: Wanted,
    text: TextFormat,
    top: Annotated[int, typer.Option()] = 3,
) -> None:
    """Do some work."""
    SEEN[:] = [[place, wanted, text, top]]


def called(*arguments: str) -> Any:
    app = typer.Typer()
    add_command(app, work, "do")
    add_command(app, work, "other")
    return CliRunner().invoke(app, ["do", *arguments])


def test_options_are_packed_into_their_groups() -> None:
    assert called("here", "--size", "large", "--name", "a", "--name", "b", "--no-header", "--top", "5").exit_code == 0
    assert SEEN[0] == ["here", Wanted("large", ["a", "b"]), TextFormat(header=False), 5]
    assert called("here", "--size", "small", "--loud").exit_code == 0
    assert SEEN[0] == ["here", Wanted("small", loud=True), TextFormat(), 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("here",), "--size"),
        (("--size", "large"), "PLACE"),
        (("here", "--size", "huge"), "'huge' is not one of"),
        (("here", "--size", "large", "--top", "many"), "--top"),
    ],
)
def test_what_is_missing_or_wrong_is_named(arguments: tuple[str, ...], message: str) -> None:
    result = called(*arguments)
    assert result.exit_code == 2 and message in result.output.replace("\n", " ")


def test_help_shows_every_field() -> None:
    shown = called("--help").output
    assert all(word in shown for word in ("Do some work.", "--size", "How large.", "--name", "--loud", "--columns"))
