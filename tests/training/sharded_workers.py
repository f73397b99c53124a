"""What a worker does in the tests of sharded training. Workers are forked from a process that has imported all of it once."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist

import transa
from tests.training.helpers import settings
from transa.evaluation import link_prediction
from transa.evaluation.queries import Queries
from transa.evaluation.ranking import Ranker
from transa.models.loop_prior import loop_free_relations
from transa.training import Options, Progress, Recipe, RunFolder, Stopped
from transa.training.sharded import checkpoints
from transa.training.sharded.closed_form import update_metric
from transa.training.sharded.engine import ShardedEngine
from transa.training.sharded.ranking import ShardedRanker
from transa.training.sharded.trainer import ShardedTrainer
from transa.training.sharded.workers import Workers

UMLS = transa.load("umls")
MODELS: dict[str, dict[str, Any]] = {
    "transe": {"model": "transe", "norm": 1, "lane_negatives": True},
    "diagonal": {"model": "transa", "metric": "diagonal", "metric_update": "gradient"},
    "lowrank": {"model": "transa", "metric": "lowrank", "rank": 2, "metric_update": "gradient", "lane_negatives": True},
    "full": {"model": "transa", "metric": "full"},
}
OPTIMIZERS = ("adagrad_row", "adam")
EPOCHS = 2


def recipes() -> dict[str, Recipe]:
    """The recipes that all numbers of workers train to the same bits."""
    common = {"precision": "float32", "negatives": 4, "batch_size": 512, "learning_rate": 0.01}
    return {
        f"{model} {optimizer}": settings(**common, **values, optimizer=optimizer)
        for model, values in MODELS.items()
        for optimizer in OPTIMIZERS
    }


def train(recipe: Recipe, epochs: int = EPOCHS, device: str | None = None) -> tuple[ShardedEngine, list[float]]:
    """Train some epochs with the workers of this process group, with gradients by torch if there is a device."""
    model = recipe.build_model(len(UMLS.entities), len(UMLS.relations))
    engine = ShardedEngine(model, UMLS, recipe, Workers(recipe.lanes), device)
    engine.start()
    losses = []
    for number in range(1, epochs + 1):
        losses.append(engine.train_epoch(number).loss)
        if recipe.has_metric and recipe.metric_update == "epoch":
            update_metric(engine, number)
    return engine, losses


def checksums(engine: ShardedEngine) -> dict[str, str]:
    """A checksum for each table and state of each lane that this worker holds."""
    found = {}
    for role, rows in (("entity", engine.entities), ("relation", engine.relations)):
        arrays = dict(rows.tables)
        for name, steps in rows.steps.items():
            arrays |= {f"{name}.first": steps.first, f"{name}.second": steps.second}
        for name, array in arrays.items():
            for lane in engine.workers.lanes:
                found[f"{role}.{name}.{lane}"] = hashlib.sha256(array[rows.lane(lane)].tobytes()).hexdigest()
    return found


def same_bits(rank: int, folder: Path) -> None:
    """Train every recipe with 1, 2 and 4 workers, and write down the checksums."""
    for count in (1, 2, 4):
        if rank < count:
            dist.init_process_group("gloo", init_method=f"file://{folder}/group-{count}", rank=rank, world_size=count)
            found = {}
            for name, recipe in recipes().items():
                engine, losses = train(recipe)
                found[name] = {"losses": losses, "sums": checksums(engine)}
            (folder / f"found-{count}-{rank}.json").write_text(json.dumps(found))
            dist.destroy_process_group()


def run_workers(count: int, work: Callable[..., None], *arguments: Any) -> None:
    """Run `work(rank, *arguments)` in as many processes; all must end well."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.sharded_workers", "transa.training.sharded.trainer"])
    processes = [context.Process(target=work, args=(rank, *arguments)) for rank in range(count)]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(300)
            assert process.exitcode == 0
    finally:
        for process in processes:  # those that wait for one that failed would wait for ever
            process.kill()


def ranked(rank: int, folder: Path) -> None:
    """Train with two workers, and write down the counts and best answers that they find, and the tables."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2)
    for name, recipe in ranking_recipes().items():
        engine, _ = train(recipe, epochs=1)
        engine.model.loop_free = loop_free_relations(UMLS.train, len(UMLS.relations), recipe.loop_limit)
        found = answers(ShardedRanker(engine))
        if rank == 0:
            np.savez(folder / f"{name}.npz", **found)
        RunFolder(folder / name).path.mkdir(exist_ok=True)
        checkpoints.write(RunFolder(folder / name), "weights", engine)
    dist.destroy_process_group()


def ranking_recipes() -> dict[str, Recipe]:
    """Models whose answers are ranked by shard; rounded vectors give many ties."""
    common = {"precision": "float32", "negatives": 2, "batch_size": 512, "loop_limit": 0.01}
    return {
        "transe": settings(**common, model="transe", norm=1, dim=2),
        "full": settings(**common, model="transa", metric="full", directional=True),
    }


def answers(ranker: Ranker) -> dict[str, np.ndarray]:
    """What a ranker says of the test triples of UMLS."""
    known = UMLS.known()
    ranks = link_prediction(ranker, UMLS.test, known)
    found = {name: getattr(ranks, name) for name in ("better", "equal", "known_better", "known_equal")}
    for side in ("head", "tail"):
        queries = Queries.of(UMLS.test, known, side)
        for left_out in (False, True):
            ids, scores = ranker.best(queries, 12, leave_out_known=left_out)
            found |= {f"ids {side} {left_out}": ids, f"scores {side} {left_out}": scores}
    return found


def resumed(rank: int, folder: Path) -> None:
    """Train a run with two workers, go on with four and then alone, each time for some epochs."""
    for count, until in ((2, 2), (4, 4), (1, 6)):
        if rank < count:
            dist.init_process_group("gloo", init_method=f"file://{folder}/resume-{count}", rank=rank, world_size=count)
            recipe = resumed_recipe()
            trainer = ShardedTrainer(UMLS, recipe, Options(threads=1), RunFolder(folder / "moved"), "umls")

            def stop(progress: Progress, trainer: ShardedTrainer = trainer, until: int = until) -> None:
                if progress.epoch == until - 1:
                    trainer.stop()

            with suppress(Stopped):
                trainer.fit(stop, resume=count != 2)
            dist.destroy_process_group()


def resumed_recipe() -> Recipe:
    """A run of six epochs with validation, whose best epoch is not the last."""
    common = {"precision": "float32", "negatives": 4, "batch_size": 512, "optimizer": "adam", "epochs": 6}
    return settings(**common, model="transa", metric="full", validate_every=2, learning_rate=0.05, validate_sample=100)
