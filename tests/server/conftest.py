"""Runs that are served, and clients of servers in this process and in others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import transa
from tests.inference.runs import kept
from transa.server.app import make_app
from transa.server.limits import Limits
from transa.server.runs import open_runs
from transa.training import RunFolder

LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="session")
def umls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of TransA on UMLS after a few epochs; tests that write verdicts copy it."""
    folder = tmp_path_factory.mktemp("served") / "umls"
    model = transa.TransA(dim=16, epochs=3, recipe="modern", options=transa.Options(engine="torch"))
    model.trainer(transa.load("umls"), RunFolder(folder), "umls").fit()
    transa.load_model(folder).trained_.confidence  # noqa: B018  # is kept in the folder
    return folder


@pytest.fixture
def copied(umls: Path, tmp_path: Path) -> Path:
    """A copy of the run, to write to."""
    return Path(shutil.copytree(umls, tmp_path / "umls"))


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entities e0 to e7 in a row, whose right answers are known."""
    return kept(tmp_path_factory.mktemp("served") / "line", named=True)


@contextmanager
def client_of(*runs: Path, limits: Limits | None = None, **options: object) -> Iterator[TestClient]:
    """Serve runs in this process."""
    app = make_app(open_runs(runs), limits=limits, **options)  # type: ignore[arg-type]
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def client(umls: Path, line: Path) -> Iterator[TestClient]:
    """Both runs, served in this process."""
    with client_of(umls, line) as client:
        yield client


Served = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def started() -> Iterator[Served]:
    """Start ``transa serve`` in a process of its own; returns the process and its URL."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-m", "transa", "serve", *map(str, arguments), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("Serving "), said
        return process, said.split(" at ")[1].split()[0].rstrip("/")

    yield start
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
