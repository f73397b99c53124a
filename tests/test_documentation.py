"""The tutorial: every command works as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import transa

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
SOURCE = Path(transa.__file__).parent.parent

#: Runs lines of its standard input as commands of bash would call them, in one process: the start of Python is paid once.
SERVER = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from transa.cli import main
for line in sys.stdin:
    sys.argv = ["transa", *json.loads(line)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL.read_text("utf-8"), re.S)


@pytest.mark.skipif(os.name == "nt", reason="the commands are those of a shell")
def test_every_command_works_as_printed(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    server, client = tools / "server.py", tools / "transa"
    server.write_text(SERVER)
    for pipe in ("asked", "said"):
        os.mkfifo(tools / pipe)
    client.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        f"with open({str(tools / 'asked')!r}, 'w') as asked: asked.write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"with open({str(tools / 'said')!r}) as said: code, out, err = json.loads(said.readline())\n"
        "sys.stdout.write(out); sys.stderr.write(err); sys.exit(code)\n"
    )
    client.chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    folder = tmp_path / "work"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCE), "COLUMNS": "120"}
    # Each line that the client writes opens and closes the pipe; the loop keeps both ends of the server open.
    relay = f"exec 3<>{tools / 'asked'} 4<>{tools / 'said'}; exec {sys.executable} {server} <&3 >&4"
    with subprocess.Popen(["bash", "-c", relay], cwd=folder, env=environment) as process:
        try:
            script = "set -e -o pipefail\n" + "\n".join(blocks("sh"))
            shown = subprocess.run(
                ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
            )
        finally:
            process.kill()
    assert shown.returncode == 0, shown.stdout[-3000:] + shown.stderr[-3000:]
    assert "Traceback" not in shown.stderr and "error:" not in shown.stderr
    assert "look at the claims" in shown.stdout and "comedy" in shown.stdout.split("(Film 33, has_genre, ?)")[1]
    for name in (
        "answers.csv",
        "answers.json",
        "why.png",
        "map.png",
        "map.csv",
        "vectors.npz",
        "vectors.txt",
        "facts.ttl",
    ):
        assert (folder / name).stat().st_size > 0
    os.chdir(folder)
    for block in blocks("python"):
        exec(compile(block, str(TUTORIAL), "exec"), {})


@pytest.fixture(autouse=True)
def _back_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the folder of work when the test is done."""
    monkeypatch.chdir(Path.cwd())
