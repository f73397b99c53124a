"""Trackers, against the libraries that read what they wrote."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import transa
from transa.errors import InputError, TransaWarning
from transa.training import RunFolder, Stopped, Trainer, recipe_from, tracker

NATIONS = transa.load("nations")
RECIPE = recipe_from(
    {"model": "transe", "dim": 4, "epochs": 4, "learning_rate": 0.01, "validate_every": 2, "validate_sample": 20}
)


def interrupted(folder: Path, where: str) -> list[dict[str, Any]]:
    """Track a run that is stopped after its second epoch and resumed; return its log."""
    first = Trainer(NATIONS, RECIPE, folder=RunFolder(folder), source="nations")
    with pytest.raises(Stopped):
        first.fit([tracker(where), lambda progress: first.stop() if progress.epoch == 1 else None])
    Trainer(NATIONS, RECIPE, folder=RunFolder(folder), source="nations").fit(tracker(where), resume=True)
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty store of MLflow in files."""
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return (tmp_path / "store").as_uri()


def test_mlflow_holds_one_run_with_settings_and_every_epoch(tmp_path: Path, store: str) -> None:
    from mlflow.tracking import MlflowClient

    log = interrupted(tmp_path / "run", f"mlflow:{store}")
    client = MlflowClient(tracking_uri=store)
    experiment = client.get_experiment_by_name("transa")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "run"
    assert run.data.params["learning_rate"] == "0.01"
    assert run.data.params["graph"] == "nations"
    history = sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, "loss"))
    assert history == [(line["epoch"], line["loss"]) for line in log]
    scored = sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, "validation"))
    assert scored == [(line["epoch"], line["validation"]) for line in log if line["validation"] is not None]
    assert run.data.metrics["final_best"] == log[-1]["best"]


def test_mlflow_knows_that_a_run_failed(store: str) -> None:
    from mlflow.tracking import MlflowClient

    def broken(progress: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Trainer(NATIONS, RECIPE).fit([tracker(f"mlflow:{store}"), broken])
    client = MlflowClient(tracking_uri=store)
    (run,) = client.search_runs([client.get_experiment_by_name("transa").experiment_id])
    assert run.info.status == "FAILED"


def test_tensorboard_reads_every_epoch(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = interrupted(tmp_path / "run", "tensorboard")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    losses = [(event.step, event.value) for event in events.Scalars("loss")]
    assert losses == [(line["epoch"], pytest.approx(line["loss"])) for line in log]
    assert [event.step for event in events.Scalars("validation")] == [2, 4]
    assert events.Scalars("final/best")[-1].value == pytest.approx(log[-1]["best"])
    (text,) = (event for event in events.Tensors("settings/text_summary") if event.step == 0)
    assert "learning_rate | 0.01" in text.tensor_proto.string_val[0].decode()


def test_wandb_writes_a_run_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Trainer(NATIONS, RECIPE).fit(tracker("wandb:films"))
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))


def test_json_lines_hold_settings_epochs_and_the_outcome(tmp_path: Path) -> None:
    log = interrupted(tmp_path / "run", f"jsonl:{tmp_path / 'all.jsonl'}")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "end", "start", "epoch", "epoch", "end"]
    assert lines[0]["settings"]["dim"] == 4
    assert [line["outcome"] for line in lines if line["event"] == "end"] == ["stopped", "finished"]
    epochs = [line for line in lines if line["event"] == "epoch"]
    assert [(line["epoch"], line["loss"]) for line in epochs] == [(line["epoch"], line["loss"]) for line in log]
    assert ("validation" in epochs[0], epochs[1]["validation"]) == (False, log[1]["validation"])


def test_training_goes_on_if_a_tracker_fails_later(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    tracking = tracker(f"jsonl:{tmp_path / 'here' / 'all.jsonl'}")

    def gone(progress: Any) -> None:
        if progress.epoch == 1:
            (tmp_path / "here").rename(tmp_path / "there")

    trainer = Trainer(NATIONS, RECIPE)
    with pytest.warns(TransaWarning, match="jsonl no longer works .*; training goes on without it") as told:
        trainer.fit([gone, tracking])
    assert trainer.epoch == 4
    assert len(told) == 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mlfow:x", "track: expected mlflow, tensorboard, wandb, jsonl, found 'mlfow'; did you mean 'mlflow'"),
        ("jsonl", "name a file for jsonl"),
        ("jsonl:missing/all.jsonl", "missing"),
        ("tensorboard", "name a folder for tensorboard"),
    ],
)
def test_what_cannot_be_tracked_is_an_error_before_the_first_epoch(where: str, message: str) -> None:
    trainer = Trainer(NATIONS, RECIPE)
    with pytest.raises(InputError, match=message):
        trainer.fit(tracker(where))
    assert trainer.epoch == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transa.training.trackers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="track: mlflow needs another package: pip install mlflow-skinny"):
        tracker("mlflow")


def test_the_command_tracks_and_refuses_before_it_writes(command: Any, tmp_path: Path) -> None:
    small = ["--model", "transe", "--set", "epochs=2", "--set", "dim=4"]
    place = f"jsonl:{tmp_path / 'all.jsonl'}"
    assert command("train", "nations", "--out", tmp_path / "run", *small, "--track", place).code == 0
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 4
    refused = command("train", "nations", "--out", tmp_path / "other", *small, "--track", "nobody")
    assert (refused.code, "track: expected" in refused.err) == (2, True)
    assert not (tmp_path / "other").exists()
