"""A run is read once: its configuration, its graph and its weights, by every command and every question."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import transa
from tests.inference.runs import kept, line, on_a_line
from transa.data import KnowledgeGraph
from transa.evaluation.ranking import Ranker
from transa.inference import Confidence, Trained, explain
from transa.training import RunFolder, recipe_from

SOURCE = Path(transa.__file__).parent.parent

#: Runs commands, and prints how often each opened the configuration, the graph and the weights. Python reports the files that it opens;
#: safetensors opens its files by itself, so that its calls are counted.
COUNTING = """
import json, os, sys
from collections import Counter
import transa.training.run as run
from transa.cli import main

opened = Counter()

def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        opened[os.path.basename(arguments[0])] += 1

def counted(name, function):
    def call(place, *rest, **options):
        opened[name] += 1
        return function(place, *rest, **options)
    return call

sys.addaudithook(hook)
run.safe_open, run.load = counted("weights.safetensors", run.safe_open), counted("graph", run.load)
said = {}
for arguments in json.loads(sys.argv[1]):
    opened.clear()
    sys.argv = ["transa", *arguments]
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    said[arguments[0]] = [code, *(opened[name] for name in ("config.json", "graph", "weights.safetensors"))]
print("SAID" + json.dumps(said))
"""


def test_every_command_reads_each_file_of_a_run_once(tmp_path: Path) -> None:
    run, triples = str(kept(tmp_path / "run")), tmp_path / "triples.csv"
    triples.write_text("head,relation,tail\ne1,next,e9\n")
    (tmp_path / "known.csv").write_text("head,relation,tail\ne1,next,e2\n")
    commands = [
        ("evaluate", run, "--split", "valid"),
        ("classify", run, "--split", "valid"),
        ("predict", run, "--head", "e1", "--relation", "next"),
        ("check", run, str(tmp_path / "known.csv")),
        ("discover", run, "--parts", str(tmp_path / "parts.jsonl")),
        ("explain", run, "e1", "next", "e2"),
        ("neighbours", run, "e1"),
        ("export", run, "--to", str(tmp_path / "facts.npz")),
        ("map", run, "--picture", str(tmp_path / "map.png")),
    ]
    found = subprocess.run(
        [sys.executable, "-c", COUNTING, json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    said = json.loads(found.stdout.rpartition("SAID")[2]) if "SAID" in found.stdout else found.stderr
    assert said == {arguments[0]: [0, 1, 1, 1] for arguments in commands}


def test_a_folder_sees_what_it_has_written_itself(tmp_path: Path) -> None:
    folder = RunFolder(kept(tmp_path / "run"))
    assert folder.config() is folder.config() and folder.graph() is folder.graph()
    other = KnowledgeGraph.from_triples([("a", "r", "b")])
    folder.write_start(other, recipe_from({"model": "um", "dim": 7}), source="elsewhere")
    assert (folder.recipe().dim, folder.config()["source"], folder.graph()) == (7, "elsewhere", other)


def test_a_folder_reads_again_what_another_process_wrote_before_it_had_the_lock(tmp_path: Path) -> None:
    mine, theirs = RunFolder(kept(tmp_path / "run")), RunFolder(tmp_path / "run")
    assert mine.recipe().dim == 2
    theirs.write_config(theirs.graph(), recipe_from({"model": "transe", "dim": 9}))
    mine.open(resume=True)
    try:
        assert mine.recipe().dim == 9
    finally:
        mine.close()


def test_an_explanation_takes_one_ranker_for_each_model_and_one_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    ranker, fit = Ranker.__init__, Confidence.fit.__func__  # type: ignore[attr-defined]

    def rank(self: Ranker, *rest: object) -> None:
        made.append("ranker")
        ranker(self, *rest)

    def calibrate(kind: type[Confidence], *rest: object) -> Confidence:
        made.append("calibration")
        return fit(kind, *rest)  # type: ignore[no-any-return]

    monkeypatch.setattr(Ranker, "__init__", rank)
    monkeypatch.setattr(Confidence, "fit", classmethod(calibrate))
    one = Trained(on_a_line(line(), "transa", metric="diagonal"), line())
    found = explain(one, "e2", "next", "e3")
    explain(one, "e3", "next", "e4")
    assert found.without is not None
    assert (made.count("ranker"), made.count("calibration")) == (1 + 2, 1)  # the model's, and two without the metric
