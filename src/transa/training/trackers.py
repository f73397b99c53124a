"""Trackers: callbacks that send settings and figures of a run to MLflow, TensorBoard, Weights & Biases or a file of JSON lines.

What does not work when training starts is an error. What fails later, such as a server that is gone,
ends the tracking with a warning, and training goes on. A resumed run goes on in the place where it was tracked before: that place is
kept in the run folder as ``tracking.json``.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from transa.errors import InputError, TransaWarning, quote, suggest
from transa.storage import writing
from transa.training.callbacks import Callback
from transa.training.progress import Progress, Stopped

if TYPE_CHECKING:
    from transa.training.trainer import Trainer

#: Where the run folder keeps under which name each tracker knows the run.
FILE = "tracking.json"

Outcome = Literal["finished", "stopped", "failed"]


class Tracker(Callback):
    """What trackers share. A subclass says how a run begins, takes figures and ends.

    Parameters
    ----------
    where
        A URI, a folder, a project or a file, as the tracker needs it; None for its default.
    """

    #: The word before the colon in ``--track``.
    kind: ClassVar[str]
    #: The module it needs, and what to install for it.
    module: ClassVar[str | None] = None
    package: ClassVar[str] = ""

    def __init__(self, where: str | None = None) -> None:
        self.where = where
        self._works = False

    def begin(self, trainer: Trainer, settings: dict[str, Any], known_as: str | None) -> str | None:
        """Open the tracker and send the settings; return under which name it knows the run.

        `known_as` is that name if the run is resumed and was tracked before.
        """
        raise NotImplementedError

    def send(self, epoch: int, figures: dict[str, float]) -> None:
        """Send the figures of an epoch."""
        raise NotImplementedError

    def finish(self, outcome: Outcome, summary: dict[str, float]) -> None:
        """Send the figures of the whole run and close the tracker."""
        raise NotImplementedError

    def on_start(self, trainer: Trainer) -> None:
        """Open the tracker."""
        folder = trainer.folder
        kept = folder.read_json(FILE) if folder is not None and trainer.epoch and folder.holds(FILE) else {}
        key = self.kind if self.where is None else f"{self.kind}:{self.where}"
        found = kept.get(key)
        try:
            name = self.begin(trainer, settings_of(trainer), found if isinstance(found, str) else None)
        except InputError:
            raise
        except Exception as error:  # whatever a library raises
            raise InputError(f"track: {self.kind} cannot be used ({error})") from None
        self._works = True
        if folder is not None and name is not None:
            folder.write_json(FILE, {**kept, key: name})

    def on_epoch_end(self, trainer: Trainer, progress: Progress) -> None:
        """Send what is known of the epoch."""
        known = asdict(progress)
        figures = {name: known[name] for name in ("loss", "violations", "validation", "triples_per_second", "seconds")}
        self._try(self.send, progress.epoch, {name: value for name, value in figures.items() if value is not None})

    def on_end(self, trainer: Trainer, error: BaseException | None) -> None:
        """Send the outcome and close the tracker."""
        outcome = "finished" if error is None else "stopped" if isinstance(error, Stopped) else "failed"
        figures = {"epochs": trainer.epoch, "seconds": trainer.seconds, "parameters": trainer.model.parameters}
        if trainer.best is not None and trainer.best_epoch is not None:
            figures |= {"best": trainer.best, "best_epoch": trainer.best_epoch}
        self._try(self.finish, outcome, figures)

    def _try(self, action: Any, *arguments: Any) -> None:
        if not self._works:
            return
        try:
            action(*arguments)
        except Exception as error:  # a tracker must not end hours of training
            self._works = False
            message = f"track: {self.kind} no longer works ({error}); training goes on without it"
            warnings.warn(message, TransaWarning, stacklevel=2)


class MLflow(Tracker):
    """Sends runs to an MLflow server or store; the experiment is that of ``MLFLOW_EXPERIMENT_NAME``, or ``transa``."""

    kind = module = "mlflow"
    package = "mlflow-skinny"

    def begin(self, trainer: Trainer, settings: dict[str, Any], known_as: str | None) -> str:
        """Start a run, or go on with one."""
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        self.client = MlflowClient(tracking_uri=self.where)
        if known_as is None:
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "transa")
            found = self.client.get_experiment_by_name(name)
            experiment = self.client.create_experiment(name) if found is None else found.experiment_id
            called = None if trainer.folder is None else trainer.folder.path.name
            self.run: str = self.client.create_run(experiment, run_name=called).info.run_id
            self.client.log_batch(self.run, params=[Param(field, str(value)) for field, value in settings.items()])
        else:
            self.run = known_as
            self.client.update_run(self.run, status="RUNNING")
        return self.run

    def send(self, epoch: int, figures: dict[str, float]) -> None:
        """Log metrics of a step."""
        import time

        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self.client.log_batch(self.run, metrics=[Metric(name, value, now, epoch) for name, value in figures.items()])

    def finish(self, outcome: Outcome, summary: dict[str, float]) -> None:
        """Log the summary and set the status of the run."""
        self.send(int(summary["epochs"]), {f"final_{name}": value for name, value in summary.items()})
        status = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}[outcome]
        self.client.set_terminated(self.run, status=status)


class TensorBoard(Tracker):
    """Writes event files to a folder, by default ``tensorboard`` in the run folder."""

    kind = module = package = "tensorboard"

    def begin(self, trainer: Trainer, settings: dict[str, Any], known_as: str | None) -> str:
        """Open an event file; steps after the checkpoint that is resumed from are hidden."""
        from torch.utils.tensorboard import SummaryWriter

        if self.where is None and trainer.folder is None:
            raise InputError("track: name a folder for tensorboard (tensorboard:FOLDER)")
        folder = str(trainer.folder.path / "tensorboard") if trainer.folder and not self.where else str(self.where)
        self.writer = SummaryWriter(folder, purge_step=trainer.epoch + 1 if trainer.epoch else None)
        rows = "\n".join(f"| {name} | {value} |" for name, value in settings.items())
        self.writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}", trainer.epoch)
        return folder

    def send(self, epoch: int, figures: dict[str, float]) -> None:
        """Write scalars."""
        for name, value in figures.items():
            self.writer.add_scalar(name, value, epoch)

    def finish(self, outcome: Outcome, summary: dict[str, float]) -> None:
        """Write the summary and close the file."""
        self.send(int(summary["epochs"]), {f"final/{name}": value for name, value in summary.items()})
        self.writer.close()


class WeightsAndBiases(Tracker):
    """Writes a run of Weights & Biases to the folder ``wandb``; nothing is sent unless ``WANDB_MODE`` is set to ``online``."""

    kind = module = package = "wandb"

    def begin(self, trainer: Trainer, settings: dict[str, Any], known_as: str | None) -> str:
        """Start a run, or go on with one."""
        import wandb

        self.run = wandb.init(
            project=self.where or "transa",
            name=None if trainer.folder is None else trainer.folder.path.name,
            config=settings,
            id=known_as,
            resume=None if known_as is None else "allow",
            mode="online" if os.environ.get("WANDB_MODE") == "online" else "offline",
        )
        return str(self.run.id)

    def send(self, epoch: int, figures: dict[str, float]) -> None:
        """Log figures of a step."""
        self.run.log(figures, step=epoch)

    def finish(self, outcome: Outcome, summary: dict[str, float]) -> None:
        """Write the summary and close the run."""
        self.run.summary.update(summary)
        self.run.finish(exit_code=0 if outcome == "finished" else 1)


class JsonLines(Tracker):
    """Appends to a file: a line with the settings when training starts or goes on, one for each epoch, one at the end."""

    kind = "jsonl"

    def begin(self, trainer: Trainer, settings: dict[str, Any], known_as: str | None) -> None:
        """Write the settings."""
        if self.where is None:
            raise InputError("track: name a file for jsonl (jsonl:FILE)")
        self._write({"event": "start", "epoch": trainer.epoch, "settings": settings})

    def send(self, epoch: int, figures: dict[str, float]) -> None:
        """Write the figures of an epoch."""
        self._write({"event": "epoch", "epoch": epoch, **figures})

    def finish(self, outcome: Outcome, summary: dict[str, float]) -> None:
        """Write the summary."""
        self._write({"event": "end", "outcome": outcome, **summary})

    def _write(self, entry: dict[str, Any]) -> None:
        path, line = Path(str(self.where)), (json.dumps(entry) + "\n").encode()
        with writing(path, len(line)), path.open("ab") as file:
            file.write(line)


TRACKERS: dict[str, type[Tracker]] = {each.kind: each for each in (MLflow, TensorBoard, WeightsAndBiases, JsonLines)}


def tracker(text: str) -> Tracker:
    """Return the tracker of a text such as ``mlflow:http://localhost:5000``, ``tensorboard`` or ``jsonl:epochs.jsonl``.

    Raises
    ------
    InputError
        If there is no such tracker, or what it needs is not installed.
    """
    kind, _, where = text.partition(":")
    if kind not in TRACKERS:
        known = f"expected {', '.join(TRACKERS)}"
        raise InputError(f"track: {known}, found {quote(kind)}{suggest(kind, TRACKERS)}")
    chosen = TRACKERS[kind]
    if chosen.module is not None and find_spec(chosen.module) is None:
        raise InputError(f"track: {kind} needs another package: pip install {chosen.package}")
    return chosen(where or None)


def settings_of(trainer: Trainer) -> dict[str, Any]:
    """Return what a tracker is told at the start: the recipe, without what is not set, and what it is applied to."""
    about = {"graph": trainer.source or trainer.graph.name, "engine": trainer.engine.name, "threads": trainer.threads}
    return {name: value for name, value in (about | trainer.recipe.model_dump()).items() if value is not None}
