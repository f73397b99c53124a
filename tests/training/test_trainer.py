"""Runs: what is kept, what is taken up again, when training stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transa
from tests.training.helpers import same_bits
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction, ranking
from transa.training import Options, Progress, RunFolder, Trainer, TrainingError, load_recipe, recipe_from

UMLS = transa.load("umls")


class Interrupted(Exception):  # noqa: N818
    """Stops a run from its callback."""


def small(**values):
    return recipe_from({"model": "transe", "dim": 8, "epochs": 6, "learning_rate": 0.01, **values})


def weights(folder: Path):
    return RunFolder(folder).read_tensors("weights.safetensors")[0]


def test_a_run_folder_holds_all_that_is_needed(tmp_path: Path) -> None:
    recipe = small(validate_every=2, validate_sample=50)
    trainer = Trainer(UMLS, recipe, folder=RunFolder(tmp_path / "run"), source="umls")
    model = trainer.fit()
    run = RunFolder(tmp_path / "run")
    assert run.recipe() == recipe
    assert run.graph() == UMLS
    assert same_bits(run.model().tensors(), model.tensors())
    epochs = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in epochs] == [1, 2, 3, 4, 5, 6]
    assert [row["validation"] is not None for row in epochs] == [False, True] * 3
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 6
    assert run.config()["source"] == "umls"


def test_a_small_validation_needs_no_ranking_kernel_and_has_the_same_score(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(*_: object) -> bool:
        raise AssertionError("kernels were asked for")

    trainer = Trainer(UMLS, small(validate_every=6))
    with monkeypatch.context() as patch:
        patch.setattr(ranking, "has_compiled_ranking", loaded)
        trainer.fit()
    validation = trainer.validation
    assert validation is not None and validation.known is not None
    by_kernels = link_prediction(trainer.model, validation.triples, validation.known)
    assert trainer.best == by_kernels.summary()["both"]["mrr"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"optimizer": "adam", "batch_size": 512},
        {"model": "transa", "metric": "full", "optimizer": "adagrad"},
        {"model": "transa", "metric": "lowrank", "metric_update": "gradient", "optimizer": "adagrad_row"},
        {
            "model": "transa",
            "metric": "full",
            "training_score": "l1",
            "metric_update": "end",
            "metric_scale": "columns",
        },
    ],
)
@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_an_interrupted_run_ends_with_the_same_bits(tmp_path: Path, values: dict[str, object], engine: str) -> None:
    recipe = small(validate_every=2, validate_sample=30, **values)
    options = Options(engine=engine, checkpoint_epochs=2)  # type: ignore[arg-type]
    whole = Trainer(UMLS, recipe, options, RunFolder(tmp_path / "whole"))
    whole.fit()

    def stop(progress: Progress) -> None:
        if progress.epoch == 5:  # one epoch after the checkpoint of epoch 4
            raise Interrupted

    with pytest.raises(Interrupted):
        Trainer(UMLS, recipe, options, RunFolder(tmp_path / "cut")).fit(stop)
    again = Trainer(UMLS, recipe, options, RunFolder(tmp_path / "cut"))
    seen: list[int] = []
    again.fit(lambda progress: seen.append(progress.epoch), resume=True)
    assert seen == [5, 6]
    assert same_bits(weights(tmp_path / "cut"), weights(tmp_path / "whole"))
    lines = (tmp_path / "cut" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert again.best == whole.best


KILLED = """
import sys, transa
from transa.training import Options, RunFolder, Trainer, recipe_from
recipe = recipe_from({"model": "transe", "dim": 8, "epochs": 1000000, "learning_rate": 0.01, "batch_size": 64})
trainer = Trainer(transa.load("umls"), recipe, Options(checkpoint_epochs=1), RunFolder(sys.argv[1]))
trainer.fit(lambda progress: print(progress.epoch, flush=True))
"""


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_a_round_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(run)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 5:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _, notes = RunFolder(run).read_tensors("checkpoint.safetensors")
    done = int(notes["epoch"])
    assert done >= 5
    recipe = small(epochs=1_000_000, batch_size=64)
    options = Options(checkpoint_epochs=1)

    def stop(progress: Progress) -> None:
        if progress.epoch == done + 3:
            raise Interrupted

    resumed = Trainer(UMLS, recipe, options, RunFolder(run))
    with pytest.raises(Interrupted):
        resumed.fit(stop, resume=True)
    straight = Trainer(UMLS, recipe)
    with pytest.raises(Interrupted):
        straight.fit(stop)
    assert same_bits(resumed.model.tensors(), straight.model.tensors())


def test_only_one_process_trains_in_a_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.open(resume=False)
    try:
        pid = os.fork()
        if pid == 0:  # another process
            try:
                RunFolder(tmp_path / "run").open(resume=False)
            except InputError as error:
                os._exit(0 if "another process" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        folder.close()


def test_a_folder_with_a_run_is_not_overwritten_and_resume_needs_the_same_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Trainer(UMLS, small(), folder=RunFolder(folder)).fit()
    before = weights(folder)
    with pytest.raises(InputError, match="--resume"):
        Trainer(UMLS, small(), folder=RunFolder(folder)).fit()
    with pytest.raises(InputError, match="learning_rate"):
        Trainer(UMLS, small(learning_rate=0.5), folder=RunFolder(folder)).fit(resume=True)
    with pytest.raises(InputError, match="graph"):
        Trainer(transa.load("nations"), small(), folder=RunFolder(folder)).fit(resume=True)
    with pytest.raises(InputError, match="no run"):
        Trainer(UMLS, small(), folder=RunFolder(tmp_path / "other")).fit(resume=True)
    assert same_bits(weights(folder), before)


def test_a_run_that_learned_nothing_claims_no_checkpoint_and_leaves_its_folder_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("notes")
    for folder in (tmp_path / "run", tmp_path / "new"):
        broken = small(model="um", learning_rate=1e30, epochs=5)
        with pytest.raises(TrainingError, match="epoch 1") as failed:
            Trainer(UMLS, broken, folder=RunFolder(folder)).fit()
        assert "checkpoint" not in str(failed.value)
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "mine.txt"]
    for folder in (tmp_path / "run", tmp_path / "new"):
        Trainer(UMLS, small(epochs=1), folder=RunFolder(folder)).fit()
        assert (folder / "weights.safetensors").exists()


def test_numbers_that_are_none_stop_the_run_and_keep_the_last_good_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(UMLS, small(epochs=3), Options(checkpoint_epochs=1), RunFolder(tmp_path / "run"))
    check = Trainer._check

    def broken(self: Trainer, number: int, loss: float) -> None:
        check(self, number, float("nan") if number == 3 else loss)

    monkeypatch.setattr(Trainer, "_check", broken)
    with pytest.raises(TrainingError, match=r"epoch 3: .* The checkpoint of epoch 2 is kept in .*run"):
        trainer.fit()
    tensors, _ = RunFolder(tmp_path / "run").read_tensors("checkpoint.safetensors")
    assert all(np.isfinite(table.numpy()).all() for table in tensors.values())
    with pytest.raises(
        InputError, match=r"training has not finished \(the last checkpoint is of epoch 2 of 3\); .*--resume"
    ):
        RunFolder(tmp_path / "run").model()


def test_training_stops_early_and_returns_to_the_best_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.1, 0.5, 0.3, 0.2, 0.9])
    monkeypatch.setattr("transa.training.validation.Validation.score", lambda self, model: next(scores))
    recipe = small(epochs=10, validate_every=1, patience=2)
    trainer = Trainer(UMLS, recipe, folder=RunFolder(tmp_path / "run"))
    trainer.fit()
    assert (trainer.epoch, trainer.best, trainer.best_epoch) == (4, 0.5, 2)
    two_epochs = Trainer(UMLS, small(epochs=2)).fit()
    assert same_bits(trainer.model.tensors(), two_epochs.tensors())


def test_validation_does_not_look_at_the_test_split() -> None:
    recipe = small(validate_every=1)
    other = KnowledgeGraph.from_ids(
        UMLS.train, UMLS.valid, UMLS.test[:1], entities=UMLS.entities, relations=UMLS.relations
    )
    scores = [Trainer(graph, recipe).validation.score(Trainer(graph, recipe).model) for graph in (UMLS, other)]  # type: ignore[union-attr]
    assert scores[0] == scores[1]


def test_validation_by_accuracy_where_there_are_labels() -> None:
    labels = np.where(np.arange(len(UMLS.valid)) % 2, 1, -1)
    graph = KnowledgeGraph.from_ids(
        UMLS.train, UMLS.valid, UMLS.test, entities=UMLS.entities, relations=UMLS.relations, valid_labels=labels
    )
    trainer = Trainer(graph, small(validate_every=3))
    trainer.fit()
    assert trainer.validation is not None
    assert trainer.validation.measure == "accuracy"
    assert 0.5 <= trainer.best <= 1  # type: ignore[operator]


@pytest.mark.parametrize("recipe", ["paper", "authors", "modern"])
@pytest.mark.parametrize("dataset", [None, "umls", "wn18", "fb15k", "wn11", "fb13"])
def test_every_bundled_recipe_is_valid(recipe: str, dataset: str | None) -> None:
    loaded = load_recipe("transa", recipe, dataset)
    assert loaded.model == "transa"
    if recipe == "authors":
        assert loaded.training_score == "l1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rats": 0.1}, "unknown setting 'learning_rats'; did you mean 'learning_rate'"),
        ({"rate": 0.1}, "unknown setting 'rate'; it is called 'learning_rate' now"),
        ({"metric_update": "round"}, "metric_update: 'round' is called 'epoch' now"),
        ({"learning_rate": -1}, "learning_rate: .*-1"),
        ({"epochs": 0}, "epochs: .*0"),
        ({"loss": "hinge"}, "loss: "),
        ({"dim": "many"}, "dim: .*many"),
        ({"model": "transz"}, "did you mean"),
        ({"metric_scale": "lambda"}, "metric_penalty"),
        ({"metric": "lowrank"}, "metric_update"),
        ({"patience": 3}, "patience"),
        ({"margin": float("nan")}, "margin"),
    ],
)
def test_wrong_settings_name_the_field(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe_from(values)


def test_every_setting_is_described() -> None:
    from transa.training import Recipe

    assert all(field.description for field in Recipe.model_fields.values())


def test_the_modern_recipe_learns_umls() -> None:
    from transa.evaluation import link_prediction

    model = Trainer(UMLS, load_recipe("transa", "modern", "umls", {"epochs": 40})).fit()
    scores = link_prediction(model, UMLS.valid, UMLS.known("train", "valid")).summary()["both"]
    assert scores["mrr"] > 0.5
    assert scores["hits@10"] > 0.95
    assert float(model.relation.metric.min()) >= 0
