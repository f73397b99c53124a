"""Type checkers know the estimators: right calls are clean, and wrong ones are reported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transa

ROOT = Path(__file__).parent.parent
SOURCE = Path(transa.__file__).parent.parent

RIGHT = """
import transa
from transa.evaluation import Evaluation

graph = transa.load("umls")
model: transa.TransA = transa.TransA(
    20, epochs=5, learning_rate=0.1, metric="full", options=transa.Options(threads=2)
).fit(graph, callback=lambda progress: print(progress.loss))
found: Evaluation = model.evaluate(split="valid", limit=10)
names: list[str] = [answer.name for answer in model.predict(head="virus", relation="causes", top=3)]
dim: int = model.recipe_.dim
entities: int = len(model.graph_.entities) + model.model_.num_entities
grown: transa.TransA = model.extend([("virus", "causes", "something new")])
loaded: transa.Estimator = transa.load_model(model.save("run"))
shared: transa.TransA = transa.TransA.from_pretrained(model.save_pretrained("folder", evaluation=found))
asked: transa.KnowledgeGraph = transa.load("sparql:https://example.org/sparql", query="SELECT", header=None, split=(0.8, 0.1, 0.1))
framed: transa.KnowledgeGraph = transa.KnowledgeGraph.from_frame(graph.to_pandas("train"), head="head", tail="tail")
"""

#: A line each, with a word of what is wrong with it.
WRONG = {
    'transa.TransA(dim="many")': "dim",
    "transa.TransA(dimension=20)": "dimension",
    "transa.TransA(epochs=1.5)": "epochs",
    'transa.TransE(norm="L1")': "norm",
    'transa.TransE(loss="square")': "loss",
    "transa.TransE().fit([])": "fit",
    'transa.TransE().evaluate(split="dev")': "split|evaluate",
    'transa.TransE().predict(head="a", relations="r")': "relations",
    "transa.TransE().model": "model",
    "transa.TransZ()": "TransZ",
    'transa.load("umls", headers=True)': "headers",
}


def written(folder: Path) -> tuple[Path, Path]:
    right, wrong = folder / "right.py", folder / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text("import transa\n" + "\n".join(WRONG) + "\n")
    return right, wrong


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "transa" / "py.typed").exists()


def test_mypy_accepts_right_calls_and_reports_wrong_ones(tmp_path: Path) -> None:
    right, wrong = written(tmp_path)
    options = ["--strict", "--no-error-summary", "--config-file", ROOT / "pyproject.toml"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", ROOT / ".mypy_cache", right, wrong],
        capture_output=True,
        text=True,
        timeout=600,
        env={"MYPYPATH": str(SOURCE), "PATH": ""},
    )
    lines = [line for line in found.stdout.splitlines() if ": error:" in line]
    assert not [line for line in lines if "right.py" in line], found.stdout
    for number, (call, word) in enumerate(WRONG.items(), start=2):
        said = [line for line in lines if f"wrong.py:{number}:" in line]
        assert said and any(part in line for line in said for part in word.split("|")), (call, found.stdout)


def test_pyright_accepts_right_calls_and_reports_wrong_ones(tmp_path: Path) -> None:
    pyright = Path(sys.executable).parent / "pyright"
    if not pyright.exists() or not shutil.which("node"):
        pytest.skip("pyright or node is not installed")
    right, wrong = written(tmp_path)
    settings = {"extraPaths": [str(SOURCE)], "include": [right.name, wrong.name], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    options = ["--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    found = subprocess.run([pyright, *options], capture_output=True, text=True, timeout=600)
    if not found.stdout.startswith("{"):
        pytest.skip(f"pyright cannot run here: {(found.stdout + found.stderr)[-200:]}")
    errors = [each for each in json.loads(found.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert not [each for each in errors if each["file"].endswith("right.py")], errors
    lines = {each["range"]["start"]["line"] + 1 for each in errors}
    assert lines == set(range(2, 2 + len(WRONG))), errors
