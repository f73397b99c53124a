"""Models in the layout of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file

import transa


@pytest.fixture(scope="module")
def model() -> transa.SMELinear:
    return transa.SMELinear(dim=6, epochs=2, options=transa.Options(engine="torch")).fit(transa.load("nations"))


def test_a_model_comes_back_with_its_answers(model: transa.SMELinear, tmp_path: Path) -> None:
    folder = model.save_pretrained(tmp_path / "model")
    again = transa.SMELinear.from_pretrained(folder)
    asked = {"head": "usa", "relation": "treaties", "top": 3}
    answers = [[(answer.name, answer.score) for answer in each.predict(**asked)] for each in (model, again)]
    assert answers[0] == answers[1] and len(answers[0]) == 3
    assert transa.load_model(folder).predict(**asked)[0].name == answers[0][0][0]
    assert again.recipe_ == model.recipe_ and again.graph_ == model.graph_


def test_the_folder_is_what_others_expect(model: transa.SMELinear, tmp_path: Path) -> None:
    folder = model.save_pretrained(tmp_path / "model", evaluation=model.evaluate(limit=20))
    assert {path.name for path in folder.iterdir()} == {
        *("config.json", "graph", "metrics.json", "model.safetensors", "README.md"),
    }
    tables = load_file(folder / "model.safetensors")
    assert tables["entity.vector"].shape == (14, 6)
    config = json.loads((folder / "config.json").read_text())
    assert config["library_name"] == "transa" and config["model_type"] == "sme_linear"
    _, head, text = (folder / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head) == {
        "library_name": "transa",
        "pipeline_tag": "graph-ml",
        "tags": ["knowledge-graph", "knowledge-graph-embedding", "link-prediction"],
    }
    assert "| side | MR | MRR |" in text and 'transa.SMELinear.from_pretrained("model")' in text


def test_what_cannot_be_saved_or_opened_is_said(model: transa.SMELinear, tmp_path: Path) -> None:
    folder = model.save_pretrained(tmp_path / "model")
    with pytest.raises(transa.InputError, match="not overwritten"):
        model.save_pretrained(folder)
    with pytest.raises(transa.InputError, match=r"holds a SME.*, not a model of TransE"):
        transa.TransE.from_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"not tables")
    with pytest.raises(transa.InputError, match=r"model\.safetensors: damaged"):
        transa.SMELinear.from_pretrained(folder)
    with pytest.raises(transa.InputError, match="no such run folder"):
        transa.SMELinear.from_pretrained(tmp_path / "nothing")
