"""`transa complete` and `transa audit`: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.inference.runs import blurred
from transa.training import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one, path = blurred(), tmp_path_factory.mktemp("run")
    assert one.recipe is not None
    RunFolder(path).write_start(one.graph, one.recipe, source=None, engine="numba")
    RunFolder(path).write_tensors("weights.safetensors", one.model.tensors())
    return path


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.tsv"
    path.write_text("functional\tnext\nfunctional\tfar\n")
    return path


def test_complete_as_table_json_and_file(command, run: Path, rules: Path, tmp_path: Path) -> None:
    shown = command("complete", run, "--constraints", rules)
    assert shown.code == 0 and "new facts that go together" in shown.out
    assert "2 functional and 0 inverse functional relations" in shown.err and "proved to be best" in shown.err
    found = json.loads(command("complete", run, "--constraints", rules, "--json").out)
    assert found["facts"] and found["solved"]["proved"] is True
    assert command("complete", run, "--constraints", rules, "--out", tmp_path / "new.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "new.csv").read_text().splitlines()))
    assert [row["tail"] for row in rows] == [fact["tail"] for fact in found["facts"]]
    again = command("complete", run, "--out", tmp_path / "new.csv")
    assert again.code == 2 and "--overwrite" in again.err


def test_audit_as_table_json_and_file(command, run: Path, rules: Path, tmp_path: Path) -> None:
    shown = command("audit", run, "--constraints", rules, "--mine", "-k", 3)
    assert shown.code == 0 and "the most doubtful first" in shown.out
    found = json.loads(command("audit", run, "--constraints", rules, "-k", 3, "--relation", "far", "--json").out)
    assert len(found["facts"]) == 3 and {fact["relation"] for fact in found["facts"]} == {"far"}
    assert command("audit", run, "--out", tmp_path / "doubts.parquet").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("complete", "RUN", "--constraints", "nowhere.tsv"), "nowhere.tsv"),
        (("audit", "RUN", "--constraints", "RULES"), "line 2: unknown relation 'near'"),
        (("audit", "RUN", "--relation", "near"), "unknown relation 'near'"),
        (("audit", "RUN", "-k", "0"), "'--top' / '-k'"),
        (("complete", "RUN", "--one-answer", "2"), "'--one-answer'"),
        (("complete", "RUN", "--seconds", "0"), "seconds: expected more than 0"),
        (("complete", "RUN", "--out", "new.xls"), "unknown suffix"),
    ],
)
def test_wrong_arguments(command, run: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    wrong = tmp_path / "rules.tsv"
    wrong.write_text("functional\tnext\nfunctional\tnear\n")
    given = [{"RUN": run, "RULES": wrong}.get(each, each) for each in arguments]
    result = command(*given)
    assert result.code == 2 and message in result.err and "Traceback" not in result.err
