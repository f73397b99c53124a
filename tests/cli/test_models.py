"""`transa models`."""

from __future__ import annotations

import json

from transa.models import MODELS


def test_models_lists_all_with_formula_size_and_cost(command) -> None:
    result = command("models")
    assert result.code == 0
    assert all(name in result.out for name in MODELS)
    listed = json.loads(command("models", "--json").out)
    assert list(listed) == list(MODELS)
    assert listed["rescal"] == {"formula": "-h^T W_r t", "size": "n k + m k^2", "cost": "k^2"}


def test_training_from_a_transe_says_so(command, tmp_path) -> None:
    options = ["--set", "epochs=1", "--set", "dim=4", "--set", "warm_epochs=2"]
    result = command("train", "nations", "--out", tmp_path / "run", "--model", "transr", *options, "--json")
    assert result.code == 0
    assert "started from a TransE of 2 epochs" in result.err
    assert json.loads(result.out)["warm_start"]["epochs"] == 2
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["warm_start"]["model"] == "transe"
