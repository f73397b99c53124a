"""`transa train` with several workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.helpers import same_bits
from transa.cli.sharing import as_worker, resuming
from transa.evaluation import ranking
from transa.training import RunFolder

SMALL = ["--model", "transe", "--recipe", "modern", "--set", "epochs=3", "--set", "dim=8", "--set", "validate_every=2"]


@pytest.mark.slow
def test_workers_that_a_command_starts_train_the_same_as_one(command, tmp_path: Path) -> None:
    alone = command("train", "nations", *SMALL, "--sharded", "--out", tmp_path / "alone")
    assert alone.code == 0, alone.err
    words = ["train", "nations", *SMALL, "--workers", "2", "--out", str(tmp_path / "two")]
    started = [sys.executable, "-m", "transa", *words]
    subprocess.run(started, check=True, capture_output=True, timeout=300)
    one, two = (RunFolder(tmp_path / name) for name in ("alone", "two"))
    assert same_bits(one.model().tensors(), two.model().tensors())
    assert one.curve() == two.curve()
    assert two.read_json("metrics.json")["workers"] == 2
    assert command("evaluate", tmp_path / "two", "--no-rules").code == 0
    asked = ["predict", str(tmp_path / "two"), "--head", "usa", "--relation", "embassy", "--json"]
    started = [sys.executable, "-m", "transa", *asked, "--workers", "2"]
    together = subprocess.run(started, check=True, capture_output=True, timeout=300)
    assert json.loads(together.stdout) == json.loads(command(*asked).out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*SMALL, "--workers", "3"], "3 do not divide the 8 lanes"),
        (["--model", "transa", "--recipe", "softmax", "--workers", "2"], "the softmax over all entities"),
        (["--model", "transr", "--recipe", "modern", "--workers", "2"], "tables other than vectors and metrics"),
        ([*SMALL, "--workers", "2", "--set", "smoothness=laplacian"], "smoothness='laplacian' is not available"),
        ([*SMALL, "--workers", "2", "--lock-free"], "without lock_free"),
        ([*SMALL, "--workers", "2", "--device", "nowhere"], "a device that torch can use here"),
        (["--model", "transa", "--recipe", "paper", "--workers", "2", "--engine", "torch"], "full metrics"),
        (["--model", "transa", "--workers", "2"], "need a recipe by its name"),
        ([*SMALL, "--sharded", "--set", "lanes=1000"], "lanes: 1,000 are more than the 14 entities"),
    ],
)
def test_what_workers_cannot_do_is_said_before_they_start(
    command, tmp_path: Path, options: list[str], message: str
) -> None:
    result = command("train", "nations", *options, "--out", tmp_path / "run")
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_run_of_workers_is_resumed_by_workers(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", "nations", *SMALL, "--sharded", "--out", run).code == 0
    again = command("train", "nations", *SMALL, "--sharded", "--out", run)
    assert again.code == 2
    assert "--resume" in again.err
    assert "started with the engine 'sharded'" in command("train", "nations", *SMALL, "--out", run, "--resume").err
    assert command("train", "nations", "--sharded", "--out", run, "--resume").code == 0


def test_torchrun_goes_on_with_a_run_of_its_own_and_no_other(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torchrun starts workers again after any error: also after the one that says that the folder is taken."""
    run, other = tmp_path / "run", tmp_path / "other"
    assert command("train", "nations", *SMALL, "--sharded", "--out", other).code == 0
    (tmp_path / "agent" / "attempt_1" / "0").mkdir(parents=True)
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "agent" / "attempt_1" / "0" / "error.json"))
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    taken = command("train", "nations", *SMALL, "--sharded", "--out", other)
    assert taken.code == 2
    assert "holds a run already" in taken.err
    assert command("train", "nations", *SMALL, "--sharded", "--out", run).code == 0
    assert command("train", "nations", *SMALL, "--sharded", "--out", run).code == 0


