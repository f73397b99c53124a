"""The package as people install it: a wheel from the sdist, in an environment that has never seen the source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: object, cwd: Path) -> str:
    """Run a command as a user would, without what the tests set."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "NUMBA_CACHE", "COV_", "TRANSA"))
    }
    done = subprocess.run([*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from a copy of the source, so that nothing is left in it, and the wheel from the sdist."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(sys.executable, "-c", "from setuptools.build_meta import build_sdist; build_sdist('dist')", cwd=source)
    (packed,) = (source / "dist").glob("transa-*.tar.gz")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", packed, cwd=source)
    (found,) = (source / "dist").glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "transa"
    files = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= packed
    assert any(name.endswith("licenses/LICENSE") for name in packed)


@pytest.mark.slow
def test_an_installed_wheel_trains_and_predicts(wheel: Path, tmp_path: Path) -> None:
    environment, work = tmp_path / "environment", tmp_path / "work"
    work.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=work)
    python, transa = environment / "bin" / "python", environment / "bin" / "transa"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=work)
    (site,) = (environment / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")  # its own .pth files are not followed
    facts = "import importlib.metadata as m, transa; print(transa.__file__, transa.__version__, m.version('transa'))"
    where, version, installed = run(python, "-c", facts, cwd=work).split()
    assert Path(where).is_relative_to(environment) and version == installed

    train = ("train", "nations", "--model", "sme_linear", "--engine", "torch", "--set", "epochs=2", "--set", "dim=8")
    run(transa, *train, "--out", "run", cwd=work)
    assert "probability" in run(
        transa, "predict", "run", "--head", "usa", "--relation", "treaties", "-k", "3", cwd=work
    )
    assert "transe" in run(transa, "models", cwd=work)
    estimator = "import transa; print(transa.SMELinear(dim=4, epochs=1).fit(transa.load('nations')))"
    run(python, "-c", estimator, cwd=work)
