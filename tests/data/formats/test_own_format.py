"""A format from outside the package: this file defines and registers one, and everything that deals with formats knows it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pytest

import transa
from transa.data import KnowledgeGraph, Vocabulary, write
from transa.data.formats import FILE_FORMATS, FOLDER_FORMATS, FileFormat, FolderFormat, ReadOptions, register
from transa.data.graph import Split
from transa.data.text_files import text_lines
from transa.data.triple_table import TableBuilder, TripleTable
from transa.data.writing import write_file
from transa.errors import InputError


class ArrowText(FileFormat):
    """Lines such as ``ada -[knows]-> bob``."""

    name = "arrowtxt"
    description = "lines such as a -[r]-> b"
    extensions = (".arrowtxt", ".arrows")

    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        builder = TableBuilder()
        for number, line in enumerate(text_lines(path), start=1):
            found = re.fullmatch(r"(.+) -\[(.+)\]-> (.+)", line.rstrip("\r\n"))
            if found is None:
                raise InputError(f"expected a -[r]-> b, found {line.rstrip()!r}", path=path, line=number)
            builder.add(*found.groups())
        return builder.table()

    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        for split in splits:
            for row in graph.named(split).to_pylist():
                file.write(f"{row['head']} -[{row['relation']}]-> {row['tail']}\n".encode())


TRAIN, VALID, TEST = (
    [("ada", "knows", "bob"), ("bob", "knows", "eve")],
    [("eve", "knows", "ada")],
    [("bob", "r", "ada")],
)
GRAPH = KnowledgeGraph.from_triples(TRAIN, VALID, TEST)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(ArrowText())
    yield
    del FILE_FORMATS["arrowtxt"]


def test_the_example_of_the_documentation_works(tmp_path):
    documentation = (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8")
    example = next(block for block in re.findall(r"```python\n(.*?)```", documentation, re.S) if "register(" in block)
    (tmp_path / "x.arrowtxt").write_text("ada -[knows]-> bob\n")
    (tmp_path / "mine.py").write_text(
        f"{example}\nimport transa\nfrom transa.data import write\n"
        "graph = transa.load('x.arrowtxt')\nassert transa.load(write(graph, 'out', format='arrowtxt')) == graph\n"
        "print(graph)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(transa.__file__).parents[1])}
    command = [sys.executable, "mine.py"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("KnowledgeGraph(2 entities, 1 relation, 1 train")


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["x.arrowtxt", "x.arrows", "X.ArrowTxt", "x.arrowtxt.gz"])
def test_a_file_is_loaded(tmp_path, name):
    content = b"ada -[knows]-> bob\nbob -[knows]-> eve\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert transa.load(tmp_path / name) == KnowledgeGraph.from_triples(TRAIN)


def test_a_folder_of_splits_is_loaded_beside_other_formats(tmp_path):
    (tmp_path / "train.arrowtxt").write_text("ada -[knows]-> bob\nbob -[knows]-> eve\n")
    (tmp_path / "dev.arrows").write_text("eve -[knows]-> ada\n")
    (tmp_path / "test.csv").write_text("bob,r,ada\n")
    assert transa.load(tmp_path) == GRAPH


def test_its_errors_reach_the_user(command, tmp_path):
    (tmp_path / "x.arrowtxt").write_text("ada -[knows]-> bob\nbob knows eve\n")
    result = command("stats", tmp_path / "x.arrowtxt")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {tmp_path / 'x.arrowtxt'}, line 2: expected a -[r]-> b, found 'bob knows eve'\n"


def test_a_file_without_triples_is_refused(tmp_path):
    (tmp_path / "x.arrowtxt").touch()
    with pytest.raises(InputError, match=r"x.arrowtxt: the file holds no triple"):
        transa.load(tmp_path / "x.arrowtxt")


# ---------------------------------------------------------------------- writing


def test_a_graph_is_written_to_a_folder_and_read_back(tmp_path):
    write(GRAPH, tmp_path / "graph", format="arrowtxt")
    assert (tmp_path / "graph" / "train.arrowtxt").read_text() == "ada -[knows]-> bob\nbob -[knows]-> eve\n"
    assert transa.load(tmp_path / "graph") == GRAPH


@pytest.mark.parametrize("name", ["x.arrowtxt", "x.arrowtxt.gz"])
def test_a_graph_is_written_to_a_file_and_read_back(tmp_path, name):
    write_file(GRAPH, tmp_path / name, ["train"])
    assert transa.load(tmp_path / name) == KnowledgeGraph.from_triples(TRAIN)


def test_names_and_lone_entities_go_to_side_files(tmp_path):
    entities, relations = Vocabulary(["a", "b", "lone"], ["Ada", None, None]), Vocabulary(["r"])
    graph = KnowledgeGraph.from_ids([[0, 0, 1]], entities=entities, relations=relations)
    write(graph, tmp_path / "graph", format="arrowtxt")
    assert transa.load(tmp_path / "graph") == graph


def test_labels_are_refused_since_it_holds_none(tmp_path):
    labelled = KnowledgeGraph.from_triples(TRAIN, [("eve", "knows", "ada", -1)])
    with pytest.raises(InputError, match="which arrowtxt cannot hold; use tsv, csv, "):
        write(labelled, tmp_path / "graph", format="arrowtxt")


def test_its_folder_may_be_replaced_by_another_and_the_other_way_round(tmp_path):
    for name in ("arrowtxt", "tsv", "arrowtxt"):
        write(GRAPH, tmp_path / "graph", format=name, overwrite=True)
        assert transa.load(tmp_path / "graph") == GRAPH


def test_only_the_first_extension_is_written(tmp_path):
    with pytest.raises(InputError, match=r"unknown suffix '.arrows'; expected .tsv, .* or .arrowtxt"):
        write_file(GRAPH, tmp_path / "x.arrows", ["train"])


# ---------------------------------------------------------------------- the command line


def test_convert_writes_folders_and_files_and_reads_them(command, tmp_path):
    assert command("convert", "nations", tmp_path / "folder", "--to", "arrowtxt").code == 0
    assert transa.load(tmp_path / "folder") == transa.load("nations")
    assert command("convert", "nations", tmp_path / "x.arrowtxt", "--part", "test").code == 0
    assert command("convert", tmp_path / "x.arrowtxt", tmp_path / "x.tsv").code == 0
    assert transa.load(tmp_path / "x.tsv") == transa.load(tmp_path / "x.arrowtxt")


def test_the_lists_of_formats_name_it(command, tmp_path):
    assert "lines such as a -[r]-> b" in command("formats").out
    found = {each["name"]: each for each in json.loads(command("formats", "--json").out)["files"]}
    assert found["arrowtxt"]["extensions"] == [".arrowtxt", ".arrows"]
    assert "arrowtxt" in command("convert", "nations", tmp_path / "out", "--to", "xml").err
    assert ".arrowtxt" in command("convert", "nations", tmp_path / "out.xlsx", "--part", "train").err


# ---------------------------------------------------------------------- what cannot be registered


@pytest.mark.parametrize(
    ("extensions", "message"),
    [
        ((".csv",), "the extension '.csv' of 'mine' belongs to the format 'csv'"),
        ((".gz",), "cannot have the extension '.gz'"),
        ((".ABC",), "cannot have the extension '.ABC'"),
        (("abc",), "cannot have the extension 'abc'"),
        ((".a.b",), "cannot have the extension '.a.b'"),
        ((), "expected a FileFormat with extensions"),
    ],
)
def test_an_extension_that_would_never_be_found_is_refused(extensions, message):
    class Mine(ArrowText):
        name = "mine"

    Mine.extensions = extensions
    with pytest.raises(InputError, match=re.escape(message)):
        register(Mine())
    assert "mine" not in FILE_FORMATS


def test_a_format_may_be_registered_again():
    """As happens where a cell of a notebook is run twice."""
    again = ArrowText()
    register(again)
    assert FILE_FORMATS["arrowtxt"] is again


# ---------------------------------------------------------------------- a folder as a whole


class Pairs(FolderFormat):
    """A folder with one file for each relation, which holds pairs of entities."""

    name = "pairs"
    description = "a folder with a file of pairs for each relation"
    files = ("knows.pairs",)

    def is_mine(self, folder: Path) -> bool:
        return any(folder.glob("*.pairs"))

    def read(self, folder: Path) -> KnowledgeGraph:
        lines = [(file.stem, line.split()) for file in folder.glob("*.pairs") for line in file.read_text().splitlines()]
        return KnowledgeGraph.from_triples([(head, relation, tail) for relation, (head, tail) in lines])

    def write(self, graph: KnowledgeGraph, folder: Path) -> None:
        for row in graph.named("train").to_pylist():
            with (folder / f"{row['relation']}.pairs").open("a") as file:
                file.write(f"{row['head']} {row['tail']}\n")


def test_a_folder_format_is_recognised_and_written(command, tmp_path, monkeypatch):
    monkeypatch.setitem(FOLDER_FORMATS, "pairs", Pairs())
    graph = KnowledgeGraph.from_triples(TRAIN)
    (tmp_path / "train.arrowtxt").write_text("ada -[knows]-> bob\nbob -[knows]-> eve\n")
    for _ in range(2):
        assert command("convert", tmp_path, tmp_path / "out", "--to", "pairs", "--overwrite").code == 0
        assert transa.load(tmp_path / "out") == graph
    assert "a file of pairs for each relation" in command("formats").out
