"""Several workers train the same as one, to the bit, and as the single-process engines, up to rounding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training import helpers
from tests.training.sharded_workers import EPOCHS, UMLS, recipes, run_workers, same_bits, train
from transa.training.sharded.engine import ShardedEngine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_workers(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """What each worker of 1, 2 and 4 found."""
    folder = tmp_path_factory.mktemp("workers")
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
