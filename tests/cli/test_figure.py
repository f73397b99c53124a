"""`transa figure`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.untrained import untrained_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("figures")
    return {
        "full": untrained_run(folder / "full", "transa", metric="full", metric_update="end"),
        "plain": untrained_run(folder / "plain", "transe"),
    }


@pytest.mark.parametrize("number", [1, 2, 3])
def test_figures_are_drawn(command, runs: dict[str, Path], tmp_path: Path, number: int) -> None:
    target = tmp_path / "figure.svg"
    options = ["--against", runs["plain"]] if number != 2 else []
    result = command("figure", number, runs["full"], "--out", target, "--json", *options)
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    assert (summary["figure"], summary["picture"]) == (number, str(target))
    assert target.read_text("utf-8").startswith("<?xml")
    assert "exists already" in command("figure", number, runs["full"], "--out", target).err
    shown = command("figure", number, runs["full"], "--out", target, "--overwrite")
    assert (shown.code, "Written" in shown.out) == (0, True)


def test_the_head_and_relation_of_figure_1_can_be_chosen(command, runs: dict[str, Path], tmp_path: Path) -> None:
    options = ["--head", "virus", "--relation", "causes", "--out", tmp_path / "f.png", "--json"]
    for more in ([], ["--nearest", "--unmatched", "4", "--norm", "1"]):
        summary = json.loads(command("figure", 1, runs["full"], *options, *more, "--overwrite").out)
        assert (summary["head"], summary["relation"]) == ("virus", "causes")
    assert len(summary["unmatched"]) == 4
    assert summary["panels"][0]["label"] == "TransE on the same vectors, L1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure", "1", "plain"], "transe has no metric"),
        (["figure", "4", "full"], "less than or equal to 3"),
        (["figure", "2", "full", "--against", "x"], "does not take --against"),
        (["figure", "3", "full", "--head", "virus"], "does not take --head"),
        (["figure", "1", "full", "--head", "virrus"], "unknown entity 'virrus'; did you mean 'virus'"),
        (["figure", "1", "full", "--out", "f.bmp"], "expected .png, .svg or .pdf"),
        (["figure", "2", "full", "--relation", "pr"], "relation 'pr' is ambiguous"),
    ],
)
def test_errors_exit_with_2_and_write_nothing(
    command, runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*[runs.get(argument, argument) for argument in arguments])
    assert (result.code, message in result.err, "Traceback" in result.err) == (2, True, False), result.err
    assert list(tmp_path.iterdir()) == []
