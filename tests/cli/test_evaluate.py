"""transa evaluate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import transa
from tests.conftest import Result
from tests.inference.runs import line
from transa.data.vocabulary import Vocabulary
from transa.training import RunFolder, Trainer, load_recipe

Command = Callable[..., Result]
MEASURES = {"mr", "mrr", "hits@1", "hits@3", "hits@10", "median", "amr", "amri"}


#: Most of these tests are about other figures.
PLAIN = "--no-rules"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "umls"
    settings = {"epochs": 10, "validate_every": 0}
    Trainer(transa.load("umls"), load_recipe("transa", None, "umls", settings), None, RunFolder(path), "umls").fit()
    return path


def test_the_report_has_both_sides_raw_and_filtered_categories_and_relations(command: Command, run: Path) -> None:
    result = command("evaluate", run, PLAIN, "--json")
    assert result.code == 0
    report = json.loads(result.out)
    assert report["n"] == 661
    assert report["filter"] == ["train", "valid", "test"]
    assert report["estimate"] is None
    for side in ("both", "head", "tail"):
        assert set(report[side]) == {"raw", "filtered"}
        assert set(report[side]["filtered"]) == MEASURES
        assert report[side]["filtered"]["mrr"] > report[side]["raw"]["mrr"]
    sizes = {name: found["n"] for name, found in report["categories"].items()}
    assert sum(sizes.values()) == 661
    mean = sum(n * report["categories"][name]["head"]["filtered"]["mr"] for name, n in sizes.items()) / 661
    assert mean == pytest.approx(report["head"]["filtered"]["mr"])
    assert sum(found["n"] for found in report["relations"].values()) == 661
    assert 0.1 < report["both"]["filtered"]["mrr"] < 1


def test_the_tables_have_popularity_beside_the_model(command: Command, run: Path) -> None:
    report = json.loads(command("evaluate", run, PLAIN, "--json").out)
    shown = command("evaluate", run, PLAIN).out
    assert "popular: filtered ranks by how often an entity stands on that side of the relation in train" in shown
    found = report["popularity"]["both"]["filtered"]
    assert set(found) == MEASURES
    (line,) = [line for line in shown.splitlines() if line.replace("│", " ").split()[:2] == ["both", "popular"]]
    assert f"{found['mrr']:.3f}" in line and f"{found['hits@10']:.1%}" in line
    for name, some in report["categories"].items():
        assert f"{some['popularity']['tail']['filtered']['mrr']:.3f}" in shown, name


def test_rules_alone_stand_beside_the_model(command: Command, run: Path) -> None:
    report = json.loads(command("evaluate", run, "--json").out)
    shown = command("evaluate", run).out
    rules = report["rules_alone"]
    assert (rules["forms"], rules["complete"]) == ("all", True)
    (line,) = [line for line in shown.splitlines() if line.replace("│", " ").split()[:2] == ["both", "rules"]]
    assert f"{rules['both']['filtered']['mrr']:.3f}" in line
    assert f"filtered ranks by {rules['rules']:,} rules of all forms mined from train" in shown
    assert sum(some["n"] for some in rules["reached"].values()) == 661
    for some in rules["reached"].values():
        assert f"{some['share']:.1%}" in shown and f"{some['both']['filtered']['mrr']:.3f}" in shown
    mean = sum(some["n"] * some["both"]["filtered"]["mrr"] for some in rules["reached"].values()) / 661
    assert mean == pytest.approx(report["both"]["filtered"]["mrr"])
    assert json.loads(command("evaluate", run, "--no-rules", "--json").out)["rules_alone"] is None
    assert "mined from train" not in command("evaluate", run, "--no-rules").out


def test_validating_does_not_filter_by_test(command: Command, run: Path) -> None:
    usual = json.loads(command("evaluate", run, PLAIN, "--split", "valid", "--json").out)
    assert usual["filter"] == ["train", "valid"]
    everything = json.loads(
        command("evaluate", run, PLAIN, "--split", "valid", "--filter", "train,valid,test", "--json").out
    )
    assert everything["both"]["filtered"]["mr"] < usual["both"]["filtered"]["mr"]
    nothing = json.loads(command("evaluate", run, PLAIN, "--filter", "none", "--json").out)
    assert nothing["both"]["filtered"] == nothing["both"]["raw"]


def test_a_sample_is_called_an_estimate_and_has_intervals(command: Command, run: Path) -> None:
    whole = json.loads(command("evaluate", run, PLAIN, "--json").out)
    sample = json.loads(command("evaluate", run, PLAIN, "--limit", 300, "--seed", 3, "--json").out)
    assert sample["n"] == 300
    assert sample["estimate"]["population"] == 661
    low, high = sample["estimate"]["filtered"]["mrr"]
    assert low < sample["both"]["filtered"]["mrr"] < high
    assert low < whole["both"]["filtered"]["mrr"] < high
    assert sample == json.loads(command("evaluate", run, PLAIN, "--limit", 300, "--seed", 3, "--json").out) | {
        "seconds": sample["seconds"]
    }
    assert "estimate" in command("evaluate", run, PLAIN, "--limit", 300).out


@pytest.mark.slow
def test_every_rank_can_be_written(command: Command, run: Path, tmp_path: Path) -> None:
    text, binary = tmp_path / "ranks.csv", tmp_path / "ranks.parquet"
    report = json.loads(command("evaluate", run, PLAIN, "--ranks", text, "--answers", 2, "--json").out)
    assert command("evaluate", run, PLAIN, "--ranks", binary, "--answers", 2).code == 0
    with text.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table(binary)
    assert len(rows) == len(table) == 2 * 661
    ranks = np.array([float(row["rank"]) for row in rows])
    assert (1 / ranks).mean() == pytest.approx(report["both"]["filtered"]["mrr"])
    raw = np.array([float(row["raw_rank"]) for row in rows if row["side"] == "tail"])
    assert raw.mean() == pytest.approx(report["tail"]["raw"]["mr"])
    graph = transa.load("umls")
    known = {
        tuple(triple)
        for split in ("train", "valid", "test")
        for triple in zip(*graph.named(split).to_pydict().values(), strict=True)
    }
    for row in rows[:200]:
        if not row["answer_2"]:  # all but one or none are known
            continue
        first, second = float(row["answer_1_score"]), float(row["answer_2_score"])
        assert first <= second
        # The true entity is the first of all iff no unknown one scores better.
        if float(row["optimistic_rank"]) == 1:
            assert first >= float(row["score"]) * (1 - 1e-5)
        else:
            assert first <= float(row["score"]) * (1 + 1e-5)
        replaced = (
            (row["answer_1"], row["relation"], row["tail"])
            if row["side"] == "head"
            else (row["head"], row["relation"], row["answer_1"])
        )
        assert replaced not in known


def test_tie_rules_and_any_k(command: Command, run: Path) -> None:
    found = {
        rule: json.loads(command("evaluate", run, PLAIN, "--ties", rule, "--hits", "2,50", "--json").out)["both"][
            "filtered"
        ]
        for rule in ("optimistic", "realistic", "pessimistic")
    }
    assert {"hits@2", "hits@50"} < set(found["realistic"])
    assert found["optimistic"]["mr"] <= found["realistic"]["mr"] <= found["pessimistic"]["mr"]


def test_tables_for_people(command: Command, run: Path) -> None:
    result = command("evaluate", run, PLAIN)
    assert result.code == 0
    for word in ("filtered", "MRR", "Hits@10", "N-N", "affects", "distinct queries"):
        assert word in result.out


def test_relations_are_called_by_label_for_people_and_by_key_in_json(command: Command, tmp_path: Path) -> None:
    graph = replace(line(), relations=Vocabulary(["P31", "P32"], ["has category", None]), test=line().valid)
    transa.TransE(dim=2, epochs=1, options=transa.Options(engine="torch")).fit(graph).save(tmp_path / "run")
    for name in ("evaluate", "classify"):
        assert "has category (P31)" in command(name, tmp_path / "run").out
        assert set(json.loads(command(name, tmp_path / "run", "--json").out)["relations"]) == {"P31", "P32"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hits", "0,3"], "--hits"),
        (["--hits", "ten"], "--hits"),
        (["--filter", "train,dev"], "dev"),
        (["--ranks", "ranks.xls"], ".xls"),
        (["--device", "nowhere"], "nowhere"),
        (["--threads", "0"], "threads"),
    ],
)
def test_wrong_arguments_are_refused(command: Command, run: Path, arguments: list[str], message: str) -> None:
    result = command("evaluate", run, PLAIN, *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_what_is_no_run_is_refused(command: Command, tmp_path: Path) -> None:
    result = command("evaluate", tmp_path)
    assert result.code == 2
    assert "not a run folder" in result.err


@pytest.mark.slow
def test_a_file_is_not_overwritten_unasked(command: Command, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "ranks.csv"
    target.write_text("mine")
    assert command("evaluate", run, PLAIN, "--ranks", target).code == 2
    assert target.read_text() == "mine"
    assert command("evaluate", run, PLAIN, "--ranks", target, "--overwrite").code == 0
    assert target.read_text().startswith("head,")
