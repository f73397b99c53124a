"""`--no-loop-prior`, and what commands say about the loop prior."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Result
from tests.inference.test_loops import kept

pytestmark = pytest.mark.slow  # many small trainings

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("runs") / "run")


def test_evaluate_shows_both(command: Command, run: Path) -> None:
    found = json.loads(command("evaluate", run, "--no-rules", "--json").out)
    plain = json.loads(command("evaluate", run, "--no-rules", "--no-loop-prior", "--json").out)
    assert (found["loop_prior"]["relations"], found["loop_prior"]["of"], plain["loop_prior"]) == (1, 2, None)
    assert found["loop_prior"]["without"]["both"] == plain["both"]
    assert found["both"]["raw"]["mrr"] > plain["both"]["raw"]["mrr"]
    shown = command("evaluate", run, "--no-rules").out
    assert "in 1 of 2 relations an entity is no answer to itself" in shown and "Without the loop prior" in shown
    shown = command("evaluate", run, "--no-rules", "--no-loop-prior").out
    assert "Without a loop prior" in shown and "Without the loop prior" not in shown


def test_predict_and_discover_have_the_switch(command: Command, run: Path) -> None:
    asked = ("predict", run, "--head", "e3", "--relation", "near", "-k", 1, "--json")
    first = [
        json.loads(command(*asked, *more).out)["questions"][0]["answers"][0]["key"]
        for more in ((), ("--no-loop-prior",))
    ]
    assert first[0] != "e3" and first[1] == "e3"
    loops = [
        [
            row
            for row in json.loads(command("discover", run, "--json", *more).out)["triples"]
            if row["head"] == row["tail"]
        ]
        for more in (("--relation", "near"), ("--relation", "near", "--no-loop-prior"))
    ]
    assert not loops[0] and loops[1]


def test_check_and_explain_say_why(command: Command, run: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.csv"
    asked.write_text("e3,near,e3\ne3,near,e4\n")
    why = "an entity is no answer to itself in near"
    result = command("check", run, asked, "--json")
    found = json.loads(result.out)
    assert why in result.err and why in found["notes"][-1]
    assert (found["triples"][0]["decision"], found["triples"][0]["probability"]) == (False, None)
    shown = command("check", run, asked, "--fail-below", 0.01)
    assert shown.code == 1 and "0.000" not in shown.out
    assert why in command("explain", run, "e3", "near", "e3").out
    assert why in json.loads(command("explain", run, "e3", "near", "e3", "--json").out)["note"]
    assert command("classify", run, "--json").code == 0


def test_the_limit_is_a_setting(command: Command, tmp_path: Path) -> None:
    settings = ("--set", "epochs=1", "--set", "dim=4", "--set", "validate_every=0")
    for limit, used in ((0, False), (0.5, True)):
        run = tmp_path / str(limit)
        assert command("train", "umls", "--out", run, *settings, "--set", f"loop_limit={limit}").code == 0
        assert (
            bool(json.loads(command("evaluate", run, "--no-rules", "--limit", 5, "--json").out)["loop_prior"]) == used
        )
    refused = command("train", "umls", "--out", tmp_path / "x", "--set", "loop_limit=2")
    assert refused.code == 2 and "loop_limit" in refused.err
