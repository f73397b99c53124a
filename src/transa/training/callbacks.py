"""Callbacks are told how training goes on, and may end it. Early stopping, the log and the checkpoints are callbacks themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from transa.errors import InputError
from transa.training.progress import Progress

if TYPE_CHECKING:
    from transa.training.trainer import Trainer


class Callback:
    """Is told of the start, the epochs and the end of training. Write a subclass with the methods you need.

    Callbacks see the trainer as it is: its `model`, `graph`, `recipe`, `folder` and `summary`. They should change none of these, but
    they may call `trainer.end_early` or `trainer.checkpoint`.

    Examples
    --------
    >>> import transa
    >>> class Losses(transa.Callback):
    ...     def __init__(self):
    ...         self.seen = []
    ...
    ...     def on_epoch_end(self, trainer, progress):
    ...         self.seen.append(progress.loss)
    ...         if progress.loss < 0.1:
    ...             trainer.end_early()
    >>> losses = Losses()
    >>> model = transa.TransE(dim=4, epochs=3).fit(transa.load("nations"), callback=losses)
    >>> len(losses.seen)
    3
    """

    def on_start(self, trainer: Trainer) -> None:
        """Before the first epoch, or the first one after a checkpoint; `trainer.epoch` is how many are done."""

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """After each epoch, its validation and its checkpoint."""

    def on_end(self, trainer: Trainer, error: BaseException | None) -> None:
        """When training is over: the result has been written, or `error` has ended it."""


#: What `fit` takes: a callback, or a function that it calls with the `Progress` after each epoch.
Listener = Callback | Callable[[Progress], None]


class EarlyStopping(Callback):
    """Ends training when the validation score has not risen for some validations.

    Parameters
    ----------
    patience
        For how many.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Count the validations since the best one."""
        if progress.validation is not None and progress.best_epoch is not None:
            since = (progress.epoch - progress.best_epoch) // trainer.recipe.validate_every
            if since >= self.patience:
                trainer.end_early()


class EpochLog(Callback):
    """Adds a line to the log of the run folder."""

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Write what is known of the epoch."""
        if trainer.folder is not None:
            trainer.folder.log(asdict(progress))


class Checkpoints(Callback):
    """Writes a checkpoint now and then, and before training stops on request.

    Parameters
    ----------
    epochs, minutes
        Write one when this many epochs or minutes have passed since the last.
    """

    def __init__(self, epochs: int | None, minutes: float) -> None:
        self.epochs = epochs
        self.minutes = minutes

    def on_start(self, trainer: Trainer) -> None:
        """Begin to count."""
        self._epoch, self._time = trainer.epoch, time.monotonic()

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Write a checkpoint if it is time."""
        late = time.monotonic() - self._time > 60 * self.minutes
        if late or trainer.stopping or (self.epochs is not None and progress.epoch - self._epoch >= self.epochs):
            trainer.checkpoint()
            self._epoch, self._time = progress.epoch, time.monotonic()


class _Function(Callback):
    def __init__(self, function: Callable[[Progress], None]) -> None:
        self.function = function

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        self.function(progress)


def callbacks_of(given: Listener | Iterable[Listener] | None) -> list[Callback]:
    """Return one or several callbacks or functions as a list of callbacks.

    Raises
    ------
    InputError
        If something is neither.
    """
    if given is None:
        return []
    if isinstance(given, Callback):
        return [given]
    if callable(given):
        return [_Function(given)]
    if isinstance(given, Iterable) and not isinstance(given, str):
        return [one for each in given for one in callbacks_of(each)]
    raise InputError(f"callback: expected a transa.Callback or a function, found {type(given).__name__}")
