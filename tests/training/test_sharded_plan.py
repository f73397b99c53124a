"""What `--plan` says grows as it should, and agrees with what workers hold and send."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import transa
from tests.training.helpers import settings
from transa.training.sharded.engine import ShardedEngine
from transa.training.sharded.plan import Sizes, plan
from transa.training.sharded.workers import Workers

UMLS = transa.load("umls")


@pytest.mark.parametrize("optimizer", ["adagrad_row", "adam"])
@pytest.mark.parametrize("metric", ["diagonal", "lowrank"])
def test_tables_and_state_are_as_large_as_planned(optimizer: str, metric: str) -> None:
    how = {"model": "transa", "metric": metric, "metric_update": "gradient", "precision": "float32"}
    recipe = settings(**how, optimizer=optimizer, lanes=1)
    model = recipe.build_model(len(UMLS.entities), len(UMLS.relations))
    engine = ShardedEngine(model, UMLS, recipe, Workers(1))
    tables = sum(table.nbytes for rows in (engine.entities, engine.relations) for table in rows.tables.values())
    state = sum(
        steps.first.nbytes + steps.second.nbytes
        for rows in (engine.entities, engine.relations)
        for steps in rows.steps.values()
    )
    expected = plan(Sizes.of(UMLS), recipe, 1)
    assert expected.memory["tables"] == tables
    assert expected.memory["optimiser"] == state
    assert expected.sent == 0


def test_more_workers_hold_less_each_and_lane_negatives_send_less() -> None:
    recipe = settings(model="transe", dim=128, negatives=64, batch_size=8192, precision="float32")
    sizes = Sizes(5_000_000, 1_000, 20_000_000)
    one, two, four = (plan(sizes, recipe, workers) for workers in (1, 2, 4))
    assert one.of_worker > two.of_worker > four.of_worker
    assert one.memory["tables"] == pytest.approx(4 * four.memory["tables"], rel=1e-6)
    shared = plan(sizes, recipe.model_copy(update={"lane_negatives": True}), 2)
    assert shared.sent < two.sent / 20
    assert plan(sizes, recipe, 2, mapped=True).total < two.total


def test_rows_travel_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that pretends to be one of two, each of whose messages comes back to it, sends what the plan says at most."""
    recipe = settings(model="transe", lane_negatives=True, negatives=2, lanes=2, batch_size=64, precision="float32")

    def send(self: Workers, values: np.ndarray, sent: np.ndarray, received: np.ndarray) -> np.ndarray:
        self.bytes_sent += values.nbytes // 2
        return values

    monkeypatch.setattr(Workers, "exchange", send)
    model = recipe.build_model(len(UMLS.entities), len(UMLS.relations))
    engine = ShardedEngine(model, UMLS, recipe, Workers(2))
    engine.start()
    engine.train_epoch(1)
    expected = 2 * plan(Sizes.of(UMLS), recipe, 2).sent
    assert 0.3 * expected < engine.workers.bytes_sent < 1.2 * expected


def test_the_table_of_the_page_is_what_the_code_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent.parent
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    assert import_module("tables").scale_table() in (root / "docs" / "scale.md").read_text("utf-8")
