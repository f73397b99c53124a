"""Parts on disk train as one process does, and a run goes on from the end of an epoch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transa
from tests.training.helpers import same_bits, settings
from transa.errors import InputError
from transa.training import Options, Recipe, RunFolder, Stopped, Trainer
from transa.training.lanes import deal_entities
from transa.training.parts.engine import PartsEngine
from transa.training.parts.pairs import Pairs
from transa.training.parts.plan import parts_plan
from transa.training.parts.trainer import PartsTrainer
from transa.training.sharded.plan import Sizes

UMLS = transa.load("umls")
COMMON: dict[str, Any] = {"precision": "float32", "batch_size": 512, "learning_rate": 0.05, "epochs": 3, "lanes": 8}
RECIPES: dict[str, dict[str, Any]] = {
    "transe": {"model": "transe", "norm": 1, "negatives": 4, "optimizer": "adagrad_row", "loop_limit": 0.01},
    "diagonal": {
        "model": "transa",
        "metric": "diagonal",
        "metric_update": "gradient",
        "optimizer": "adam",
        "negatives": 8,
        "directional": True,
        "lane_negatives": True,
        "validate_every": 2,
        "validate_sample": 100,
    },
}


def trainer(folder: Path, name: str, parts: int = 4, **more: Any) -> PartsTrainer:
    recipe = settings(**COMMON, **RECIPES[name]).model_copy(update=more)
    return PartsTrainer(UMLS, recipe, Options(threads=1), RunFolder(folder), "umls", parts=parts)


@pytest.mark.parametrize(("name", "count"), [("transe", 1), ("diagonal", 2)])
def test_a_single_pair_trains_the_same_bits_as_one_process(tmp_path: Path, name: str, count: int) -> None:
    parts = trainer(tmp_path / "parts", name, parts=count)
    parts.fit()
    alone = Trainer(UMLS, parts.recipe, Options(threads=1, engine="numba"), RunFolder(tmp_path / "alone"))
    model = alone.fit()
    assert same_bits(RunFolder(tmp_path / "parts").model().tensors(), model.tensors())
    assert [row[2] for row in RunFolder(tmp_path / "parts").curve()] == pytest.approx(
        [row[2] for row in RunFolder(tmp_path / "alone").curve()]
    )


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_pairs_train_every_triple_once_and_know_all_facts_between_their_entities(parts: int) -> None:
    recipe = settings(**COMMON, model="transe")
    pairs = Pairs(UMLS, recipe, deal_entities(len(UMLS.entities), recipe.lanes, recipe.seed), parts)
    trained = []
    for number, pair in enumerate(pairs.every):
        ids = pairs.entities(pair)
        graph = pairs.part_graph(number, ids)
        inside = np.isin(UMLS.train[:, 0], ids) & np.isin(UMLS.train[:, 2], ids)
        expected = {(h, r, t) for h, r, t in UMLS.train[inside].tolist()}
        facts = graph.training_facts
        known = {
            (int(ids[query // facts.num_relations]), int(query % facts.num_relations), int(ids[tail]))
            for query, first, last in zip(
                facts.tails.queries, facts.tails.offsets, facts.tails.offsets[1:], strict=False
            )
            for tail in facts.tails.answers[first:last]
        }
        assert known == expected
        trained += [(int(ids[h]), r, int(ids[t])) for h, r, t in graph.train.tolist()]
    assert sorted(trained) == sorted(map(tuple, UMLS.train.tolist()))


def test_a_run_goes_on_from_the_last_epoch_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped after an epoch, and once more in the middle of one, when half of the parts were written."""
    whole = trainer(tmp_path / "whole", "diagonal")
    whole.fit()
    first = trainer(tmp_path / "run", "diagonal")
    first.stop()
    with suppress(Stopped):
        first.fit()
    assert json.loads((tmp_path / "run" / "checkpoint.json").read_text())["epoch"] == 1
    put_back = PartsEngine._put_back
    calls: list[int] = []

    def fail(self: PartsEngine, engine: Any) -> None:
        put_back(self, engine)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(PartsEngine, "_put_back", fail)
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path / "run", "diagonal").fit(resume=True)
    monkeypatch.undo()
    last = trainer(tmp_path / "run", "diagonal")
    last.fit(resume=True)
    assert same_bits(RunFolder(tmp_path / "run").model().tensors(), RunFolder(tmp_path / "whole").model().tensors())
    assert [row[1:] for row in RunFolder(tmp_path / "run").curve()] == [
        row[1:] for row in RunFolder(tmp_path / "whole").curve()
    ]
    assert last.best == whole.best


