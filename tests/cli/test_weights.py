"""`transa weights`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.untrained import untrained_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("analysis")
    return {
        "full": untrained_run(folder / "full", "transa", metric="full", metric_update="end"),
        "diagonal": untrained_run(folder / "diagonal", "transa", metric="diagonal", metric_update="gradient"),
        "lowrank": untrained_run(folder / "lowrank", "transa"),
        "psd": untrained_run(folder / "psd", "adaptive_metric"),
        "plain": untrained_run(folder / "plain", "transe"),
    }


@pytest.mark.parametrize("name", ["full", "diagonal", "lowrank", "psd"])
def test_weights_of_every_metric(command, runs: dict[str, Path], name: str) -> None:
    result = command("weights", runs[name], "--json")
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    assert (summary["n"], summary["dim"], len(summary["relations"])) == (46, 6, 46)
    one = summary["relations"][0]
    singular = name == "lowrank"  # it starts as the squared L1 norm
    assert (one["weight_difference"] is None, one["condition"] is None) == (singular, singular)
    shown = command("weights", runs[name], "--top", 2)
    assert "the 2 largest of 46" in shown.out


def test_weights_are_written(command, runs: dict[str, Path], tmp_path: Path) -> None:
    targets = [tmp_path / "w.csv", tmp_path / "w.parquet", tmp_path / "w.png"]
    options = ["--csv", targets[0], "--parquet", targets[1], "--picture", targets[2]]
    only = ["--relation", "isa", "--relation", "causes"]
    assert command("weights", runs["full"], *options, *only).code == 0
    with targets[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["relation"] for row in rows} == {"isa", "causes"}
    assert len(rows) == pq.read_table(targets[1]).num_rows == 12
    assert [float(row["weight"]) for row in rows] == [1.0] * 12
    assert targets[2].read_bytes().startswith(b"\x89PNG")
    again = command("weights", runs["full"], "--csv", targets[0])
    assert (again.code, "--overwrite" in again.err) == (2, True)
    assert command("weights", runs["full"], *options, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weights", "plain"], "transe has no metric"),
        (["weights", "full", "--relation", "izza"], "unknown relation 'izza'"),
        (["weights", "full", "--top", "-1"], "--top"),
        (["weights", "full", "--csv", "w.xlsx"], "expected .csv or .tsv"),
        (["weights", "nothing"], "there is no such run folder"),
        (["weights", "full", "--picture", "w.bmp"], "expected .png, .svg or .pdf"),
    ],
)
def test_errors_exit_with_2_and_write_nothing(
    command, runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*[runs.get(argument, argument) for argument in arguments])
    assert (result.code, message in result.err, "Traceback" in result.err) == (2, True, False), result.err
    assert list(tmp_path.iterdir()) == []
