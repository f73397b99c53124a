"""What goes with a release: how to cite it, what runs elsewhere, and one place for the version."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import transa

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    assert "version" not in yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert re.fullmatch(r"\d+\.\d+\.\d+", transa.__version__)


def test_the_citation_has_what_the_format_demands() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= found.keys() and found["license"] == PROJECT["license"]
    assert found["references"][0]["identifiers"][0]["value"].removeprefix("arXiv:") in PROJECT["urls"]["Paper"]


def test_the_matrix_has_every_python_that_is_promised() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert promised and set(promised) <= set(matrix["python"]) and len(matrix["os"]) == 3


def test_the_workflow_is_one_that_github_takes() -> None:
    actionlint = shutil.which("actionlint", path=str(Path(sys.executable).parent)) or shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("actionlint is not installed")
    found = subprocess.run([actionlint, "-no-color"], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_records_say_nothing_of_the_machine_beyond_what_they_mean_to() -> None:
    for path in sorted((ROOT / "results").glob("*.json")):
        command = json.loads(path.read_text()).get("command", "")
        assert not re.search(r"(^|[ =])/", str(command)), path.name
