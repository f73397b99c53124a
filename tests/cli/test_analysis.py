"""`transa weights` and `transa figure`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import transa
from transa.training import RunFolder, load_recipe


def run_folder(path: Path, model: str, **settings: object) -> Path:
    """A run on UMLS whose tables are the first ones: all that the commands need."""
    graph = transa.load("umls")
    recipe = load_recipe(model, None, None, {"dim": 6, **settings})
    folder = RunFolder(path)
    path.mkdir()
    folder.write_start(graph, recipe)
    built = recipe.build_model(len(graph.entities), len(graph.relations)).initialise(0)
    folder.write_tensors("weights.safetensors", built.tensors())
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("analysis")
    return {
        "full": run_folder(folder / "full", "transa", metric="full", metric_update="end"),
        "diagonal": run_folder(folder / "diagonal", "transa", metric="diagonal", metric_update="gradient"),
        "lowrank": run_folder(folder / "lowrank", "transa"),
        "psd": run_folder(folder / "psd", "adaptive_metric"),
        "plain": run_folder(folder / "plain", "transe"),
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
        (["weights", "plain"], "transe has no metric"),
        (["figure", "1", "plain"], "transe has no metric"),
        (["figure", "4", "full"], "less than or equal to 3"),
        (["figure", "2", "full", "--against", "x"], "does not take --against"),
        (["figure", "3", "full", "--head", "virus"], "does not take --head"),
        (["figure", "1", "full", "--head", "virrus"], "unknown entity 'virrus'; did you mean 'virus'"),
        (["figure", "1", "full", "--out", "f.bmp"], "expected .png, .svg or .pdf"),
        (["weights", "full", "--relation", "izza"], "unknown relation 'izza'"),
        (["figure", "2", "full", "--relation", "pr"], "relation 'pr' is ambiguous"),
        (["weights", "full", "--top", "-1"], "--top"),
        (["weights", "full", "--csv", "w.xlsx"], "expected .csv or .tsv"),
        (["weights", "nothing"], "not a run folder"),
    ],
)
def test_errors_exit_with_2_and_write_nothing(
    command, runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*[runs.get(argument, argument) for argument in arguments])
    assert (result.code, message in result.err, "Traceback" in result.err) == (2, True, False), result.err
    assert list(tmp_path.iterdir()) == []
