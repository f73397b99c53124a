"""The bodies that show runs: sizes, training, figures, and whether they can be asked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from transa.server.schemas.common import Got


class RunGot(Got):
    """A run."""

    run: str
    model: str
    label: str
    dim: int
    entities: int
    relations: int
    train: int
    valid: int
    test: int
    probabilities: bool
    metric: bool
    vectors: bool
    types: bool


class RunsGot(Got):
    """All runs."""

    version: str
    runs: list[RunGot]


class Epoch(Got):
    """A line of the training log."""

    epoch: int
    loss: float
    validation: float | None


class FiguresGot(RunGot):
    """A run with its settings and its training."""

    recipe: dict[str, Any]
    training: dict[str, Any] | None
    curve: list[Epoch]


class EvaluationGot(BaseModel):
    """What `transa evaluate --no-rules --json` or `transa classify --json` prints, without the time it took."""

    run: str


class Health(Got):
    """Whether the server runs."""

    status: Literal["ok"]


class Ready(Got):
    """Whether every run can be asked."""

    ready: bool
    runs: dict[str, bool]
