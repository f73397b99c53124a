"""README, CONTRIBUTING and docs: every command and every line of Python works as it is printed.

A reader goes from the top of a page to its end in one folder. Where a page speaks of benchmark graphs or of runs on them, small graphs
stand in under their names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transa
from transa.data.registry import whereabouts
from transa.evaluation.scores import scores_of

ROOT = Path(__file__).parent.parent
SOURCE = Path(transa.__file__).parent.parent
#: The pages, with what a reader has before the first line.
PAGES = {
    "README.md": ("films.csv", "runs/wn11"),
    "docs/analysis.md": ("runs/wn11", "runs/wn11-transe"),
    "docs/auditing.md": (),
    "docs/bridges.md": (),
    "docs/data.md": ("films.csv", "films", "cast.csv"),
    "docs/design.md": (),
    "docs/evaluation.md": ("runs/wn11", "runs/wn18"),
    "docs/reproduction.md": (),
    "docs/rules.md": (),
    "docs/scale.md": (),
    "docs/serving.md": ("films",),
    "docs/text.md": (),
    "docs/tracking.md": (),
    "docs/tuning.md": (),
    "docs/tutorial.md": (),
}
#: How the commands begin that are not run, and why.
NOT_RUN = {
    "torchrun ": "starts workers on several machines",
    "transa train BIG --workers": "torchrun takes the place of the process; tests/cli/test_sharing.py starts workers",
    "transa evaluate runs/big --workers": "the same",
    "transa predict runs/big --workers": "the same",
    "make ": "sets up an environment and calls pytest; .ci/run does that on a clean clone",
    "python3 -m venv ": "installs from the network; .ci/run does the same by way of make",
    "transa serve ": "serves until it is told to stop; tests/server does that",
    "curl ": "asks a server; tests/server asks every call",
    "transa reproduce table2 --budget": "trains for an hour; tests/cli/test_reproduce.py trains one small cell",
    "transa reproduce table2 --models": "trains for half an hour or more",
    "transa reproduce table4 --models": "trains for minutes on a benchmark graph",
    "transa reproduce metric": "trains for hours, over seeds",
    "transa reproduce docs": "writes the page from the records of the repository; tests/reproduction holds it to them",
}
#: Runs on stand-ins; few epochs, since nobody looks at the figures.
RUNS = {
    "runs/wn11": "transa train wn11 --recipe authors --set epochs=3 --set dim=8",
    "runs/wn11-transe": "transa train wn11 --model transe --set epochs=3 --set dim=8",
    "runs/wn18": "transa train wn18 --set epochs=3 --set dim=8",
}

#: Takes commands and the folders to run them in from a pipe: the start of Python is paid once.
SERVER = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from transa.cli import main
for line in sys.stdin:
    folder, arguments = json.loads(line)
    os.chdir(folder)
    sys.argv = ["transa", *arguments]
    out, err, code = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print(json.dumps([code, out.buffer.getvalue().decode(), err.getvalue()]), flush=True)
"""
CLIENT = """#!{python}
import json, os, sys
with open({asked!r}, "w") as asked:
    asked.write(json.dumps([os.getcwd(), sys.argv[1:]]) + "\\n")
with open({said!r}) as said:
    code, out, err = json.loads(said.readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
Shell = Callable[[str, Path], str]


def blocks(page: str) -> list[tuple[str, str]]:
    """Return language and text of the blocks of a page that are meant to be run."""
    return re.findall(r"```(sh|python)\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S)


def to_run(script: str) -> str:
    return "".join(line for line in script.splitlines(keepends=True) if not line.startswith(tuple(NOT_RUN)))


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Return what runs a script of bash in a folder, where `transa` and `python` are those under test."""
    if os.name == "nt":
        pytest.skip("the commands are those of a shell")
    tools = tmp_path_factory.mktemp("tools")
    asked, said, client = str(tools / "asked"), str(tools / "said"), tools / "transa"
    for pipe in (asked, said):
        os.mkfifo(pipe)
    (tools / "server.py").write_text(SERVER)
    client.write_text(CLIENT.format(python=sys.executable, asked=asked, said=said))
    client.chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    (tools / "data").mkdir()
    stand_ins(tools / "data")
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "COLUMNS": "120",
        "TRANSA_DATA": str(tools / "data"),
    }

    def run(script: str, folder: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", "set -e -o pipefail\n" + script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert "Traceback" not in done.stderr and "error:" not in done.stderr
        return done.stdout

    # Each line that the client writes opens and closes the pipe; the shell keeps both ends of the server open.
    relay = f"exec 3<>{asked} 4<>{said}; exec {sys.executable} {tools / 'server.py'} <&3 >&4"
    with subprocess.Popen(["bash", "-c", relay], env=environment) as process:
        try:
            yield run
        finally:
            process.kill()


def stand_ins(folder: Path) -> None:
    """Write Nations as WN18, and UMLS as WN11: with labels, and with the names that the documentation speaks of."""
    shutil.copytree(whereabouts("nations"), folder / "WN18")
    graph = transa.load("umls")
    entities, relations = list(graph.entities), list(graph.relations)
    relation = int(np.bincount(graph.train[:, 1]).argmax())
    head = int(np.bincount(graph.train[graph.train[:, 1] == relation, 0]).argmax())
    entities[head], relations[relation] = "__asia_1", "_has_part"
    (folder / "WN11").mkdir()
    for split in ("train", "valid", "test"):
        rows = [(*triple, 1) for triple in graph.triples(split).tolist()]
        rows += [] if split == "train" else [(tail, relation, head, -1) for head, relation, tail, _ in rows]
        text = "".join(f"{entities[h]}\t{relations[r]}\t{entities[t]}\t{label}\n" for h, r, t, label in rows)
        (folder / "WN11" / f"{split}.txt").write_text(text, "utf-8")


@pytest.fixture(scope="module")
def beginning(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what readers have: the films of the tutorial, and runs on benchmark graphs."""
    folder = tmp_path_factory.mktemp("beginning")
    shell(next(text for language, text in blocks("docs/tutorial.md") if language == "sh"), folder)
    shell("transa convert films.csv films --split 0.8,0.1,0.1", folder)
    (folder / "cast.csv").write_text("year,film,relation,person\n" + "1958,Vertigo,with,Kim Novak\n" * 10)
    for run, command in RUNS.items():
        shell(f"{command} --out {run}", folder)
    return folder


def follow(page: str, folder: Path, beginning: Path, shell: Shell) -> str:
    """Do what a page says, from its top to its end; return what the commands print."""
    for name in PAGES[page]:
        copy = shutil.copytree if (beginning / name).is_dir() else shutil.copy
        copy(beginning / name, folder / name)
    shown = ""
    given = {"transa": transa, "kg": transa.load("nations")}  # what the text around a block has named
    given["model"] = transa.TransA(dim=8, epochs=2).fit(given["kg"]).model_
    for language, text in blocks(page):
        if language == "sh":
            shown += shell(to_run(text), folder)
        else:
            exec(compile(text, page, "exec"), given)
    return shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, left when the test is done."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_page_with_blocks_is_followed_and_nothing_is_left_out_for_nothing() -> None:
    pages = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    assert {page for page in pages if blocks(page)} == set(PAGES)
    lines = [
        line for page in pages for language, text in blocks(page) if language == "sh" for line in text.splitlines()
    ]
    for start in NOT_RUN:
        assert any(line.startswith(start) for line in lines), start


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:::(pykeen|torch_max_mem|torch)")  # what PyKEEN does inside is not ours to warn of
@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/tutorial.md"])
def test_a_page_works_as_printed(page: str, folder: Path, beginning: Path, shell: Shell) -> None:
    follow(page, folder, beginning, shell)


@pytest.mark.slow
def test_the_tutorial_works_and_finds_what_it_promises(folder: Path, beginning: Path, shell: Shell) -> None:
    shown = follow("docs/tutorial.md", folder, beginning, shell)
    assert "look at the claims" in shown and "comedy" in shown.split("(Film 33, has_genre, ?)")[1]
    made = ("answers.csv", "why.png", "map.png", "map.csv", "vectors.npz", "vectors.txt", "facts.ttl")
    assert all((folder / name).stat().st_size > 0 for name in made)
    assert len(json.loads((folder / "answers.json").read_text())["questions"]) == 3


def test_the_model_of_ones_own_is_a_model() -> None:
    (code,) = [text for language, text in blocks("CONTRIBUTING.md") if language == "python"]
    made: dict[str, Any] = {"__name__": "distmult"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), made)
    model = made["DistMult"](4, 2, 3).initialise(0)
    triples = np.array([[0, 1, 2], [2, 1, 0]])
    scores = scores_of(model, triples)
    vectors, relations = model.entity.vector.numpy(), model.relation.vector.numpy()
    np.testing.assert_allclose(scores, [-(vectors[0] * relations[1] * vectors[2]).sum()] * 2, rtol=1e-5)
