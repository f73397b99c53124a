from __future__ import annotations

import os
from pathlib import Path

import pytest

from transa.errors import InputError
from transa.storage import atomic_file, atomic_folder


def ours(name: str) -> bool:
    return name.endswith(".txt")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# ---------------------------------------------------------------------- files


def test_a_file_appears_when_it_is_complete(tmp_path):
    with atomic_file(tmp_path / "x.txt") as file:
        file.write(b"content")
        assert not (tmp_path / "x.txt").exists()
    assert (tmp_path / "x.txt").read_bytes() == b"content"
    assert names(tmp_path) == ["x.txt"]


def test_a_file_is_replaced_only_on_request(tmp_path):
    (tmp_path / "x.txt").write_text("old")
    with pytest.raises(InputError, match=r"x.txt: exists already; pass --overwrite"), atomic_file(tmp_path / "x.txt"):
        pytest.fail("opened")
    with atomic_file(tmp_path / "x.txt", overwrite=True) as file:
        file.write(b"new")
        assert (tmp_path / "x.txt").read_text() == "old"
    assert (tmp_path / "x.txt").read_text() == "new"


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_failure_leaves_no_file(tmp_path, overwrite):
    if overwrite:
        (tmp_path / "x.txt").write_text("old")
    before = names(tmp_path)
    with pytest.raises(RuntimeError, match="boom"), atomic_file(tmp_path / "x.txt", overwrite=overwrite) as file:
        file.write(b"half")
        raise RuntimeError("boom")
    assert names(tmp_path) == before
    assert not overwrite or (tmp_path / "x.txt").read_text() == "old"


def test_what_the_system_refuses_is_an_input_error(tmp_path):
    with (
        pytest.raises(InputError, match=r"x.txt: cannot be written: No space left on device"),
        atomic_file(tmp_path / "x.txt"),
    ):
        raise OSError(28, "No space left on device")
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_parent_must_exist(tmp_path, kind):
    path = tmp_path / "nowhere" / "x"
    writing = atomic_file(path) if kind == "file" else atomic_folder(path, ours=ours)
    with pytest.raises(InputError, match="nowhere does not exist"), writing:
        pytest.fail("opened")


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="x: is a folder"), atomic_file(tmp_path / "x", overwrite=True):
        pytest.fail("opened")


def test_a_link_to_a_file_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_file(tmp_path / "link.txt", overwrite=True) as file:
        file.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


# ---------------------------------------------------------------------- folders


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with atomic_folder(tmp_path / "x", ours=ours) as folder:
        (folder / "a.txt").write_text("content")
        assert not (tmp_path / "x").exists()
    assert (tmp_path / "x" / "a.txt").read_text() == "content"
    assert names(tmp_path) == ["x"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "x").mkdir()
    with atomic_folder(tmp_path / "x", ours=ours) as folder:
        (folder / "a.txt").touch()
    assert names(tmp_path / "x") == ["a.txt"]


def test_a_folder_is_replaced_as_a_whole_and_only_on_request(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old.txt").touch()
    with (
        pytest.raises(InputError, match="x: exists already; pass --overwrite"),
        atomic_folder(tmp_path / "x", ours=ours),
    ):
        pytest.fail("opened")
    with atomic_folder(tmp_path / "x", overwrite=True, ours=ours) as folder:
        (folder / "new.txt").touch()
        assert names(tmp_path / "x") == ["old.txt"]
    assert names(tmp_path / "x") == ["new.txt"]
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("foreign", ["thesis.doc", "folder.txt/"])
def test_a_folder_with_other_things_is_never_replaced(tmp_path, foreign):
    (tmp_path / "x").mkdir()
    other = tmp_path / "x" / foreign.rstrip("/")
    other.mkdir() if foreign.endswith("/") else other.touch()
    with pytest.raises(InputError, match="holds other files"), atomic_folder(tmp_path / "x", overwrite=True, ours=ours):
        pytest.fail("opened")
    assert other.exists()


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(InputError, match="is not a folder"), atomic_folder(tmp_path / "x", overwrite=True, ours=ours):
        pytest.fail("opened")


@pytest.mark.parametrize("name", [".", "../here"])
def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="is the current folder"), atomic_folder(Path(name), overwrite=True, ours=ours):
        pytest.fail("opened")


def test_a_failure_leaves_the_old_folder(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old.txt").write_text("old")
    with pytest.raises(RuntimeError, match="boom"), atomic_folder(tmp_path / "x", overwrite=True, ours=ours) as folder:
        (folder / "new.txt").touch()
        raise RuntimeError("boom")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "old.txt").read_text() == "old"


def test_an_exchange_that_is_cut_short_brings_the_old_folder_back(tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old.txt").write_text("old")
    rename = Path.rename

    def fail_in_the_middle(self, target):
        if (self / "new.txt").exists():
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_in_the_middle)
    writing = atomic_folder(tmp_path / "x", overwrite=True, ours=ours)
    with pytest.raises(InputError, match="x: cannot be written: Input/output error"), writing as folder:
        (folder / "new.txt").touch()
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["old.txt"]


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with atomic_folder(tmp_path / "link", ours=ours) as folder:
        (folder / "a.txt").touch()
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["a.txt"]
    assert names(tmp_path) == ["link", "real"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no handle on a folder")
def test_everything_is_brought_to_the_disk_before_it_is_put_in_place(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("transa.storage.sync", lambda path: synced.append((path.name, (tmp_path / "x").exists())))
    with atomic_folder(tmp_path / "x", ours=ours) as folder:
        (folder / "a.txt").touch()
    assert synced == [("a.txt", False), (folder.name, False), (tmp_path.name, True)]
