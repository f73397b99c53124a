"""`transa classify`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import transa
from tests.conftest import Result
from transa.data import KnowledgeGraph
from transa.models import build
from transa.training import RunFolder, load_recipe

MEASURES = {"accuracy", "by_share", "precision", "recall", "f1", "auc", "average_precision", "n"}


def run_folder(path: Path, graph: KnowledgeGraph) -> Path:
    """A run whose vectors are the first ones: all that the command needs."""
    recipe = load_recipe("transe", None, None, {"dim": 8})
    folder = RunFolder(path)
    path.mkdir()
    folder.write_start(graph, recipe)
    model = build("transe", len(graph.entities), len(graph.relations), 8).initialise(0)
    folder.write_tensors("weights.safetensors", model.tensors())
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_folder(tmp_path_factory.mktemp("classify") / "run", transa.load("umls"))


def parsed(result: Result) -> dict:
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_json_holds_fractions_over_all_and_for_each_relation(command, run: Path) -> None:
    result = command("classify", run, "--json")
    summary = parsed(result)
    assert set(summary) == MEASURES | {
        *("run", "split", "decided_by", "sampled", "seed", "global_threshold", "barred_loops", "estimate", "relations"),
        *("calibration", "notes"),
    }
    assert (summary["run"], summary["split"], summary["n"], summary["sampled"]) == (str(run), "test", 1322, True)
    assert summary["estimate"] is None
    assert set(summary["calibration"]) == {"method", "brier", "ece"}
    assert sum(found["n"] for found in summary["relations"].values()) == 1322
    for found in (summary, *summary["relations"].values()):
        assert all(found[name] is None or 0 <= found[name] <= 1 for name in MEASURES - {"n"})
    assert set(summary["relations"]["isa"]) == MEASURES | {"threshold", "own_threshold"}
    assert "no labels" in result.err
    assert summary["notes"] == ["valid and test have no labels: one false triple was drawn for each true one (seed 0)"]


def test_triples_are_decided_by_their_questions_if_asked(command, run: Path) -> None:
    summary = parsed(command("classify", run, "--json", "--by", "questions"))
    assert (summary["decided_by"], summary["global_threshold"]) == ("questions", 0)
    wrong = command("classify", run, "--by", "answers")
    assert wrong.code == 2 and "answers" in wrong.err


def test_tables_show_all_and_the_largest_relations_first(command, run: Path) -> None:
    result = command("classify", run, "--top", 3)
    assert result.code == 0
    assert "Triple classification (test, 1,322 triples)" in result.out
    assert "Relations, the 3 largest of 36" in result.out
    places = [result.out.index(f"│ {name} ") for name in ("affects", "result_of", "interacts_with")]
    assert places == sorted(places)
    assert "│ isa " not in result.out
    everything = command("classify", run, "--top", 100)
    assert "*: not in valid, global threshold" in everything.out
    assert "adjacent_to" in everything.out


def test_split_seed_and_calibration_can_be_chosen(command, run: Path) -> None:
    first = parsed(command("classify", run, "--json"))
    assert parsed(command("classify", run, "--json", "--seed", 0)) == first
    assert parsed(command("classify", run, "--json", "--seed", 1))["auc"] != first["auc"]
    assert parsed(command("classify", run, "--json", "--calibration", "platt"))["calibration"]["method"] == "platt"
    assert parsed(command("classify", run, "--json", "--calibration", "none"))["calibration"] is None
    result = command("classify", run, "--json", "--split", "valid")
    assert parsed(result)["n"] == 1304
    assert "chosen on these very triples" in result.err


def test_a_sample_is_called_an_estimate(command, run: Path) -> None:
    summary = parsed(command("classify", run, "--limit", 100, "--json"))
    assert (summary["n"], summary["estimate"]["population"]) == (100, 1322)
    shown = command("classify", run, "--limit", 100)
    assert "(test, estimate from 100 of 1,322 triples)" in shown.out
    low, high = summary["estimate"]["accuracy_interval"]
    assert f"{low:.1%} to {high:.1%}" in shown.out
    assert "an estimate from 100 of 1,322" in shown.err


def test_decisions_and_picture_are_written_and_kept(command, run: Path, tmp_path: Path) -> None:
    decisions, picture = tmp_path / "decisions.csv", tmp_path / "reliability.png"
    options = ("--decisions", decisions, "--picture", picture)
    assert command("classify", run, *options).code == 0
    with decisions.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1322
    assert sum(row["label"] == row["decision"] for row in rows) / 1322 == pytest.approx(
        parsed(command("classify", run, "--json"))["accuracy"]
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    before = decisions.read_bytes()
    for option, path in zip(options[::2], options[1::2], strict=True):
        again = command("classify", run, option, path, "--seed", 1)
        assert again.code == 2
        assert "--overwrite" in again.err
    assert decisions.read_bytes() == before
    assert command("classify", run, *options, "--seed", 1, "--overwrite").code == 0
    assert decisions.read_bytes() != before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["decisions.csv", "reliability.png"]


@pytest.mark.parametrize(("name", "start"), [("p.svg", b"<?xml"), ("p.pdf", b"%PDF")])
def test_pictures_come_in_the_format_of_their_suffix(
    command, run: Path, tmp_path: Path, name: str, start: bytes
) -> None:
    assert command("classify", run, "--picture", tmp_path / name, "--limit", 50).code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "train"], "train"),
        (["--calibration", "beta"], "beta"),
        (["--limit", "0"], "limit"),
        (["--seed", "-1"], "seed"),
        (["--seed", str(2**63)], "seed"),
        (["--decisions", "decisions.xlsx"], "expected .csv, .tsv or .parquet"),
        (["--decisions", "missing/decisions.csv"], "does not exist"),
        (["--picture", "picture.bmp"], "expected .png, .svg or .pdf"),
        (["--picture", "picture.png", "--calibration", "none"], "--calibration none"),
    ],
)
def test_wrong_options_are_errors_and_write_nothing(
    command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("classify", run, *options)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_an_error(command, run: Path, tmp_path: Path) -> None:
    result = command("classify", tmp_path / "nothing")
    assert (result.code, "no such run folder" in result.err) == (2, True)
    alone = KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    result = command("classify", run_folder(tmp_path / "alone", alone))
    assert (result.code, "no validation triples" in result.err) == (2, True)
    unfinished = run_folder(tmp_path / "unfinished", alone)
    (unfinished / "weights.safetensors").unlink()
    result = command("classify", unfinished)
    assert (result.code, "weights.safetensors is missing" in result.err) == (2, True)
