"""Nothing in the package can run code from a file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "transa"
PROJECT = SOURCE.parents[1]

MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "tarfile", "zipfile"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {("torch", "load"), ("torch", "save"), ("np", "load"), ("numpy", "load"), ("os", "system"), ("yaml", "load")}


def found_in(source: str) -> list[str]:
    """Name what could run code from a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                found.append(node.func.id)
            if any(
                keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False" for keyword in node.keywords
            ):
                found.append("allow_pickle")
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.value.id, node.attr) in METHODS
        ):
            found.append(f"{node.value.id}.{node.attr}")
    return found


def test_no_file_of_the_package_uses_what_runs_code_from_files() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    assert {str(path): found for path in files if (found := found_in(path.read_text("utf-8")))} == {}


FORBIDDEN = [
    "import pickle",
    "from pickle import loads",
    "import joblib",
    "import shelve",
    "import marshal",
    "import tarfile",
    "import torch\ntorch.load('x')",
    "import numpy as np\nnp.load('x', allow_pickle=True)",
    "eval('1')",
    "exec('1')",
]


@pytest.mark.parametrize("source", FORBIDDEN)
def test_the_search_finds_them(source: str) -> None:
    assert found_in(source)


def test_the_linter_forbids_them_too(tmp_path: Path) -> None:
    for number, source in enumerate(FORBIDDEN):
        (tmp_path / f"case_{number}.py").write_text(source + "\n")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--no-cache",
        "--select",
        "S,TID251",
        "--output-format",
        "concise",
    ]
    configured = [*command, "--config", str(PROJECT / "pyproject.toml"), str(tmp_path)]
    lines = subprocess.run(configured, capture_output=True, text=True).stdout.splitlines()
    for number, source in enumerate(FORBIDDEN):
        assert any(f"case_{number}.py" in line for line in lines), source
