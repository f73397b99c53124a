"""Several workers train the same as one, to the bit, and as the single-process engines, up to rounding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training import helpers
from tests.training.sharded_workers import (
    EPOCHS,
    UMLS,
    answers,
    ranked,
    ranking_recipes,
    recipes,
    resumed,
    resumed_recipe,
    run_workers,
    same_bits,
    train,
)
from transa.evaluation.ranking import Ranker
from transa.training import Options, RunFolder
from transa.training.sharded.engine import ShardedEngine
from transa.training.sharded.ranking import ShardedRanker
from transa.training.sharded.slices import merged
from transa.training.sharded.trainer import ShardedTrainer

pytestmark = pytest.mark.slow
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture(scope="module")
def by_workers(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """What each worker of 1, 2 and 4 found."""
    folder = tmp_path_factory.mktemp("workers")
    for recipe in recipes().values():
        train(recipe, epochs=1)  # compiles kernels once, where every worker would
    run_workers(4, same_bits, folder)
    return {
        count: [json.loads((folder / f"found-{count}-{rank}.json").read_text()) for rank in range(count)]
        for count in (1, 2, 4)
    }


@pytest.mark.parametrize("name", recipes())
def test_any_number_of_workers_gives_the_same_bits(by_workers: dict[int, list[dict[str, Any]]], name: str) -> None:
    alone = by_workers[1][0][name]
    for count in (2, 4):
        together: dict[str, str] = {}
        for found in by_workers[count]:
            assert found[name]["losses"] == alone["losses"]
            assert not together.keys() & found[name]["sums"].keys()  # nobody holds what another holds
            together |= found[name]["sums"]
        assert together == alone["sums"]


def whole(engine: ShardedEngine) -> dict[str, np.ndarray]:
    """All tables of a single worker, by id."""
    roles = {"entity": engine.entities, "relation": engine.relations}
    return {
        f"{role}.{name}": table[rows.numbering.rows]
        for role, rows in roles.items()
        for name, table in rows.tables.items()
    }


@pytest.mark.parametrize("name", recipes())
def test_it_trains_as_the_single_process_engine(name: str) -> None:
    recipe = recipes()[name].model_copy(update={"precision": "float64"})
    engine, losses = train(recipe)
    model, reports = helpers.train(UMLS, recipe, "numba", epochs=EPOCHS)
    assert losses == pytest.approx([report.loss for report in reports], rel=1e-6)
    for full, table in whole(engine).items():
        expected = model.tensors()[full].numpy().reshape(table.shape)
        assert np.abs(table - expected).max() < 1e-5, full


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
@pytest.mark.parametrize("name", ["transe adam", "diagonal adagrad_row", "lowrank adam"])
def test_torch_finds_the_gradients_of_the_kernels(name: str, device: str) -> None:
    changed = {"precision": "float64", "loss": "self_adversarial", "negligible": 0.05}
    recipe = recipes()[name].model_copy(update=changed)
    (kernels, expected), (torch_on_device, losses) = (train(recipe, device=where) for where in (None, device))
    assert losses == pytest.approx(expected, rel=1e-9)
    for full, table in whole(torch_on_device).items():
        assert np.abs(table - whole(kernels)[full]).max() < 1e-7, full


@needs_cuda
def test_workers_with_gpus_train_through_nccl(tmp_path: Path) -> None:
    """Has never run: no machine with GPUs was at hand."""
    words = ["train", "umls", "--model", "transe", "--recipe", "modern", "--set", "epochs=2", "--device", "cuda"]
    count = str(min(torch.cuda.device_count(), 2))
    started = [sys.executable, "-m", "transa", *words, "--workers", count, "--out", str(tmp_path / "run")]
    subprocess.run(started, check=True, capture_output=True, timeout=300)
    assert RunFolder(tmp_path / "run").read_json("metrics.json")["engine"] == "sharded, torch on cuda"


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what two workers found."""
    folder = tmp_path_factory.mktemp("ranking")
    for recipe in ranking_recipes().values():
        answers(ShardedRanker(train(recipe, epochs=1)[0]))  # compiles kernels once
    run_workers(2, ranked, folder)
    return folder


@pytest.mark.parametrize("name", ranking_recipes())
def test_workers_rank_as_one_process_does_tie_for_tie(ranking: Path, name: str) -> None:
    recipe = ranking_recipes()[name]
    model = recipe.build_model(len(UMLS.entities), len(UMLS.relations))
    place = ranking / name
    model.load(merged(place / json.loads((place / "weights.json").read_text())["folder"], model, recipe))
    expected = answers(Ranker(model))
    with np.load(ranking / f"{name}.npz") as found:
        assert set(found) == set(expected)
        for what in expected:
            assert np.array_equal(found[what], expected[what]), what


def test_a_run_goes_on_with_another_number_of_workers_to_the_same_bits(tmp_path: Path) -> None:
    run_workers(4, resumed, tmp_path)
    moved, whole = RunFolder(tmp_path / "moved"), RunFolder(tmp_path / "whole")
    ShardedTrainer(UMLS, resumed_recipe(), Options(threads=1), whole, "umls").fit()
    for kind in ("best", "weights"):
        tables, expected = (run.read_tensors(f"{kind}.safetensors")[0] for run in (moved, whole))
        assert helpers.same_bits(tables, expected)
    assert helpers.same_bits(moved.model().tensors(), whole.model().tensors())
    assert [row[1:] for row in moved.curve()] == [row[1:] for row in whole.curve()]
