"""The training loop: epochs, updates of the metric, validation, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.data.types import relation_groups
from transa.errors import InputError
from transa.kernels.threads import set_threads
from transa.memory import check_memory
from transa.models import Model
from transa.training.callbacks import Callback, Checkpoints, EarlyStopping, EpochLog, Listener, callbacks_of
from transa.training.ending import Ending
from transa.training.engine import Engine, choose_engine, training_graph, training_model
from transa.training.metric import update_metric
from transa.training.progress import Options, Progress, Stopped, TrainingError
from transa.training.recipe import Recipe
from transa.training.run import RunFolder
from transa.training.settings import table_settings
from transa.training.smoothness import Smoothness
from transa.training.starting import start_model
from transa.training.state import plain, put_in_place
from transa.training.validation import Validation


class Trainer(Ending):
    """Trains a model on a graph by a recipe.

    Parameters
    ----------
    graph, recipe, options
        What to train on, and how.
    folder
        The run folder; without one, nothing is written.
    source
        Where the graph was loaded from, for the configuration.

    Attributes
    ----------
    epoch
        How many epochs are done.
    best, best_epoch
        The best validation score so far, and its epoch.
    stopping
        Whether `stop` was called before the current epoch ended.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        recipe: Recipe,
        options: Options | None = None,
        folder: RunFolder | None = None,
        source: str | None = None,
    ) -> None:
        from transa.training.memory import training_memory  # loads the compiler, which takes a while

        super().__init__()
        if not len(graph.train):
            raise InputError("the graph has no training triples")
        self.graph = graph
        self.recipe = recipe
        self.options = options or Options()
        self.options.check()
        if not self.options.ignore_memory:
            check_memory(training_memory(graph, recipe, self.options))
        self.folder = folder
        self.source = source
        self.threads = set_threads(self.options.threads)
        self.validation = Validation.of(graph, recipe)
        self.model = start_model(graph, recipe)
        self.trained = training_model(self.model, recipe)
        self.engine: Engine = choose_engine(
            self.trained,
            graph,
            recipe,
            engine=self.options.engine,
            device=self.options.device,
            lock_free=self.options.lock_free,
        )
        self.groups = None if recipe.shrink_to == "prior" else relation_groups(training_graph(graph, recipe))
        self.smoothness = None if recipe.smoothness == "none" else Smoothness(graph, recipe)
        self.warm_start: dict[str, Any] | None = None
        self.stopping = False
        self._best_tables: dict[str, Tensor] = {}
        self._kept_epoch = 0
        self._ended_early = False

    def end_early(self) -> None:
        """Make the current epoch the last one; `fit` then returns the model as it does after all epochs. A callback may call this."""
        self._ended_early = True

    def fit(self, callback: Listener | Iterable[Listener] | None = None, *, resume: bool = False) -> Model:
        """Train to the end and return the model.

        Parameters
        ----------
        callback
            A `Callback`, a function that is called with the `Progress` after each epoch, or several of these.
        resume
            Go on from the checkpoint in the folder, or from the start if there is none yet.

        Raises
        ------
        Stopped
            If `stop` was called before the last epoch.
        """
        callbacks = [*self._own_callbacks(), *callbacks_of(callback)]
        if self.folder is None:
            self._warm_start()
            return self._fit(callbacks)
        self.folder.open(resume=resume)
        try:
            if resume and self.folder.holds("config.json"):
                self.folder.check_same(self.graph, self.recipe, self.engine.name)
            if resume and self.folder.holds("checkpoint.safetensors"):
                self._resume()
            else:
                self._start()
            return self._fit(callbacks)
        except TrainingError as error:
            if self._kept_epoch:
                kept = f"The checkpoint of epoch {self._kept_epoch:,} is kept in {self.folder.path}."
                raise TrainingError(f"{error} {kept}") from None
            self.folder.clear()  # nothing was learned, and the same settings would fail again
            raise
        finally:
            self.folder.close()

    def _start(self) -> None:
        assert self.folder is not None  # noqa: S101
        details: dict[str, Any] = {"source": self.source, "engine": self.engine.name}
        self.folder.write_start(self.graph, self.recipe, **details, warm_start=None)
        self._warm_start()
        if self.warm_start:
            self.folder.write_config(self.graph, self.recipe, **details, warm_start=self.warm_start)
        self.checkpoint()

    def _warm_start(self) -> None:
        """If the recipe says so, train a TransE by the same recipe and copy its vectors."""
        recipe = self.recipe
        if not recipe.warm_epochs:
            return
        first = Trainer(self.graph, transe_recipe(recipe), replace(self.options, engine="auto"))
        losses: list[float] = []

        def callback(progress: Progress) -> None:
            losses.append(progress.loss)
            if self._asked_to_stop:
                raise Stopped("stopped before the first epoch")

        vectors = first.fit(callback)
        self.model.entity.vector.copy_(vectors.entity.vector)
        width = min(recipe.dim, self.model.relation.vector.shape[1])
        self.model.relation.vector[:, :width] = vectors.relation.vector[:, :width]
        self.model.adapt(training_graph(self.graph, recipe), recipe.seed)
        self.seconds += first.seconds
        self.warm_start = {
            "model": "transe",
            "epochs": first.epoch,
            "seconds": first.seconds,
            "first_loss": losses[0],
            "last_loss": losses[-1],
        }

    def _own_callbacks(self) -> list[Callback]:
        """Return the callbacks that recipe and options ask for, in the order in which they are told."""
        own: list[Callback] = [EarlyStopping(self.recipe.patience)] if self.recipe.patience else []
        if self.folder is not None:
            own += [EpochLog(), Checkpoints(self.options.checkpoint_epochs, self.options.checkpoint_minutes)]
        return own

    def _fit(self, callbacks: list[Callback]) -> Model:
        with ExitStack() as stack:
            for callback in callbacks:
                callback.on_start(self)
                stack.push(partial(_tell_end, callback, self))
            while self.epoch < self.recipe.epochs and not self._ended_early:
                progress = self._one_epoch()
                self.stopping = self._asked_to_stop
                for callback in callbacks:
                    callback.on_epoch_end(self, progress)
                if self.stopping and self.epoch < self.recipe.epochs and not self._ended_early:
                    raise Stopped(f"stopped after epoch {self.epoch:,} of {self.recipe.epochs:,}")
            self._finish()
        return self.model

    def _one_epoch(self) -> Progress:
        started = time.perf_counter()
        number = self.epoch + 1
        report = self.engine.train_epoch(number)
        pace = len(self.graph.train) / (time.perf_counter() - started)
        recipe = self.recipe
        if self.smoothness is not None:
            setting = table_settings(self.trained, recipe)["entity.vector"]
            self.smoothness.step(self.trained, setting, recipe.learning_rate_factor(number))
        if recipe.has_metric and recipe.metric_update == "epoch" and number % recipe.metric_every == 0:
            self._update_metric(number)
        self._check(number, report.loss)
        self.epoch = number
        score = None
        if self.validation is not None and (number % recipe.validate_every == 0 or number == recipe.epochs):
            score = self.validation.score(self.trained if recipe.metric_update == "end" else self.model)
            self._compare(score)
        self.seconds += time.perf_counter() - started
        return Progress(
            number, recipe.epochs, report.loss, report.violations, self.seconds, pace, score, self.best, self.best_epoch
        )

    def _check(self, number: int, loss: float) -> None:
        broken = [name for name, table in self.model.tensors().items() if not bool(torch.isfinite(table.sum()))]
        if broken or not math.isfinite(loss):
            what = f"{broken[0]} holds" if broken else "the loss is"
            raise TrainingError(
                f"epoch {number}: {what} NaN or infinite (loss {loss}). "
                "Try a smaller learning rate, a norm constraint or root=true."
            )

    def _compare(self, score: float) -> None:
        if self.best is None or score > self.best:
            self.best, self.best_epoch = score, self.epoch
            tables = {name: table.detach().cpu().clone() for name, table in self.model.tensors().items()}
            if self.folder is not None:
                self.folder.write_tensors("best.safetensors", tables, epoch=self.epoch, score=score)
            else:
                self._best_tables = tables

    # ------------------------------------------------------------------ checkpoints

    def checkpoint(self) -> None:
        """Write a checkpoint of the epochs that are done, if there is a folder. A callback may call this."""
        if self.folder is None:
            return
        tables = {f"model.{name}": table for name, table in self.model.tensors().items()}
        state = {f"engine.{name}": table for name, table in self.engine.state().items()}
        self.folder.write_tensors(
            "checkpoint.safetensors",
            tables | state,
            epoch=self.epoch,
            seconds=self.seconds,
            best=self.best,
            best_epoch=self.best_epoch,
            stopped=self._ended_early,
        )
        self._kept_epoch = self.epoch

    def _resume(self) -> None:
        assert self.folder is not None  # noqa: S101
        config = self.folder.config()
        tensors, notes = self.folder.read_tensors("checkpoint.safetensors")
        try:
            self.warm_start = plain(config.get("warm_start"))
            put_in_place(self.model.tensors(), tensors, "model.")
            state = {name: torch.empty_like(table) for name, table in self.engine.state().items()}
            put_in_place(state, tensors, "engine.")
            self.engine.load_state(state)
            noted = plain(notes) or {}
            self.epoch, self._ended_early = int(noted["epoch"]), bool(noted["stopped"])
            self.seconds = float(noted["seconds"])
            if noted["best"] is not None:
                self.best, self.best_epoch = float(noted["best"]), int(noted["best_epoch"])
            if not 0 <= (self.best_epoch or 0) <= self.epoch <= self.recipe.epochs:
                raise ValueError(f"epoch {self.epoch}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"cannot be resumed ({error})", path=self.folder.path) from None
        self._kept_epoch = self.epoch
        self.folder.cut_log(self.epoch)

    def _back_to_best(self) -> None:
        tables = self._best_tables
        if self.folder is not None:
            tables, _ = self.folder.read_tensors("best.safetensors")
        put_in_place(self.model.tensors(), tables)

    def _update_metric(self, number: int) -> None:
        update_metric(self.model, self.engine.epoch_batches, self.recipe, number, self.groups)

    def _join(self) -> None:
        if self.recipe.type_penalty:
            from transa.training.type_penalty import learned_penalty

            self.model.penalty = learned_penalty(self.model, self.graph, self.recipe)
        if self.recipe.with_rules:
            from transa.training.with_rules import joined

            self.model.evidence = joined(self.model, self.graph, self.recipe)

    def _write(self, epoch: int) -> None:
        if self.folder is not None:
            self.folder.write_tensors("weights.safetensors", self.model.tensors(), epoch=epoch)
            self.folder.write_json("metrics.json", self.summary())

    def _details(self) -> dict[str, Any]:
        return {
            "engine": self.engine.name,
            "threads": self.threads,
            "parameters": self.model.parameters,
            **({"warm_start": self.warm_start} if self.warm_start else {}),
        }


def _tell_end(callback: Callback, trainer: Trainer, kind: object, error: BaseException | None, trace: object) -> None:
    callback.on_end(trainer, error)


def transe_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe of the TransE from which a model starts: the same objective and optimiser, without validation."""
    learning_rate = recipe.learning_rate if recipe.warm_learning_rate is None else recipe.warm_learning_rate
    without = {"warm_epochs": 0, "warm_learning_rate": None, "validate_every": 0, "patience": 0}
    return recipe.model_copy(
        update={"model": "transe", "epochs": recipe.warm_epochs, "learning_rate": learning_rate, **without}
    )
