"""Memory: what is estimated, and that a command refuses rather than being killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transa
from transa import memory
from transa.errors import InputError
from transa.memory import MemoryEstimate, check_memory
from transa.training import Options, load_recipe, recipe_from
from transa.training.memory import training_memory

UMLS = transa.load("umls")


def need(**values: Any) -> MemoryEstimate:
    return training_memory(UMLS, recipe_from({"model": "transa", "metric_update": "none", **values}), Options())


def test_tables_and_optimiser_are_counted_exactly() -> None:
    found = need(dim=10, optimizer="adam").lasting
    vectors = (135 + 46) * 10
    assert found["tables"] == 4 * (vectors + 46 * 10 * 10)
    assert found["optimiser"] == 4 * 2 * vectors  # the metric is not trained by gradient
    assert need(dim=10, optimizer="sgd").lasting["optimiser"] == 0
    assert need(dim=10, precision="float64").lasting["tables"] == 2 * found["tables"]


def test_what_costs_more_is_estimated_as_more() -> None:
    usual = need(dim=100).total
    assert need(dim=200).total > usual
    assert need(dim=100, metric="lowrank", metric_update="gradient").total < usual
    assert need(dim=100, batch_size=5000, negatives=100).total > usual
    assert need(dim=100, validate_every=1).total > usual


@pytest.mark.parametrize("model", ["transe", "transh", "transr", "sme_linear", "rescal", "ntn"])
def test_every_engine_has_its_formula(model: str) -> None:
    small, large = (
        training_memory(UMLS, load_recipe(model, None, None, {"dim": dim}), Options()).total for dim in (20, 200)
    )
    assert large > small > memory.PROGRAM


def test_negatives_that_a_batch_shares_cost_products_little_and_distances_much() -> None:
    shared = {"shared_negatives": True, "sampling": "uniform", "negatives": 512, "batch_size": 1024, "dim": 100}
    batch = {
        (model, each["shared_negatives"]): training_memory(
            UMLS, load_recipe(model, None, None, each | {"loss": "softmax"}), Options()
        ).lasting["batch"]
        for model in ("sme_linear", "transe")
        for each in (shared, {**shared, "shared_negatives": False})
    }
    assert 10 * batch["sme_linear", True] < batch["sme_linear", False]
    assert batch["transe", True] > batch["transe", False]


def test_too_much_is_refused_with_advice_for_what_needs_most() -> None:
    free = 2_000_000_000
    check_memory(need(dim=50), free)
    with pytest.raises(InputError, match=r"2\.0 GB are free\. Try a smaller dim, .*metric=lowrank"):
        check_memory(need(dim=2000), free)
    with pytest.raises(InputError, match="Try a smaller batch_size or fewer negatives"):
        check_memory(need(dim=100, batch_size=5000, negatives=2000), free)
    ranking = MemoryEstimate({"tables": 1_000_000_000}, {"ranking": 9_000_000_000})
    with pytest.raises(InputError, match="--chunk"):
        check_memory(ranking, free)


def test_what_else_a_process_holds_does_not_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "resident_memory", lambda: 10**12)
    with pytest.raises(InputError, match="are free"):
        check_memory(need(dim=2000), 2_000_000_000)


def test_commands_say_what_they_need_and_refuse_what_is_not_there(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train = ("train", "nations", "--model", "transe", "--set", "epochs=1", "--set", "dim=4", "--out", run)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "free_memory", lambda: 1_000_000)
        patch.setattr(memory, "resident_memory", lambda: 0)
        refused = command(*train)
        assert refused.code == 2
        assert "1.0 MB are free" in refused.err
        assert not run.exists()
        assert command(*train, "--ignore-memory").code == 0
        refused = command("evaluate", run)
        assert refused.code == 2
        assert "1.0 MB are free" in refused.err
        with pytest.raises(InputError, match=r"1\.0 MB are free"):
            transa.TransE(dim=4, epochs=1).fit(transa.load("nations"))
        transa.TransE(dim=4, epochs=1, options=Options(ignore_memory=True)).fit(transa.load("nations"))
    done = command("evaluate", run)
    assert done.code == 0
    assert "note: memory: about " in done.err
