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
    from transa.training.sharded.model import Held
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


@dataclass(frozen=True)
class SharedAsking(Sharing):
    """Who ranks and answers, and where the rows are."""

    on_disk: Annotated[
        bool,
        typer.Option("--on-disk", help="Leave the rows of workers or parts on disk, and read them one lane at a time."),
    ] = False

    @property
    def is_given(self) -> bool:
        """Whether not all rows are to be in the memory of this process."""
        return self.on_disk or super().is_given

    def evaluate(self, folder: RunFolder, ranking: dict[str, Any], threads: int | None) -> Evaluation | None:
        """Start the workers, which ends this process; or be one of them, and return what they found if it is the first."""
        from transa.evaluation import evaluate
        from transa.training.sharded.launching import is_first, joined
        from transa.training.sharded.ranking import ShardedRanker

        self._start(folder, threads)
        with joined():
            loop_prior = ranking.pop("loop_prior")
            found = evaluate(ShardedRanker(self._held(folder), loop_prior), folder.graph(), **ranking)
            return found if is_first() else None

    @contextmanager
    def opened(self, folder: RunFolder, check: Callable[[Trained], object]) -> Iterator[Estimator]:
        """Open a run to put questions to it: whole, on disk, or as one of the workers, all of which must ask the same.

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
            yield estimator_for(folder.recipe())._fitted(TrainedTogether.of_run(folder, self._held(folder)))

    def _held(self, folder: RunFolder) -> Held:
        """Return the rows of a finished run that this worker holds, or those on disk."""
        if self.on_disk:
            from transa.training.parts.disk import DiskModel

            return DiskModel(folder)
        from transa.training.sharded.checkpoints import opened
        from transa.training.sharded.workers import Workers

        return opened(folder, Workers(folder.recipe().lanes))

    def _start(self, folder: RunFolder, threads: int | None) -> None:
        """Start the workers that read a finished run, if that is for this process to do."""
        from transa.errors import InputError
        from transa.training.sharded.checkpoints import check_finished
        from transa.training.sharded.launching import launch
        from transa.training.sharded.workers import check_workers

        if self.on_disk and super().is_given:
            raise InputError("--on-disk: goes with one process; workers hold their rows in memory")
        if self.workers is not None:
            check_finished(folder)
            check_workers(self.workers, folder.recipe().lanes)
            launch(self.workers, as_worker(sys.argv[1:]), threads, restarts=0)


@dataclass(frozen=True)
class SharedTraining(Sharing):
    """Who trains, and whether to say only what that takes."""

    parts: Annotated[
        int | None,
        typer.Option(
            min=1, help="For more rows than memory: so many parts of the entities on disk, of which two are in memory."
        ),
    ] = None
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Only say what this takes: memory of each worker, and bytes between them an epoch."
        ),
    ] = False

    @property
    def is_given(self) -> bool:
        """Whether several workers train, or parts are trained, or somebody asks what that would take."""
        return self.plan or self.parts is not None or super().is_given

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
        from transa.training.sharded.requirements import check_sharded
        from transa.training.sharded.trainer import ShardedTrainer

        check_sharded(graph, recipe, options)
        expected = self._plan(graph, recipe, options)
        if self.plan:
            return expected.report()
        note(f"memory: about {expected}")
        if self.workers is not None or self.parts is not None:
            self._check_memory(expected, options)
        if self.workers is not None:
            launch(self.workers, as_worker(sys.argv[1:]), options.threads)
        with joined(options.device):
            if self.parts is None:
                trainer = ShardedTrainer(graph, recipe, options, folder, source)
                who = f"{counted(trainer.workers.count, 'worker')}, each with {counted(trainer.threads, 'thread')}"
            else:
                from transa.training.parts.trainer import PartsTrainer

                trainer = PartsTrainer(graph, recipe, options, folder, source, parts=self.parts)
                who = f"{counted(self.parts, 'part')} on disk, {counted(trainer.threads, 'thread')}"
            note(f"{trainer.model!r}; {who}")
            again = resume or (is_restarted() and folder.started())
            command = resuming(sys.argv[1:]) if self.parts is None else None
            with stopping_between_epochs(trainer, command=command):
                if not is_first():
                    trainer.fit(resume=again)
                    return None
                with LiveView().watching(recipe.epochs, trainer.epoch) as callback:
                    trainer.fit(callback, resume=again)
            return trainer.summary()

    def _plan(self, graph: KnowledgeGraph, recipe: Recipe, options: Options) -> Plan:
        """Return what training takes, after a check that the work can be shared like this."""
        from transa.errors import InputError
        from transa.training.sharded.plan import Sizes, plan
        from transa.training.sharded.workers import check_workers

        mapped = "training_facts" in vars(graph)  # an index that was read with the graph
        if self.parts is not None:
            from transa.training.parts.plan import parts_plan
            from transa.training.parts.trainer import check_parted

            if self.workers is not None or self.sharded:
                raise InputError("--parts: goes with one process, not with --workers or --sharded")
            check_parted(recipe, self.parts, options)
            return parts_plan(Sizes.of(graph), recipe, self.parts, mapped=mapped)
        if self.workers is not None:
            check_workers(self.workers, recipe.lanes)
        workers = self.workers or int(os.environ.get("WORLD_SIZE", "1"))
        return plan(Sizes.of(graph), recipe, workers, mapped=mapped)


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
