from __future__ import annotations

import pytest

from transa.data import load
from transa.data.formats.openke import OpenKE
from transa.errors import InputError

FOLDER = {
    "entity2id.txt": "3\nzoe\t0\nada lovelace\t2\nbob\t1\n",
    "relation2id.txt": "2\nlikes\t1\nknows\t0\n",
    "train2id.txt": "2\n0 2 1\n2 1 0\n",
    "valid2id.txt": "1\n1 0 0\n",
    "test2id.txt": "0\n",
}


@pytest.fixture
def read(tmp_path):
    """Write the files of a folder, with some replaced (None: left out), and read it."""

    def read(**changes: str | None):
        for name, content in (FOLDER | {f"{stem}.txt": content for stem, content in changes.items()}).items():
            if content is not None:
                (tmp_path / name).write_bytes(content.encode())
        return OpenKE().read(tmp_path)

    return read


def test_ids_are_kept_and_triples_are_put_in_order(read):
    graph = read()
    assert list(graph.entities) == ["zoe", "bob", "ada lovelace"]
    assert list(graph.relations) == ["knows", "likes"]
    assert graph.train.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert graph.valid.tolist() == [[1, 0, 0]]
    assert graph.test.tolist() == []


def test_load_recognises_the_folder(read, tmp_path):
    graph = read()
    assert load(tmp_path) == graph


def test_valid_and_test_may_be_missing(read):
    assert len(read(valid2id=None, test2id=None)) == 2


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_blank_lines_and_tabs_do_not_matter(read, end):
    changed = {name.removesuffix(".txt"): text.replace("\n", end + end) for name, text in FOLDER.items()}
    changed["train2id"] = f"2{end}0\t2\t1{end} 2  1 0 {end}"
    assert read(**changed) == read()


def test_names_and_ids_may_be_divided_by_a_space(read):
    assert list(read(entity2id="3\nzoe 0\nbob 1 \nada lovelace 2\n").entities) == ["zoe", "bob", "ada lovelace"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("entity2id", "", "line 1: expected the number of lines that follow, found ''"),
        ("entity2id", "three\n", "line 1: expected the number of lines that follow, found 'three'"),
        ("entity2id", "-3\n", "line 1: expected the number of lines that follow, found '-3'"),
        ("entity2id", "4\nzoe\t0\nada\t2\nbob\t1\n", "line 1: 4 lines announced, 3 found"),
        ("entity2id", "2\nzoe\t0\nada\t2\nbob\t1\n", "line 3: the id 2 is out of range (expected 0 to 1)"),
        ("entity2id", "3\nzoe\t0\nada\t0\nbob\t1\n", "line 3: the id 0 occurs twice"),
        ("entity2id", "3\nzoe\t0\nada\t2\nzoe\t1\n", "line 4: the name 'zoe' occurs twice"),
        ("entity2id", "3\nzoe\t0\nada\tx\nbob\t1\n", "line 3: expected a name and an id, found 'ada\\tx'"),
        ("entity2id", "3\nzoe\t0\nada\nbob\t1\n", "line 3: expected a name and an id, found 'ada'"),
        ("entity2id", "3\nzoe\t0\n \t2\nbob\t1\n", "line 3: expected a name and an id, found ' \\t2'"),
        ("relation2id", f"2\nr\t{'9' * 5000}\n", "line 2: expected a name and an id, found 'r\\t999"),
        ("train2id", "", "line 1: expected the number of lines that follow, found ''"),
        ("train2id", "3\n0 2 1\n2 1 0\n", "line 1: 3 lines announced, 2 found"),
        ("train2id", "2\n", "line 1: 2 lines announced, 0 found"),
        ("train2id", "0\n0 1 0\n", "line 1: 0 lines announced, 1 found"),
        ("train2id", "2\n0 2 1\n2 3 0\n", "line 3: the tail id 3 is out of range (expected 0 to 2)"),
        ("train2id", "2\n0 2 1\n\n2 1 2\n", "line 4: the relation id 2 is out of range (expected 0 to 1)"),
        ("train2id", "2\n0 2 1\n-1 1 0\n", "line 3: expected a head id, found '-1'"),
        ("train2id", "2\n0 2 1\n2 x 0\n", "line 3: expected a tail id, found 'x'"),
        ("train2id", "2\n0 2 1\n2 1.5 0\n", "line 3: expected a tail id, found '1.5'"),
        ("train2id", "2\n0 2 1\n2 ١ 0\n", "line 3: expected a tail id, found '١'"),
        ("train2id", f"1\n0 {'9' * 20} 0\n", "line 2: expected a tail id, found '9999"),
        ("train2id", "2\n0 2 1\n2 1\n", "line 3: expected 3 ids (head, tail, relation), found 2: '2 1'"),
        ("train2id", "2\n0 2 1 0\n2 1 0 0\n", "line 2: expected 3 ids (head, tail, relation), found 4"),
        ("test2id", "1\n0 0\0 0\n", "line 2: a NUL byte in column 4"),
    ],
)
def test_wrong_files_are_named_with_line_and_value(read, file, content, message):
    with pytest.raises(InputError) as caught:
        read(**{file: content})
    assert f"{file}.txt, {message}" in str(caught.value)


@pytest.mark.parametrize("file", ["relation2id", "train2id"])
def test_a_missing_file_is_named(read, file):
    with pytest.raises(InputError, match=f"an OpenKE folder needs {file}.txt"):
        read(**{file: None})
