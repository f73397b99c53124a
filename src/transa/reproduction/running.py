"""Train and evaluate the cells of a table that have no record yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from transa.data import KnowledgeGraph, load
from transa.errors import InputError
from transa.evaluation import Evaluation, classify, evaluate
from transa.models import Model
from transa.reproduction.plan import Cell, Plan, Task
from transa.reproduction.provenance import provenance
from transa.reproduction.records import Results, dataset_fingerprint, run_key
from transa.training import Options, Progress, Recipe, RunFolder, Trainer, TrainingError

MEASURED: tuple[Task, ...] = ("link_prediction", "classification")

#: Ranks beyond these are counted. The paper speaks of 30,000.
FAR = (1_000, 10_000, 30_000)


@dataclass(frozen=True)
class Event:
    """Something that happened to a cell.

    Attributes
    ----------
    kind
        ``"train"`` and ``"evaluate"``: this begins. ``"epoch"``: an epoch has ended. ``"done"``: the cell was run. ``"skipped"``: it
        has a record already. ``"left"``: it was not started, since the budget is used up. ``"failed"``: its training failed.
    cell
        The cell.
    place, of
        Its number, from 1, and the number of all cells.
    progress
        The progress of training, for an epoch.
    message
        The reason, where a cell failed.
    """

    kind: Literal["train", "epoch", "evaluate", "done", "skipped", "left", "failed"]
    cell: Cell
    place: int
    of: int
    progress: Progress | None = None
    message: str = ""


@dataclass
class Outcome:
    """What happened to the cells of a plan, by their names.

    Attributes
    ----------
    done
        Cells that were run.
    skipped
        Cells that had a record already.
    left
        Cells that were not started, since the budget was used up.
    failed
        Cells whose training failed, with the reason.
    """

    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def reproduce(
    plan: Plan,
    results: Results,
    runs: Path,
    *,
    budget: float | None = None,
    options: Options | None = None,
    callback: Callable[[Event], None] | None = None,
    around: Callable[[Trainer], AbstractContextManager[None]] | None = None,
) -> Outcome:
    """Train and evaluate the cells that have no record yet.

    Parameters
    ----------
    plan
        The cells of a table.
    results
        The records; new ones are added.
    runs
        The folder of run folders. A run that was interrupted there is resumed; a run that is trained is only evaluated.
    budget
        After this many minutes no more runs are started; 0 starts none.
    options
        How to train on this machine.
    callback
        Called with each event.
    around
        Returns a context manager in which a trainer runs, such as one that lets signals stop it between epochs.
    """
    started = time.monotonic()
    outcome, graphs = Outcome(), _Graphs()
    for place, cell in enumerate(plan.cells, 1):

        def tell(
            kind: Any, message: str = "", progress: Progress | None = None, at: tuple[Any, ...] = (cell, place)
        ) -> None:
            if callback is not None:
                callback(Event(kind, at[0], at[1], len(plan.cells), progress, message))

        if budget == 0:  # datasets need not be installed
            there = results.find(cell, task=plan.task(cell.dataset)) is not None
            (outcome.skipped if there else outcome.left).append(cell.name)
            tell("skipped" if there else "left")
            continue
        graph, fingerprint = graphs[cell.dataset]
        task = plan.task(cell.dataset)
        if results.find(cell, fingerprint, task) is not None:
            outcome.skipped.append(cell.name)
            tell("skipped")
        elif budget is not None and time.monotonic() - started >= 60 * budget:
            outcome.left.append(cell.name)
            tell("left")
        else:
            try:
                _run(cell, task, graph, fingerprint, results, runs, options, tell, around)
            except TrainingError as error:
                outcome.failed[cell.name] = str(error)
                tell("failed", str(error))
            else:
                outcome.done.append(cell.name)
                tell("done")
    return outcome


class _Graphs:
    """The graph and checksum of the dataset asked for last. One is enough, since cells are sorted by dataset."""

    def __init__(self) -> None:
        self._name = ""
        self._found: tuple[KnowledgeGraph, str] | None = None

    def __getitem__(self, name: str) -> tuple[KnowledgeGraph, str]:
        if self._found is None or self._name != name:
            graph = load(name)
            self._name, self._found = name, (graph, dataset_fingerprint(graph))
        return self._found


def _run(
    cell: Cell,
    task: Task,
    graph: KnowledgeGraph,
    fingerprint: str,
    results: Results,
    runs: Path,
    options: Options | None,
    tell: Callable[..., None],
    around: Callable[[Trainer], AbstractContextManager[None]] | None,
) -> None:
    started = time.perf_counter()
    folder = RunFolder(runs / f"{cell.name}_{run_key(cell.settings, fingerprint)[:8]}")
    if not (folder.path / "metrics.json").exists():
        tell("train")
        resume = (folder.path / "config.json").exists()
        trainer = Trainer(graph, cell.settings, options, folder, cell.dataset)
        with nullcontext() if around is None else around(trainer):
            trainer.fit(lambda progress: tell("epoch", progress=progress), resume=resume)
    model, training = folder.model(), folder.read_json("metrics.json")
    tell("evaluate")
    evaluated = time.perf_counter()
    measured = measure(model, graph, task, cell.settings)
    seconds = {"training": training.get("seconds"), "evaluation": time.perf_counter() - evaluated}
    before = results.find(cell, fingerprint) or {}
    results.add(
        cell,
        fingerprint,
        **{task: measured},
        command=" && ".join(command_of(cell, one) for one in MEASURED if one == task or one in before),
        training=training,
        seconds={**before.get("seconds", {}), "training": seconds["training"], task: seconds["evaluation"]},
        wall_seconds=before.get("wall_seconds", 0.0) + time.perf_counter() - started,
        overrides=dict(cell.overrides),
        **provenance(),
    )


def measure(model: Model, graph: KnowledgeGraph, task: Task, settings: Recipe) -> dict[str, Any]:
    """Return the measures of a task on the test split; for link prediction without those of single relations."""
    if task == "classification":
        return classify(model, graph, seed=settings.seed, calibration=None, by=settings.decided_by).summary()
    found = evaluate(model, graph)
    kept = {name: value for name, value in found.report().items() if name not in ("relations", "rules_alone")}
    return {**kept, "mean_rank": mean_rank_parts(found)}


def mean_rank_parts(found: Evaluation) -> dict[str, Any]:
    """Return what the filtered mean rank consists of.

    These are the number of ranks beyond 1,000, 10,000 and 30,000, their shares in the sum of all ranks, and the mean rank of triples
    grouped by how often the rarer of their two entities occurs in train.
    """
    ranks, train = found.ranks(), found.graph.train
    degrees = np.bincount(train[:, [0, 2]].ravel(), minlength=len(found.graph.entities))
    rarer = degrees[found.found.triples[:, [0, 2]]].min(axis=1)
    groups = {"0": rarer == 0, "1": rarer == 1, "2": rarer == 2, "3-5": (rarer > 2) & (rarer < 6), "6+": rarer > 5}
    return {
        "beyond": {str(far): int((ranks > far).sum()) for far in FAR},
        "share_beyond": {str(far): float(ranks[ranks > far].sum() / ranks.sum()) for far in FAR},
        "by_degree": {
            name: {"n": int(chosen.sum()), "mr": float(ranks[chosen].mean())}
            for name, chosen in groups.items()
            if chosen.any()
        },
    }


def command_of(cell: Cell, task: Task) -> str:
    """Return the command that makes the record, perhaps beside others."""
    table = {"link_prediction": "table2", "classification": "table4"}[task]
    what = "metric" if cell.row.variant else f"{table} --models {cell.row.name}"
    given = "".join(f" --set {name}={_toml(value)}" for name, value in cell.overrides)
    return f"transa reproduce {what} --datasets {cell.dataset}{given}"


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def count_datasets(plan: Plan, results: Results) -> None:
    """Count what Table 1 shows of each dataset, and add it to the records."""
    found = {}
    for name in plan.datasets:
        graph = load(name)
        numbers = graph.statistics()
        found[name] = {
            "relations": numbers.relations,
            "entities": numbers.entities,
            **{split: numbers.triples[split] for split in ("train", "valid", "test")},
            "atpe": numbers.atpe,
            "entities_in_triples": numbers.entities_in_triples,
            "negatives": numbers.negatives,
            "leaked": numbers.leaked,
            "fingerprint": dataset_fingerprint(graph),
        }
    if not found:
        raise InputError("no dataset to count")
    results.add_statistics(found)
