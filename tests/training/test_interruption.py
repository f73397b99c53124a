"""Runs that are cut short, by a signal, a full disk or another process: what is kept, and that they go on with the same bits."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import transa
from tests.training.helpers import same_bits
from transa.errors import InputError
from transa.training import Options, Progress, RunFolder, Stopped, Trainer, recipe_from

resource = pytest.importorskip("resource", reason="limits, signals and forks are those of Unix")
UMLS = transa.load("umls")
RECIPE = recipe_from({"model": "transe", "dim": 32, "epochs": 6, "learning_rate": 0.01, "optimizer": "adam"})
OPTIONS = Options(checkpoint_epochs=1)
TRAIN = ("train", "umls", "--model", "transe", "--set", "dim=8", "--set", "epochs=6")


class Cut(Exception):  # noqa: N818
    """Ends a run from its callback."""


def weights(folder: Path) -> dict[str, Any]:
    return RunFolder(folder).read_tensors("weights.safetensors")[0]


def trainer(folder: Path, recipe: Any = RECIPE) -> Trainer:
    return Trainer(UMLS, recipe, OPTIONS, RunFolder(folder))


def cut_after(last: int) -> Callable[[Progress], None]:
    def callback(progress: Progress) -> None:
        if progress.epoch == last:
            raise Cut

    return callback


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """The tables that an undisturbed run ends with."""
    return Trainer(UMLS, RECIPE).fit().tensors()


# ---------------------------------------------------------------------- killed


@pytest.mark.slow
def test_killed_at_random_and_while_a_checkpoint_is_written(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "reliability" / "crash.py"
    small = [word for field in ("epochs=12", "negatives=1", "dim=30") for word in ("--set", field)]
    command = [sys.executable, str(script), "--no-record", "--dataset", "umls", "--kills", "3", "--seed", "1", *small]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["umls"]
    assert found["kills"] == 3
    assert found["found a checkpoint half written"] >= 1
    assert found["runs identical to the undisturbed one"] == found["runs"]


@pytest.mark.parametrize("moment", ["graph", "checkpoint.safetensors", "warm start"])
def test_a_run_cut_before_its_first_checkpoint_is_resumed_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    recipe = recipe_from(
        {"model": "transr", "dim": 8, "epochs": 2, "warm_epochs": 2, "learning_rate": 0.0001, "entity_norm": "ball"}
    )

    def cut(*_: object, **__: object) -> None:
        raise Cut

    with monkeypatch.context() as patch, pytest.raises(Cut):
        if moment == "graph":
            patch.setattr("transa.data.KnowledgeGraph.save", cut)
        elif moment == "warm start":
            patch.setattr(Trainer, "_warm_start", cut)
        else:
            patch.setattr(RunFolder, "write_tensors", cut)
        trainer(tmp_path / "run", recipe).fit()
    assert not RunFolder(tmp_path / "run").holds("checkpoint.safetensors")
    with pytest.raises(InputError, match="--resume"):
        trainer(tmp_path / "run", recipe).fit()
    trainer(tmp_path / "run", recipe).fit(resume=True)
    assert same_bits(weights(tmp_path / "run"), Trainer(UMLS, recipe).fit().tensors())
    assert RunFolder(tmp_path / "run").graph() == UMLS
    assert RunFolder(tmp_path / "run").config()["warm_start"]["epochs"] == 2


@pytest.mark.parametrize("left", [(), (".lock", ".owner", ".config.json.0123abcd.tmp")])
def test_a_run_killed_before_its_configuration_was_written_is_resumed_from_the_start(
    command: Callable[..., Any], tmp_path: Path, left: tuple[str, ...]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in left:
        (run / name).write_text("half")
    done = command(*TRAIN, "--out", run, "--resume")
    assert done.code == 0
    assert "training starts anew" in done.err
    assert command(*TRAIN, "--out", tmp_path / "whole").code == 0
    assert same_bits(weights(run), weights(tmp_path / "whole"))
    assert not list(run.glob(".*.tmp"))


def test_a_folder_of_other_files_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("of the user")
    with pytest.raises(InputError, match="holds no run to resume"):
        trainer(tmp_path).fit(resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_a_run_killed_at_any_file_before_its_first_checkpoint_ends_with_the_same_bits(tmp_path: Path) -> None:
    script = Path(__file__).parent / "killed_at_the_start.py"
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for moment in ("open .lock", "rename config.json", "rename graph", "rename checkpoint.safetensors"):
        assert any(event.endswith(moment) for event in found)
    nothing_left = [event for event in found if "os.mkdir the folder" in event]
    assert nothing_left
    assert [event for event, end in found.items() if end != "the same"] == nothing_left[:1]


def test_what_a_killed_process_left_half_written_is_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Cut):
        trainer(folder).fit(cut_after(2))
    (folder / ".checkpoint.safetensors.0123abcd.tmp").write_bytes(b"half")
    (folder / ".graph.0123abcd.tmp").mkdir()
    (folder / ".graph.0123abcd.tmp" / "train.parquet").write_bytes(b"half")
    (folder / ".mine.tmp").write_text("of the user")
    trainer(folder).fit(resume=True)
    assert [entry.name for entry in folder.glob(".*.tmp")] == [".mine.tmp"]


def test_a_model_without_a_checkpoint_is_not_trained_over(tmp_path: Path) -> None:
    transa.TransE(dim=8, epochs=1, options=Options(engine="numba")).fit(UMLS).save(tmp_path / "run")
    before = weights(tmp_path / "run")
    with pytest.raises(InputError, match="without a checkpoint"):
        Trainer(UMLS, RunFolder(tmp_path / "run").recipe(), folder=RunFolder(tmp_path / "run")).fit(resume=True)
    assert same_bits(weights(tmp_path / "run"), before)


# ---------------------------------------------------------------------- asked to stop


def test_a_trainer_that_is_asked_to_stop_keeps_a_checkpoint(tmp_path: Path, whole: dict[str, Any]) -> None:
    first = Trainer(UMLS, RECIPE, None, RunFolder(tmp_path / "run"))
    with pytest.raises(Stopped, match="after epoch 4 of 6"):
        first.fit(lambda progress: first.stop() if progress.epoch == 3 else None)
    assert RunFolder(tmp_path / "run").read_tensors("checkpoint.safetensors")[1]["epoch"] == 4
    trainer(tmp_path / "run").fit(resume=True)
    assert same_bits(weights(tmp_path / "run"), whole)


def signalled(monkeypatch: pytest.MonkeyPatch, number: int, times: int) -> None:
    """Send a signal to this very process in the middle of epoch 3."""
    one_epoch = Trainer._one_epoch

    def one(self: Trainer) -> Progress:
        if self.epoch == 2:
            for _ in range(times):
                signal.raise_signal(number)
        return one_epoch(self)

    monkeypatch.setattr(Trainer, "_one_epoch", one)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 2])
def test_signals_end_the_command_with_a_checkpoint_and_a_way_on(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int, times: int
) -> None:
    run = tmp_path / "a run"
    with monkeypatch.context() as patch:
        signalled(patch, number, times)
        result = command(*TRAIN, "--out", run)
    assert result.code == code
    assert f"Go on with: transa {' '.join(TRAIN)} --out '{run}' --resume" in result.err
    kept = RunFolder(run).read_tensors("checkpoint.safetensors")[1]["epoch"]
    assert kept == (3 if times == 1 else 0)
    assert not RunFolder(run).holds("weights.safetensors")
    again = command(*TRAIN, "--out", run, "--resume")
    assert again.code == 0
    assert command(*TRAIN, "--out", tmp_path / "whole").code == 0
    assert same_bits(weights(run), weights(tmp_path / "whole"))


def test_a_signal_ends_a_reproduction_with_a_checkpoint_and_the_same_command_goes_on(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = [
        "reproduce",
        "table2",
        "--models",
        "transe:paper",
        "--datasets",
        "umls",
        "--set",
        "epochs=6",
        "--set",
        "dim=8",
    ]
    where = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    with monkeypatch.context() as patch:
        signalled(patch, signal.SIGTERM, 1)
        result = command(*what, *where)
    assert result.code == 143
    assert "Go on with: transa reproduce table2" in result.err
    assert "--resume" not in result.err
    (run,) = (tmp_path / "runs").iterdir()
    assert RunFolder(run).read_tensors("checkpoint.safetensors")[1]["epoch"] == 3
    assert command(*what, *where).code == 0
    assert len(list((tmp_path / "results").glob("umls_transe*.json"))) == 1


# ---------------------------------------------------------------------- no room, no permission


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own; skipped where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Take all room on a disk but a little."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    filler.write_bytes(bytes(free - left))
    return filler


def test_a_full_disk_is_an_error_that_names_file_and_room_and_training_goes_on(
    small_disk: Path, whole: dict[str, Any]
) -> None:
    run = small_disk / "run"
    with pytest.raises(Cut):
        trainer(run).fit(cut_after(2))
    size = (run / "checkpoint.safetensors").stat().st_size
    filler = fill(small_disk, left=32_768)
    assert size > 32_768
    with pytest.raises(
        InputError, match=rf"checkpoint\.safetensors: .*No space left.*needs {size / 1000:.1f} kB, and .* free in"
    ):
        trainer(run).fit(resume=True)
    assert not list(run.glob(".*.tmp"))
    assert RunFolder(run).read_tensors("checkpoint.safetensors")[1]["epoch"] == 2
    filler.unlink()
    trainer(run).fit(resume=True)
    assert same_bits(weights(run), whole)


def test_a_file_that_grows_too_large_is_the_same(tmp_path: Path, whole: dict[str, Any]) -> None:
    run = tmp_path / "run"
    with pytest.raises(Cut):
        trainer(run).fit(cut_after(2))
    size = (run / "checkpoint.safetensors").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, hard))
    try:
        with pytest.raises(InputError, match=rf"checkpoint\.safetensors: .*too large.*needs {size / 1000:.1f} kB"):
            trainer(run).fit(resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    trainer(run).fit(resume=True)
    assert same_bits(weights(run), whole)


def test_a_disk_that_is_full_from_the_start_is_an_error(
    command: Callable[..., Any], small_disk: Path, tmp_path: Path
) -> None:
    fill(small_disk, left=8_192)
    result = command(*TRAIN, "--out", small_disk / "run")
    assert result.code == 2
    assert f"{small_disk}/run" in result.err
    assert "No space left" in result.err
    assert "Traceback" not in result.err


def test_a_read_only_disk_is_an_error_and_the_run_stays(
    command: Callable[..., Any], small_disk: Path, whole: dict[str, Any]
) -> None:
    run = small_disk / "run"
    trainer(run).fit()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for out, resume in ((run, ["--resume"]), (small_disk / "other", [])):
        result = command("train", "umls", "--out", out, *resume)
        assert result.code == 2
        assert f"{out}: cannot be written: Read-only file system" in result.err
    assert command("evaluate", run, "--limit", "5").code == 0
    assert same_bits(weights(run), whole)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; a read-only disk stands in for it")
def test_a_folder_without_permission_is_an_error(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    result = command(*TRAIN, "--out", tmp_path / "locked" / "run")
    assert result.code == 2
    assert "locked/run: cannot be written: Permission denied" in result.err


# ---------------------------------------------------------------------- two at a time


def other_process(work: Callable[[], int]) -> int:
    """Do some work in another process; return its number."""
    process = os.fork()
    if process == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return process


@contextmanager
def training_elsewhere(path: Path, *, resume: bool) -> Iterator[int]:
    """Have another process hold a run folder; hand out its number."""
    (ready, is_ready), (go, may_go) = os.pipe(), os.pipe()

    def hold() -> int:
        os.close(may_go)
        folder = RunFolder(path)
        folder.open(resume=resume)
        os.write(is_ready, b".")
        os.read(go, 1)
        folder.close()
        return 0

    process = other_process(hold)
    os.close(is_ready)
    try:
        assert os.read(ready, 1) == b"."
        yield process
    finally:
        os.close(may_go)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        os.close(ready)
        os.close(go)


def test_the_second_process_is_told_who_trains_in_the_folder(command: Callable[..., Any], tmp_path: Path) -> None:
    with training_elsewhere(tmp_path / "run", resume=False) as process:
        result = command(*TRAIN, "--out", tmp_path / "run")
    assert result.code == 2
    assert f"{tmp_path / 'run'}: another process ({process} on " in result.err
    assert command(*TRAIN, "--out", tmp_path / "run").code == 0


def test_of_many_processes_one_gets_a_new_folder(tmp_path: Path) -> None:
    start = os.pipe()

    def work() -> int:
        os.close(start[1])
        os.read(start[0], 1)  # until this end of the pipe is closed everywhere: until all are there
        folder = RunFolder(tmp_path / "run")
        try:
            folder.open(resume=False)
        except InputError:
            return 1
        folder.write_json("config.json", {"winner": os.getpid()})
        folder.close()
        return 0

    processes = [other_process(work) for _ in range(8)]
    os.close(start[1])
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    assert sorted(codes) == [0] + [1] * 7
    assert RunFolder(tmp_path / "run").read_json("config.json") == {"winner": processes[codes.index(0)]}


def test_a_run_that_another_process_finished_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    claim = RunFolder._claim

    def claim_late(self: RunFolder) -> None:
        self.path.mkdir()
        self.write_json("config.json", {})
        claim(self)

    monkeypatch.setattr(RunFolder, "_claim", claim_late)
    with pytest.raises(InputError, match="holds a run already"):
        folder.open(resume=False)


def test_the_demo_does_not_delete_what_another_process_trains(command: Callable[..., Any], tmp_path: Path) -> None:
    RunFolder(tmp_path).write_json("config.json", {})
    with training_elsewhere(tmp_path, resume=True):
        result = command("demo", "--out", tmp_path)
    assert result.code == 2
    assert "another process" in result.err
    assert (tmp_path / "config.json").exists()
