"""Options for training on this machine, and what training reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from transa.devices import check_device
from transa.errors import InputError, TransaError
from transa.training.engine import EngineName


class TrainingError(TransaError):
    """Training failed: the loss or a parameter is NaN or infinite."""


class Stopped(TransaError):  # noqa: N818
    """Training stopped on request; it can be resumed from the checkpoint of its last epoch."""


@dataclass(frozen=True)
class Progress:
    """The state of training after an epoch.

    Attributes
    ----------
    epoch, epochs
        The number of the epoch, and how many there are.
    loss, violations
        Mean loss over the positives, and the share of (positive, negative) pairs that violate the margin,
        None where they are not counted.
    seconds
        Time spent so far, including validation and updates of the metric.
    triples_per_second
        Positives of this epoch per second.
    validation
        The validation score of this epoch, if it was validated.
    best, best_epoch
        The best validation score so far, and its epoch.
    """

    epoch: int
    epochs: int
    loss: float
    violations: float | None
    seconds: float
    triples_per_second: float
    validation: float | None = None
    best: float | None = None
    best_epoch: int | None = None


@dataclass(frozen=True)
class Options:
    """How to train on this machine. Only the engine and `lock_free` can change the result.

    Attributes
    ----------
    engine
        ``"numba"`` (compiled kernels), ``"torch"``, or ``"auto"``: compiled kernels if they can train the model, otherwise torch.
    device
        The device of the torch engine, such as ``"cuda"``.
    threads
        Number of threads; by default one for each processor.
    lock_free
        Train faster with several threads; two runs with the same seed then differ.
    checkpoint_epochs, checkpoint_minutes
        Write a checkpoint when this many epochs or minutes have passed since the last one.
    ignore_memory
        Train even if less memory is free than training is expected to need.
    """

    engine: EngineName = "auto"
    device: str = "cpu"
    threads: int | None = None
    lock_free: bool = False
    checkpoint_epochs: int | None = None
    checkpoint_minutes: float = 5.0
    ignore_memory: bool = False

    def check(self) -> None:
        """Raise an `InputError` if there is no such engine, or torch cannot use the device."""
        if self.engine not in get_args(EngineName):
            raise InputError(f"engine: expected one of {', '.join(get_args(EngineName))}, found {self.engine!r:.100}")
        check_device(self.device)
