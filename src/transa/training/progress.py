"""What training is told beside its recipe, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass

from transa.errors import TransaError
from transa.training.engine import EngineName


class TrainingError(TransaError):
    """Training that failed: the loss or a parameter is NaN or infinite."""


class Stopped(TransaError):  # noqa: N818
    """Training that was asked to stop; it goes on from the checkpoint of the epoch it had come to."""


@dataclass(frozen=True)
class Progress:
    """What is known after an epoch.

    Attributes
    ----------
    epoch, epochs
        The number of the epoch, and how many there are to be.
    loss, violations
        Mean loss of a positive, and the share of pairs that violate.
    seconds
        Spent on training so far, validation and metric included.
    triples_per_second
        Positives of this epoch over its time.
    validation
        The score of the epoch, where it was validated.
    best, best_epoch
        The best score so far and its epoch.
    """

    epoch: int
    epochs: int
    loss: float
    violations: float
    seconds: float
    triples_per_second: float
    validation: float | None = None
    best: float | None = None
    best_epoch: int | None = None


@dataclass(frozen=True)
class Options:
    """How to run a recipe on this machine; none of it but `lock_free` and the engine changes the result.

    Attributes
    ----------
    engine, device, lock_free
        See `transa.training.engine.choose_engine`.
    threads
        By default all processors.
    checkpoint_epochs, checkpoint_minutes
        A checkpoint is written when either has passed since the last.
    """

    engine: EngineName = "auto"
    device: str = "cpu"
    threads: int | None = None
    lock_free: bool = False
    checkpoint_epochs: int | None = None
    checkpoint_minutes: float = 5.0
