"""Callbacks: when they are told what, and what they can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import transa
from tests.training.helpers import same_bits
from transa.errors import InputError
from transa.training import Callback, EarlyStopping, Options, Progress, RunFolder, Stopped, Trainer, recipe_from

NATIONS = transa.load("nations")


def small(**values: Any) -> Any:
    return recipe_from({"model": "transe", "dim": 4, "epochs": 4, "learning_rate": 0.01, **values})


class Diary(Callback):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def on_start(self, trainer: Trainer) -> None:
        self.told.append(("start", trainer.epoch))

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        self.told.append((progress.epoch, trainer.folder is not None and trainer.folder.holds("weights.safetensors")))

    def on_end(self, trainer: Trainer, error: BaseException | None) -> None:
        written = trainer.folder is not None and trainer.folder.holds("weights.safetensors")
        self.told.append(("end", type(error).__name__ if error else None, written))


def test_callbacks_are_told_of_start_epochs_and_end_and_functions_of_epochs(tmp_path: Path) -> None:
    diary, epochs = Diary(), []
    trainer = Trainer(NATIONS, small(epochs=2), folder=RunFolder(tmp_path / "run"))
    trainer.fit([diary, lambda progress: epochs.append(progress.epoch)])
    assert diary.told == [("start", 0), (1, False), (2, False), ("end", None, True)]
    assert epochs == [1, 2]


def test_an_error_reaches_every_callback_that_has_started(tmp_path: Path) -> None:
    class Breaks(Callback):
        def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
            raise ZeroDivisionError

    first, last = Diary(), Diary()
    with pytest.raises(ZeroDivisionError):
        Trainer(NATIONS, small()).fit([first, Breaks(), last])
    assert first.told == [("start", 0), (1, False), ("end", "ZeroDivisionError", False)]
    assert last.told == [("start", 0), ("end", "ZeroDivisionError", False)]


def test_a_stopped_run_tells_its_callbacks_and_a_resumed_one_where_it_goes_on(tmp_path: Path) -> None:
    diary = Diary()
    trainer = Trainer(NATIONS, small(), folder=RunFolder(tmp_path / "run"))
    with pytest.raises(Stopped):
        trainer.fit([diary, lambda progress: trainer.stop() if progress.epoch == 1 else None])
    assert diary.told[-1] == ("end", "Stopped", False)
    again = Diary()
    Trainer(NATIONS, small(), folder=RunFolder(tmp_path / "run")).fit(again, resume=True)
    assert again.told[0] == ("start", 2) and again.told[-1] == ("end", None, True)


@pytest.mark.parametrize("kept", [False, True])
def test_a_callback_can_end_training_early_and_the_run_stays_finished(tmp_path: Path, kept: bool) -> None:
    class Enough(Callback):
        def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
            if progress.epoch == 2:
                trainer.end_early()

    folder = RunFolder(tmp_path / "run") if kept else None
    trainer = Trainer(NATIONS, small(), folder=folder)
    model = trainer.fit(Enough())
    assert trainer.epoch == 2
    assert same_bits(model.tensors(), Trainer(NATIONS, small(epochs=2)).fit().tensors())
    if folder is not None:
        resumed = Trainer(NATIONS, small(), folder=RunFolder(tmp_path / "run"))
        resumed.fit(resume=True)
        assert resumed.epoch == 2


def test_early_stopping_is_a_callback_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def epochs(callback: Any, **values: Any) -> tuple[int, int | None]:
        scores = iter([0.1, 0.5, 0.5, 0.2, 0.9, 0.9])
        monkeypatch.setattr("transa.training.validation.Validation.score", lambda self, model: next(scores))
        trainer = Trainer(NATIONS, small(epochs=12, validate_every=2, **values))
        trainer.fit(callback)
        return trainer.epoch, trainer.best_epoch

    assert epochs(EarlyStopping(2)) == epochs(None, patience=2) == (8, 4)
    assert epochs(EarlyStopping(3)) == (12, 10)


def test_early_stopping_counts_on_after_a_resumption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.5, 0.4, 0.3, 0.2, 0.1])
    monkeypatch.setattr("transa.training.validation.Validation.score", lambda self, model: next(scores))
    recipe = small(epochs=9, validate_every=1, patience=3)
    first = Trainer(NATIONS, recipe, folder=RunFolder(tmp_path / "run"))
    with pytest.raises(Stopped):
        first.fit(lambda progress: first.stop() if progress.epoch == 1 else None)
    assert first.epoch == 2
    second = Trainer(NATIONS, recipe, folder=RunFolder(tmp_path / "run"))
    second.fit(resume=True)
    assert (second.epoch, second.best_epoch) == (4, 1)


def test_a_callback_can_ask_for_a_checkpoint(tmp_path: Path) -> None:
    class Careful(Callback):
        def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
            trainer.checkpoint()
            if progress.epoch == 3:
                raise ZeroDivisionError

    options = Options(checkpoint_minutes=1000)
    with pytest.raises(ZeroDivisionError):
        Trainer(NATIONS, small(), options, RunFolder(tmp_path / "run")).fit(Careful())
    resumed = Trainer(NATIONS, small(), options, RunFolder(tmp_path / "run"))
    seen: list[int] = []
    model = resumed.fit(lambda progress: seen.append(progress.epoch), resume=True)
    assert seen == [4]
    assert same_bits(model.tensors(), Trainer(NATIONS, small()).fit().tensors())


def test_what_is_no_callback_is_refused() -> None:
    with pytest.raises(InputError, match=r"callback: expected a transa\.Callback or a function, found int"):
        transa.TransE(4, epochs=1).fit(NATIONS, callback=[3])  # type: ignore[list-item]
