"""The training loop of several workers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.kernels.threads import set_threads
from transa.models import Model
from transa.models.loop_prior import loop_free_relations
from transa.training.ending import Ending
from transa.training.progress import Options, Progress, Stopped, TrainingError
from transa.training.recipe import Recipe
from transa.training.run import RunFolder
from transa.training.sharded import checkpoints
from transa.training.sharded.closed_form import update_metric
from transa.training.sharded.engine import ShardedEngine
from transa.training.sharded.launching import remember_start
from transa.training.sharded.ranking import ShardedRanker
from transa.training.sharded.requirements import check_sharded
from transa.training.sharded.workers import Workers
from transa.training.validation import Validation


class ShardedTrainer(Ending):
    """Trains a model of which each worker holds a part; every worker makes one, and calls it alike.

    Parameters
    ----------
    graph, recipe, options
        What to train on, and how; the same for all workers.
    folder
        The run folder, which all workers see.
    source
        Where the graph was loaded from, for the configuration.
    """

    def __init__(
        self, graph: KnowledgeGraph, recipe: Recipe, options: Options, folder: RunFolder, source: str | None = None
    ) -> None:
        super().__init__()
        if not len(graph.train):
            raise InputError("the graph has no training triples")
        check_sharded(graph, recipe, options)
        self.graph = graph
        self.recipe = recipe
        self.options = options
        self.folder = folder
        self.source = source
        self.threads = set_threads(options.threads)
        self.workers = Workers(recipe.lanes, options.device)
        self.model: Model = recipe.build_model(len(graph.entities), len(graph.relations))
        self.engine = self._engine()
        if recipe.loop_limit:
            self.model.loop_free = loop_free_relations(graph.train, len(graph.relations), recipe.loop_limit)
        self.validation = Validation.of(graph, recipe)
        self._worse = 0
        self._stopped = False

    def _engine(self) -> Any:
        options = self.options
        by_torch = options.engine == "torch" or options.device != "cpu"
        device = options.device if by_torch else None
        return ShardedEngine(self.model, self.graph, self.recipe, self.workers, device)

    def _keep(self, kind: checkpoints.Kind, **notes: Any) -> None:
        """Write the rows, those of a checkpoint with the state of the optimiser; see `checkpoints.write`."""
        checkpoints.write(self.folder, kind, self.engine, **notes)

    def _take(self, kind: checkpoints.Kind) -> dict[str, Any]:
        """Read the rows back, and return the notes."""
        return checkpoints.read(self.folder, kind, self.engine)

    def fit(self, callback: Callable[[Progress], None] | None = None, *, resume: bool = False) -> None:
        """Train to the end.

        Parameters
        ----------
        callback
            Called after each epoch.
        resume
            Go on from the checkpoint in the folder, or from the start if there is none yet.

        Raises
        ------
        Stopped
            If `stop` was called on any worker before the last epoch.
        """
        self._on_the_first(lambda: self.folder.open(resume=resume))
        remember_start()
        try:
            self._on_the_first(lambda: self._prepare(resume))
            if self.workers.any(self.workers.is_first and self.folder.holds("checkpoint.json")):
                self._resume()
            else:
                self.engine.start()
                self.checkpoint()
            self._fit(callback)
        finally:
            if self.workers.is_first:
                self.folder.close()

    def _on_the_first(self, action: Callable[[], None]) -> None:
        """Let the first worker do something; if it fails, all fail alike."""
        error: str | None = None
        if self.workers.is_first:
            try:
                action()
            except InputError as found:
                error = str(found)
        error = self.workers.tell(error)
        if error is not None:
            raise InputError(error)

    def _prepare(self, resume: bool) -> None:
        """Write what a new run begins with, or check that it is the same run."""
        if resume and self.folder.holds("config.json"):
            self.folder.check_same(self.graph, self.recipe, self.engine.name)
        else:
            self.folder.write_start(
                self.graph, self.recipe, source=self.source, engine=self.engine.name, warm_start=None
            )

    def _fit(self, callback: Callable[[Progress], None] | None) -> None:
        last_epoch, last_time = self.epoch, time.monotonic()
        while self.epoch < self.recipe.epochs and not self._stopped:
            progress = self._one_epoch()
            asked_to_stop = self.workers.any(self._asked_to_stop)
            late = time.monotonic() - last_time > 60 * self.options.checkpoint_minutes
            due = (
                self.options.checkpoint_epochs is not None and self.epoch - last_epoch >= self.options.checkpoint_epochs
            )
            if self.workers.is_first:
                self.folder.log(asdict(progress))
            if self.workers.any(late and self.workers.is_first) or asked_to_stop or due:
                self.checkpoint()
                last_epoch, last_time = self.epoch, time.monotonic()
            if callback is not None:
                callback(progress)
            if asked_to_stop and self.epoch < self.recipe.epochs and not self._stopped:
                raise Stopped(f"stopped after epoch {self.epoch:,} of {self.recipe.epochs:,}")
        self._finish()

    def _one_epoch(self) -> Progress:
        started, number, recipe = time.perf_counter(), self.epoch + 1, self.recipe
        report = self.engine.train_epoch(number)
        pace = len(self.graph.train) / (time.perf_counter() - started)
        if recipe.has_metric and recipe.metric_update == "epoch" and number % recipe.metric_every == 0:
            self._update_metric(number)
        if self.workers.any(not self.engine.is_finite) or not math.isfinite(report.loss):
            raise TrainingError(
                f"epoch {number}: a table holds, or the loss is, NaN or infinite (loss {report.loss}). "
                "Try a smaller learning rate, a norm constraint or root=true."
            )
        self.epoch = number
        score = None
        if self.validation is not None and (number % recipe.validate_every == 0 or number == recipe.epochs):
            score = self.validation.score(ShardedRanker(self.engine))
            self._compare(score)
        self.seconds += time.perf_counter() - started
        return Progress(
            number, recipe.epochs, report.loss, report.violations, self.seconds, pace, score, self.best, self.best_epoch
        )

    def _compare(self, score: float) -> None:
        if self.best is None or score > self.best:
            self.best, self.best_epoch, self._worse = score, self.epoch, 0
            self._keep("best", epoch=self.epoch, score=score)
        else:
            self._worse += 1
            self._stopped = bool(self.recipe.patience) and self._worse >= self.recipe.patience

    def checkpoint(self) -> None:
        """Write a checkpoint of the epochs that are done; all workers call this."""
        notes = {"epoch": self.epoch, "seconds": self.seconds, "best": self.best, "best_epoch": self.best_epoch}
        self._keep("checkpoint", **notes, worse=self._worse, stopped=self._stopped)

    def _resume(self) -> None:
        notes = self._take("checkpoint")
        try:
            self.epoch, self.seconds = int(notes["epoch"]), float(notes["seconds"])
            self._worse, self._stopped = int(notes["worse"]), bool(notes["stopped"])
            if notes["best"] is not None:
                self.best, self.best_epoch = float(notes["best"]), int(notes["best_epoch"])
            if not 0 <= (self.best_epoch or 0) <= self.epoch <= self.recipe.epochs:
                raise ValueError(f"epoch {self.epoch}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"cannot be resumed ({error})", path=self.folder.path) from None
        self._on_the_first(lambda: self.folder.cut_log(self.epoch))

    def _back_to_best(self) -> None:
        self._take("best")

    def _update_metric(self, number: int) -> None:
        update_metric(self.engine, number)

    def _write(self, epoch: int) -> None:
        self._keep("weights", epoch=epoch)
        if self.workers.is_first:
            self.folder.write_json("metrics.json", self.summary())

    def _details(self) -> dict[str, Any]:
        return {
            "engine": self.engine.name,
            "workers": self.workers.count,
            "threads": self.threads,
            "parameters": sum(map(math.prod, self.model.shapes().values())),
        }