def test_four_parts_learn_almost_as_one(tmp_path: Path) -> None:
    how = {"epochs": 40, "learning_rate": 0.2, "dim": 16}
    trainer(tmp_path / "run", "transe", **how).fit()
    assert transa.load_model(tmp_path / "run").evaluate().summary()["both"]["mrr"] > 0.7  # 0.77 with all rows in memory


def test_rows_are_read_from_disk_with_the_same_answers(command, tmp_path: Path) -> None:
    trainer(tmp_path / "run", "transe").fit()
    for asked in (
        ("evaluate", tmp_path / "run", "--no-rules", "--limit", "50"),
        ("predict", tmp_path / "run", "--head", "acquired_abnormality", "--relation", "affects"),
    ):
        here, there = (json.loads(command(*asked, "--json", *more).out) for more in ([], ["--on-disk"]))
        assert {name for name in here if here[name] != there[name]} <= {"seconds", "rescored"}
    assert "goes with one process" in command("evaluate", tmp_path / "run", "--on-disk", "--workers", "2").err
    broken = sorted((tmp_path / "run").glob("weights.?/*.safetensors"))[0]
    broken.write_bytes(broken.read_bytes()[:-4])
    found = command("evaluate", tmp_path / "run", "--no-rules", "--on-disk")
    assert found.code == 2
    assert broken.name in found.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--parts", "3"], "3 do not divide the 8 lanes"),
        (["--parts", "2", "--workers", "2"], "not with --workers"),
        (["--parts", "2", "--set", "penalty=0.1", "--set", "penalty_rows=all"], "once for each pair"),
        (["--parts", "2", "--model", "transa", "--recipe", "paper"], "the closed form of W_r"),
    ],
)
def test_what_parts_cannot_do_is_said_first(command, tmp_path: Path, options: list[str], message: str) -> None:
    given = ["--model", "transe", "--recipe", "modern", *options]
    result = command("train", "nations", *given, "--out", tmp_path / "run")
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "run" / "config.json").exists()


def test_the_number_of_parts_is_that_of_the_run(command, tmp_path: Path) -> None:
    small = ["--model", "transe", "--recipe", "modern", "--set", "epochs=2", "--set", "dim=4"]
    assert command("train", "nations", *small, "--parts", "2", "--out", tmp_path / "run").code == 0
    other = command("train", "nations", *small, "--parts", "4", "--out", tmp_path / "run", "--resume")
    assert "started with the engine 'numba, 2 parts'" in other.err
    assert command("train", "nations", *small, "--parts", "2", "--out", tmp_path / "run", "--resume").code == 0


def test_more_parts_take_less_memory() -> None:
    recipe: Recipe = settings(model="transe", dim=128, negatives=64, batch_size=8192, precision="float32")
    sizes = Sizes(5_000_000, 1_000, 20_000_000)
    one, four, eight = (parts_plan(sizes, recipe, parts, mapped=True) for parts in (1, 4, 8))
    assert one.total > four.total > eight.total
    assert four.memory["tables"] == pytest.approx(one.memory["tables"] / 2, rel=0.01)
    with pytest.raises(InputError, match="3 do not divide"):
        parts_plan(sizes, recipe, 3)