def test_damaged_slices_are_named(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", "nations", *SMALL, "--sharded", "--out", run).code == 0
    slices = sorted(run.glob("weights.?/*.safetensors"))
    slices[0].write_bytes(slices[0].read_bytes()[:-4])
    found = command("evaluate", run, "--no-rules")
    assert found.code == 2
    assert slices[0].name in found.err
    slices[0].unlink()
    found = command("evaluate", run, "--no-rules")
    assert found.code == 2
    assert "is missing" in found.err


def test_commands_of_workers_and_for_going_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_worker(["train", "g", "--workers", "2", "--out", "r"]) == ["train", "g", "--out", "r", "--sharded"]
    assert as_worker(["train", "g", "--workers=2"]) == ["train", "g", "--sharded"]
    assert resuming(["train", "g", "--sharded"]) == "torchrun … -m transa train g --sharded --resume"
    monkeypatch.setenv("TRANSA_WORKERS", "2")
    assert resuming(["train", "g", "--sharded", "--resume"]) == "transa train g --workers 2 --resume"


def test_workers_evaluate_as_one_process_does(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", "nations", *SMALL, "--set", "loop_limit=0.01", "--sharded", "--out", run).code == 0
    for options in ([], ["--no-loop-prior", "--split", "valid", "--limit", "50"]):
        alone, together = (
            json.loads(command("evaluate", run, "--no-rules", "--json", *options, *more).out)
            for more in ([], ["--sharded"])
        )
        different = {name for name in alone if alone[name] != together[name]}
        assert different <= {"seconds", "rescored"}
    assert command("train", "nations", *SMALL, "--out", tmp_path / "alone").code == 0
    refused = command("evaluate", tmp_path / "alone", "--sharded")
    assert refused.code == 2
    assert "trained by one process" in refused.err


@pytest.mark.parametrize("settings", [["--model", "transe"], ["--model", "transa", "--set", "metric=lowrank"]])
def test_workers_predict_as_one_process_does(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str]
) -> None:
    """The same text, and the same probabilities, learned anew."""
    monkeypatch.setattr(ranking, "SMALL", 0)  # one process answers by kernels, also a few questions to a small model
    run, questions = tmp_path / "run", tmp_path / "questions.csv"
    how = [*settings, "--recipe", "modern", "--set", "epochs=3", "--set", "dim=8", "--set", "loop_limit=0.01"]
    assert command("train", "nations", *how, "--sharded", "--out", run).code == 0
    rows = ["usa,embassy,", ",ngo,china", "usa,,uk", "china,treaties,", ",embassy,usa"]
    questions.write_text("\n".join(["head,relation,tail", *rows]))
    for options in ([], ["--new-only", "--in-range"], ["--no-loop-prior", "--top", "3"]):
        found = []
        for more in ([], ["--sharded"]):
            (run / "calibration.json").unlink(missing_ok=True)  # both learn probabilities
            result = command("predict", run, "--queries", questions, "--json", *options, *more)
            assert result.code == 0, result.err
            found.append((result.out, (run / "calibration.json").exists() and (run / "calibration.json").read_text()))
        assert found[0] == found[1]


def test_what_workers_cannot_answer_is_said_before_they_start(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", "nations", *SMALL, "--sharded", "--out", run).code == 0
    asked = ("predict", run, "--relation", "embassy", "--workers")
    for words, message in (
        ((*asked, "2", "--head", "atlantis"), "atlantis"),
        ((*asked, "3", "--head", "usa"), "3 do not divide the 8 lanes"),
    ):
        refused = command(*words)
        assert refused.code == 2
        assert message in refused.err


def test_a_plan_says_what_training_takes_and_trains_nothing(command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    wanted = ["train", "nations", *SMALL, "--out", run, "--workers", "2", "--plan"]
    assert "2 x 350 MB" in command(*wanted).out
    found = json.loads(command(*wanted, "--json").out)
    assert found["bytes_in_all"] == 2 * found["bytes_of_a_worker"]
    assert found["bytes_sent_by_a_worker_in_an_epoch"] > 0
    assert not run.exists()
