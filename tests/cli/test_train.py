"""`transa train` and `transa demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.helpers import same_bits
from transa.training import RunFolder

SMALL = ["--model", "transe", "--set", "epochs=3", "--set", "dim=8"]


def test_train_writes_a_run_and_prints_one_json_object(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = command("train", "nations", "--out", run, *SMALL, "--set", "validate_every=1", "--json")
    assert result.code == 0
    summary = json.loads(result.out)
    assert summary["epochs"] == 3
    assert summary["engine"] == "numba"
    assert summary["validation"]["measure"] == "mrr"
    assert "engine: numba" in result.err
    assert RunFolder(run).recipe().dim == 8


def test_a_finished_run_is_refused_and_resumed_without_change(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", "nations", "--out", run, *SMALL).code == 0
    before = RunFolder(run).read_tensors("weights.safetensors")[0]
    again = command("train", "nations", "--out", run, *SMALL)
    assert again.code == 2
    assert "--resume" in again.err
    assert command("train", "nations", "--out", run, "--resume").code == 0
    assert same_bits(RunFolder(run).read_tensors("weights.safetensors")[0], before)


def test_threads_and_engines_can_be_chosen(command, tmp_path: Path) -> None:
    runs = []
    for name, options in (("one", ["--threads", "1"]), ("auto", []), ("torch", ["--engine", "torch"])):
        assert command("train", "nations", "--out", tmp_path / name, *SMALL, *options).code == 0
        runs.append(RunFolder(tmp_path / name).read_tensors("weights.safetensors")[0])
    assert same_bits(runs[0], runs[1])
    assert not same_bits(runs[0], runs[2])  # the same to rounding, by other means
    for name in runs[0]:
        assert float((runs[0][name].double() - runs[2][name].double()).abs().max()) < 1e-5


def test_a_directional_model_with_a_signed_metric_is_trained_and_asked(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    chosen = [*("directional=true", "metric=signed", "root=false", "metric_update=gradient", "epochs=3", "dim=8")]
    settings = [part for each in chosen for part in ("--set", each)]
    assert command("train", "umls", "--model", "transa", "--out", run, *settings).code == 0
    assert RunFolder(run).model().directional
    assert command("train", "umls", "--out", run, "--resume").code == 0
    for asked in (
        ("evaluate", run, "--limit", 20),
        ("classify", run),
        ("predict", run, "--relation", "causes", "--tail", "neoplastic_process"),
        ("weights", run, "--picture", tmp_path / "weights.svg"),
        ("explain", run, "virus", "causes", "neoplastic_process", "--side", "head", "--picture", tmp_path / "why.svg"),
        ("figure", 1, run, "--out", tmp_path / "figure1.svg"),
        ("figure", 2, run, "--out", tmp_path / "figure2.svg"),
        ("figure", 3, run, "--out", tmp_path / "figure3.svg"),
        ("export", run, "--to", tmp_path / "run.parquet"),
    ):
        found = command(*asked)
        assert found.code == 0, (asked, found.err)
    assert "causes⁻¹" in command("weights", run, "--top", 200).out
    assert (
        "(?, causes, neoplastic"  # its key or its name
        in command("explain", run, "virus", "causes", "neoplastic_process", "--side", "head").out
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "transa", "--set", "metric=signed"], "root: f_r may be negative with a signed metric"),
        (
            ["--model", "transe", "--set", "norm=1", "--set", "squared=true"],
            "squared: the square is that of the L2 norm",
        ),
        (["--set", "epoch=1"], "unknown setting 'epoch'; did you mean 'epochs'"),
        (["--set", "rounds=1"], "unknown setting 'rounds'; it is called 'epochs' now"),
        (["--set", "learning_rate=fast"], "learning_rate"),
        (["--set", "learning_rate"], "FIELD=VALUE"),
        (["--model", "transz"], "did you mean"),
        (["--recipe", "classic"], "no recipe 'classic'"),
        (["--recipe", "missing.toml"], "missing.toml"),
        (["--device", "nowhere"], "device: expected cpu or a device that torch can use here, found 'nowhere'"),
        (["--device", "cuda:99"], "found 'cuda:99'"),
        (["--threads", "1000"], "threads"),
        (["--resume"], "holds no run to resume; start one without --resume"),
        (["--engine", "numba", "--set", "metric=full", "--set", "metric_update=gradient"], "engine"),
    ],
)
def test_wrong_options_are_errors_and_write_nothing(command, tmp_path: Path, options: list[str], message: str) -> None:
    result = command("train", "nations", "--out", tmp_path / "run", *options)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "run" / "weights.safetensors").exists()


def test_a_recipe_of_ones_own(command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('model = "um"\ndim = 4\nepochs = 2\n')
    run = tmp_path / "run"
    assert command("train", "nations", "--out", run, "--recipe", tmp_path / "mine.toml", "--model", "um").code == 0
    assert (RunFolder(run).recipe().model, RunFolder(run).recipe().epochs) == ("um", 2)


def test_a_file_of_ones_own_is_split_and_trained(command, tmp_path: Path) -> None:
    rows = [f"film{i % 20},relation{i % 3},person{i % 7}" for i in range(400)]
    (tmp_path / "films.csv").write_text("\n".join(rows) + "\n")
    options = ["--split", "0.8,0.1,0.1", "--set", "validate_every=1"]
    result = command("train", tmp_path / "films.csv", "--out", tmp_path / "run", *SMALL, *options)
    assert result.code == 0 and "no probabilities" not in result.err
    whole = command("train", tmp_path / "films.csv", "--out", tmp_path / "whole", *SMALL)
    assert whole.code == 0 and "no thresholds and no probabilities; --split 0.8,0.1,0.1" in whole.err


@pytest.mark.slow
def test_demo_shows_scores_new_facts_with_reasons_and_a_picture(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("demo")
    assert result.code == 0
    assert "Hits@10" in result.out
    assert "Facts that the graph lacks" in result.out and "prob." in result.out
    assert result.out.count(" is not in the graph, and the model gives it a probability of ") == 5
    assert (tmp_path / "runs" / "demo" / "training.png").read_bytes().startswith(b"\x89PNG")
    again = command("demo", "--json")  # a second time, over the first
    facts = json.loads(again.out)["new_facts"]
    assert len(facts) == len({fact["relation"] for fact in facts}) == 5
    for fact in facts:
        assert not fact["known"] and fact["head"] != fact["tail"] and 0 < fact["probability"] <= 1
        named = f"{fact['head_name']} —{fact['relation_name']}→ {fact['tail_name']}"
        assert fact["why"].startswith(f"{named} is not in the graph")
