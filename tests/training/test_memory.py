"""Memory: what is estimated, what the system has, and that a command refuses rather than being killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transa
from transa.errors import InputError
from transa.training import Options, load_recipe, recipe_from
from transa.training import memory as memory_of
from transa.training.memory import MemoryEstimate, available, check_memory, resident, training_memory

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
    assert large > small > memory_of.PROGRAM


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
    with pytest.raises(InputError, match="Try a smaller batch or fewer negatives"):
        check_memory(need(dim=100, batch_size=5000, negatives=2000), free)
    ranking = MemoryEstimate({"program": 1_000_000_000}, {"ranking": 9_000_000_000})
    with pytest.raises(InputError, match="--chunk"):
        check_memory(ranking, free)


def test_what_else_a_process_holds_does_not_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_of, "resident", lambda: 10**12)
    with pytest.raises(InputError, match="are free"):
        check_memory(need(dim=2000), 2_000_000_000)


def test_commands_say_what_they_need_and_refuse_what_is_not_there(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train = ("train", "nations", "--model", "transe", "--set", "epochs=1", "--set", "dim=4", "--out", run)
    with monkeypatch.context() as patch:
        patch.setattr(memory_of, "available", lambda: 1_000_000)
        patch.setattr(memory_of, "resident", lambda: 0)
        refused = command(*train)
        assert refused.code == 2
        assert "1.0 MB are free" in refused.err
        assert not run.exists()
        assert command(*train, "--ignore-memory").code == 0
        refused = command("evaluate", run)
        assert refused.code == 2
        assert "1.0 MB are free" in refused.err
    done = command("evaluate", run)
    assert done.code == 0
    assert "note: memory: about " in done.err


# ---------------------------------------------------------------------- what the system says


def system(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


MEMINFO = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n"}


def test_without_groups_it_is_what_the_machine_has(tmp_path: Path) -> None:
    assert available(system(tmp_path, MEMINFO)) == 8000 * 1024


def test_an_unknown_system_is_not_refused(tmp_path: Path) -> None:
    assert available(tmp_path) is None
    assert resident(tmp_path) == 0


@pytest.mark.parametrize("limit", ["max", "1000000"])
def test_the_limit_of_a_group_counts(tmp_path: Path, limit: str) -> None:
    group = "sys/fs/cgroup/box/inner"
    files = {
        "proc/self/cgroup": "0::/box/inner\n",
        f"{group}/memory.max": "max\n",
        f"{group}/memory.current": "5000\n",
        f"{group}/memory.stat": "inactive_file 3000\n",
        "sys/fs/cgroup/box/memory.max": f"{limit}\n",
        "sys/fs/cgroup/box/memory.current": "400000\n",
        "sys/fs/cgroup/box/memory.stat": "anon 1\ninactive_file 100000\n",
    }
    found = available(system(tmp_path, MEMINFO | files))
    assert found == (8000 * 1024 if limit == "max" else 700_000)


def test_the_limit_of_an_older_group_counts(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/box"
    files = {
        "proc/self/cgroup": "5:cpu:/\n4:memory:/box\n",
        f"{group}/memory.limit_in_bytes": "1000000\n",
        f"{group}/memory.usage_in_bytes": "400000\n",
        f"{group}/memory.stat": "total_inactive_file 0\n",
    }
    assert available(system(tmp_path, MEMINFO | files)) == 600_000
