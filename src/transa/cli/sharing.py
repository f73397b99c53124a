"""Training by several workers, from the command line."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.output import note
from transa.cli.stopping import stopping_between_epochs
from transa.readable import counted

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph
    from transa.estimators import Estimator
    from transa.evaluation import Evaluation
    from transa.inference import Trained
    from transa.training import Options, Recipe, RunFolder
    from transa.training.sharded.plan import Plan


@dataclass(frozen=True)
class Sharing:
    """Who does the work: one process, or several that hold a part of the model each."""

    workers: Annotated[
        int | None,
        typer.Option(min=1, help="So many processes on this machine, each of which holds a part of the rows."),
    ] = None
    sharded: Annotated[
        bool, typer.Option("--sharded", help="Be one of the workers that torchrun starts, here or on several machines.")
    ] = False

    @property
    def is_given(self) -> bool:
        """Whether there are several workers."""
        return self.sharded or self.workers is not None

    @property
    def is_quiet(self) -> bool:
        """Whether another process tells what there is to tell: the first worker."""
        if self.workers is not None or not self.sharded:
            return self.workers is not None
        from transa.training.sharded.launching import is_first

        return not is_first()

    @contextmanager
    def one_voice(self) -> Iterator[None]:
        """Leave notes to the first worker; errors are everybody's."""
        with redirect_stderr(io.StringIO()) if self.is_quiet else nullcontext():
            yield

    def evaluate(self, folder: RunFolder, ranking: dict[str, Any], threads: int | None) -> Evaluation | None:
        """Start the workers, which ends this process; or be one of them, and return what they found if it is the first."""
        from transa.evaluation import evaluate
        from transa.training.sharded.checkpoints import opened
        from transa.training.sharded.launching import is_first, joined
        from transa.training.sharded.ranking import ShardedRanker
        from transa.training.sharded.workers import Workers

        self._start(folder, threads)
        with joined():
            held = opened(folder, Workers(folder.recipe().lanes))
            loop_prior = ranking.pop("loop_prior")
            found = evaluate(ShardedRanker(held, loop_prior), folder.graph(), **ranking)
            return found if is_first() else None

    @contextmanager
    def opened(self, folder: RunFolder, check: Callable[[Trained], object]) -> Iterator[Estimator]:
        """Open a run to put questions to it: whole, or as one of the workers, all of which must ask the same.

        Where workers are to be started, `check` is called with the graph first: what it refuses is told once.
        """
        from transa.estimators import estimator_for, load_model

        if not self.is_given:
            yield load_model(folder)
            return
        from transa.inference import Trained
        from transa.inference.together import TrainedTogether
        from transa.training.sharded.launching import joined

        if self.workers is not None:
            check(Trained(folder.empty_model(), folder.graph()))
            self._start(folder, None)
        with joined():
            trained = TrainedTogether.of_workers(folder)
            yield estimator_for(folder.recipe())._fitted(trained)

    def _start(self, folder: RunFolder, threads: int | None) -> None:
        """Start the workers that read a finished run, if that is for this process to do."""
        from transa.training.sharded.checkpoints import check_finished
        from transa.training.sharded.launching import launch
        from transa.training.sharded.workers import check_workers

        if self.workers is not None:
            check_finished(folder)
            check_workers(self.workers, folder.recipe().lanes)
            launch(self.workers, as_worker(sys.argv[1:]), threads, restarts=0)


@dataclass(frozen=True)
class SharedTraining(Sharing):
    """Who trains, and whether to say only what that takes."""

    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Only say what this takes: memory of each worker, and bytes between them an epoch."
        ),
    ] = False

    @property
    def is_given(self) -> bool:
        """Whether several workers train, or somebody asks what they would take."""
        return self.plan or super().is_given

    @property
    def is_quiet(self) -> bool:
        """Whether another process tells what there is to tell; a plan is told here."""
        return not self.plan and super().is_quiet

    def _check_memory(self, expected: Plan, options: Options) -> None:
        """Refuse to start workers that will not fit into this machine."""
        from transa.errors import InputError, amount
        from transa.free_memory import free_memory

        free = None if options.ignore_memory else free_memory()
        if free is not None and expected.total > free:
            raise InputError(
                f"needs about {expected}, and {amount(free)} are free. Try a smaller dim, optimizer=adagrad_row, or more machines "
                "(docs/scale.md); --ignore-memory goes on anyway"
            )

    def check_recipe(self, model: str, recipe: str | None, dataset: str | None, given: dict[str, Any]) -> None:
        """Refuse the general recipe: its trials are those of one process."""
        from transa.errors import InputError
        from transa.training.general import is_general

        if is_general(model, recipe, dataset, given):
            raise InputError("several workers need a recipe by its name, such as --recipe modern; there are no trials")

    def train(
        self, graph: KnowledgeGraph, recipe: Recipe, options: Options, folder: RunFolder, source: str, *, resume: bool
    ) -> dict[str, Any] | None:
        """Start the workers, which ends this process; or be one of them, and return the summary if it is the first."""
        from transa.cli.live_view import LiveView
        from transa.training.sharded.launching import is_first, is_restarted, joined, launch
        from transa.training.sharded.plan import Sizes, plan
        from transa.training.sharded.requirements import check_sharded
        from transa.training.sharded.trainer import ShardedTrainer
        from transa.training.sharded.workers import check_workers

        check_sharded(graph, recipe, options)
        if self.workers is not None:
            check_workers(self.workers, recipe.lanes)
        workers = self.workers or int(os.environ.get("WORLD_SIZE", "1"))
        mapped = "training_facts" in vars(graph)  # an index that was read with the graph
        expected = plan(Sizes.of(graph), recipe, workers, mapped=mapped)
        if self.plan:
            return expected.report()
        note(f"memory: about {expected}")
        if self.workers is not None:
            self._check_memory(expected, options)
            launch(self.workers, as_worker(sys.argv[1:]), options.threads)
        with joined():
            trainer = ShardedTrainer(graph, recipe, options, folder, source)
            each = f"{counted(trainer.workers.count, 'worker')}, each with {counted(trainer.threads, 'thread')}"
            note(f"{trainer.model!r}; {each}")
            again = resume or (is_restarted() and folder.started())
            with stopping_between_epochs(trainer, command=resuming(sys.argv[1:])):
                if not is_first():
                    trainer.fit(resume=again)
                    return None
                with LiveView().watching(recipe.epochs, trainer.epoch) as callback:
                    trainer.fit(callback, resume=again)
            return trainer.summary()


def as_worker(words: list[str]) -> list[str]:
    """Return the words of a command as torchrun gives them to each worker."""
    kept, skipped = [], False
    for word in words:
        if not skipped and word != "--workers" and not word.startswith("--workers="):
            kept.append(word)
        skipped = word == "--workers"
    return [*kept, "--sharded"]


def resuming(words: list[str]) -> str:
    """Return the command by which people go on with a run that was stopped, given the words of a worker."""
    from transa.training.sharded.launching import STARTED

    count = os.environ.get(STARTED)
    words = [word for word in words if word not in ("--resume", *(["--sharded"] if count else []))]
    workers = ["--workers", count] if count else []
    return ("" if count else "torchrun … -m ") + shlex.join(["transa", *words, *workers, "--resume"])
