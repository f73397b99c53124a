from __future__ import annotations

import os
from pathlib import Path

import pytest

from transa.data import load
from transa.data.streams import check_exists, format_suffix, open_bytes, stem
from transa.errors import InputError


@pytest.mark.parametrize(
    ("name", "suffix", "bare"),
    [
        ("train.tsv", ".tsv", "train"),
        ("Films.CSV.gz", ".csv", "Films"),
        ("x.NT.ZST", ".nt", "x"),
        ("train", "", "train"),
        ("train.gz", "", "train"),
        ("v1.2.train.txt", ".txt", "v1.2.train"),
    ],
)
def test_suffix_and_stem_of_a_name(name, suffix, bare):
    assert format_suffix(name) == suffix
    assert stem(Path("folder") / name) == bare


def test_a_missing_file_is_told_with_near_names(tmp_path):
    (tmp_path / "train.tsv").touch()
    (tmp_path / "weather.tsv").touch()
    with pytest.raises(InputError, match=r"trian.tsv: no such file or folder; did you mean 'train.tsv'\?"):
        check_exists(tmp_path / "trian.tsv")


def test_a_file_in_a_missing_folder_has_no_near_names(tmp_path):
    with pytest.raises(InputError, match=r"x.tsv: no such file or folder$"):
        check_exists(tmp_path / "nowhere" / "x.tsv")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is a folder, not a file"):
        open_bytes(tmp_path)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "x.tsv")
    with pytest.raises(InputError, match="is a pipe"):
        open_bytes(tmp_path / "x.tsv")


def test_a_name_in_no_encoding_is_an_input_error(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tsv"))
    try:
        path.write_text("a\tr\tb\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    with pytest.raises(InputError, match="not valid Unicode"):
        load(path)


def test_a_name_that_the_system_does_not_take_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        check_exists(tmp_path / ("x" * 300))
