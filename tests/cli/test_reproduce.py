"""`transa reproduce`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TINY = ("--set", "epochs=1", "--set", "dim=4")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_is_run_once_and_then_there(command, tmp_path: Path) -> None:
    options = ("reproduce", "table2", "--models", "transe:paper", "--datasets", "nations", *TINY)
    first = command(*options, "--json")
    assert first.code == 0, first.err
    assert json.loads(first.out)["runs"]["done"] == ["nations_transe_paper"]
    again = command(*options)
    assert (again.code, "1 there already" in again.out) == (0, True)
    names = {path.name for path in (tmp_path / "results" / "tables").iterdir()}
    assert names == {"table2_nations.md", "table2_nations.csv", "table2_nations.tex"}
    planned = json.loads(command(*options, "--dry-run", "--json").out)
    assert planned["cells"] == [
        {"dataset": "nations", "model": "transe", "recipe": "paper", "epochs": 1, "there": True}
    ]
    assert command("reproduce", "docs", "--out", "page.md").code == 0
    assert "transa reproduce table2 --models transe:paper --datasets nations" in Path("page.md").read_text("utf-8")
    assert command("reproduce", "docs", "--out", "page.md").code == 2
    assert command("reproduce", "docs", "--out", "page.md", "--overwrite").code == 0


def test_table_1_counts_datasets(command, tmp_path: Path) -> None:
    found = json.loads(command("reproduce", "table1", "--datasets", "umls,nations", "--json").out)
    (table,) = found["tables"]
    assert [row["measured_entities"] for row in table["rows"]] == [135, 14]
    assert [row["paper_entities"] for row in table["rows"]] == [None, None]
    only = command("reproduce", "table1", "--datasets", "umls", "--budget", "0")
    assert "135" in only.out


def test_without_a_budget_for_runs_the_tables_come_from_what_there_is(command) -> None:
    result = command("reproduce", "table2", "--budget", "0", "--models", "transa,transe")
    assert (result.code, "nothing has been measured yet" in result.out) == (0, True)
    assert "94.3" in Path("results/tables/table2_wn18.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table5"], "table5"),
        (["table2", "--models", "transx"], "unknown model"),
        (["table2", "--models", "transa:best"], "has no recipe 'best'"),
        (["table2", "--datasets", "umsl"], "no dataset is called"),
        (["table2", "--datasets", "umls,,"], "separated by commas"),
        (["table2", "--set", "epoch=3"], "unknown setting"),
        (["table2", "--budget", "-1"], "budget"),
        (["table2", "--out", "x.md"], "--out is for docs"),
        (["docs", "--out", "x.txt"], "expected .md"),
        (["table2", "--picture", "x.png"], "--picture is for the study of the metric"),
        (["metric", "--picture", "x.txt"], "x.txt"),
    ],
)
def test_errors_exit_with_2_and_write_nothing(command, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = command("reproduce", *arguments)
    assert (result.code, message in result.err, "Traceback" in result.err) == (2, True, False), result.err
    assert list(tmp_path.iterdir()) == []


def test_the_study_of_the_metric_has_a_picture(command) -> None:
    result = command("reproduce", "metric", "--budget", 0, "--picture", "study.png")
    assert (result.code, "Drawn: study.png" in result.err) == (0, True), result.err
    assert Path("study.png").read_bytes().startswith(b"\x89PNG")
