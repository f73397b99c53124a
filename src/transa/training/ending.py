"""How every training ends: back to the best epoch, the metric of the end, the result on disk, and a summary."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

from transa.training.recipe import Recipe
from transa.training.validation import Validation


class Ending(ABC):
    """What the trainers of one process and of several have in common.

    Attributes
    ----------
    recipe, validation, threads
        How is trained, what is compared, and with how many threads.
    epoch, seconds
        The epochs that are done, and the time they took.
    best, best_epoch
        The best score so far, and its epoch.
    """

    recipe: Recipe
    validation: Validation | None
    threads: int

    def __init__(self) -> None:
        self.epoch = 0
        self.seconds = 0.0
        self.best: float | None = None
        self.best_epoch: int | None = None
        self._asked_to_stop = False

    def stop(self) -> None:
        """Ask `fit` to write a checkpoint after the current epoch and raise `Stopped`. A signal handler may call this."""
        self._asked_to_stop = True

    @abstractmethod
    def checkpoint(self) -> None:
        """Write a checkpoint of the epochs that are done."""

    @abstractmethod
    def _back_to_best(self) -> None:
        """Take the tables of the best epoch."""

    @abstractmethod
    def _update_metric(self, number: int) -> None:
        """Set every W_r to its closed form, with the corruptions of epoch `number`."""

    @abstractmethod
    def _write(self, epoch: int) -> None:
        """Write the tables, which are those of an epoch, and the summary."""

    @abstractmethod
    def _details(self) -> dict[str, Any]:
        """Return what else the summary says: who trained, and how large the model is."""

    def _join(self) -> None:  # noqa: B027
        """Add to the model what is learned after its tables."""

    def _finish(self) -> None:
        """Go back to the best epoch, compute the metric if that happens at the end, and write the result."""
        started = time.perf_counter()
        self.checkpoint()
        if self.best_epoch is not None and self.best_epoch != self.epoch:
            self._back_to_best()
        if self.recipe.has_metric and self.recipe.metric_update == "end":
            self._update_metric(self.best_epoch or self.epoch)
        self._join()
        self.seconds += time.perf_counter() - started
        self._write(self.best_epoch or self.epoch)

    def summary(self) -> dict[str, Any]:
        """Return the outcome of training."""
        best = {"best": self.best, "epoch": self.best_epoch}
        return {
            "epochs": self.epoch,
            "seconds": self.seconds,
            **self._details(),
            "validation": None if self.validation is None else {"measure": self.validation.measure, **best},
        }
