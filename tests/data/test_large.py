"""Graphs that are read within a limit of memory, and graphs whose triples are read where they lie."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import transa
from transa.data import load, write
from transa.data.large import convert_large
from transa.errors import InputError

pytest.importorskip("duckdb")
MEMORY = 1_000_000_000
TRICKY = [
    ("b", "r", "a"),
    ("É", "r 2", "a"),
    ('"quoted', "r", "it's"),
    ("b", "r", "a"),  # twice
    ("Zoë", "R", "b"),
    ("#x", "r", "NULL"),
    (" b", "r", "10"),
]


def as_text(rows: list[tuple[str, str, str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def same_index(one: transa.KnowledgeGraph, other: transa.KnowledgeGraph) -> bool:
    pairs = [
        (getattr(getattr(one.training_facts, side), part), getattr(getattr(other.training_facts, side), part))
        for side in ("heads", "tails")
        for part in ("queries", "offsets", "answers")
    ]
    return all(np.array_equal(mine, yours) for mine, yours in pairs)


def test_it_gives_the_ids_triples_and_index_that_reading_in_memory_gives(tmp_path: Path) -> None:
    source = tmp_path / "text"
    write(load("umls"), source, format="tsv")
    (source / "valid.tsv.gz").write_bytes(gzip.compress((source / "valid.tsv").read_bytes()))
    (source / "valid.tsv").unlink()
    (source / "test.tsv.zst").write_bytes(pa.compress((source / "test.tsv").read_bytes(), "zstd", asbytes=True))
    (source / "test.tsv").unlink()
    sizes = convert_large(source, tmp_path / "large", memory=MEMORY)
    expected, found = load(source), load(tmp_path / "large")
    assert found == expected
    assert same_index(found, expected)
    assert sizes == {"entities": 135, "relations": 46, "train": 5216, "valid": 652, "test": 661}


def test_names_of_all_kinds_are_kept_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "tricky.tsv").write_text(as_text(TRICKY), "utf-8")
    convert_large(tmp_path / "tricky.tsv", tmp_path / "large", memory=MEMORY)
    found = load(tmp_path / "large")
    assert list(zip(*found.named("train").to_pydict().values(), strict=True)) == TRICKY
    assert list(found.entities) == sorted(found.entities, key=lambda name: name.encode())


def test_writing_and_reading_a_mapped_graph(tmp_path: Path) -> None:
    graph = load("nations")
    write(graph, tmp_path / "mapped", format="mapped")
    found = load(tmp_path / "mapped")
    assert found == graph
    assert same_index(found, graph)
    write(graph, tmp_path / "mapped", format="mapped", overwrite=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tr\tb\na\tr\n", "three columns"),
        ("a\tr\tb\tc\n", "three columns"),
        ("a\tr\tb\n\tr\tb\n", "line 2: a name is blank"),
        ("", "no triple"),
    ],
)
def test_wrong_text_is_refused_and_nothing_is_left(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "wrong.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        convert_large(tmp_path / "wrong.tsv", tmp_path / "large", memory=MEMORY)
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.tsv"]


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    (tmp_path / "some.tsv").write_text("a\tr\tb\n")
    with pytest.raises(InputError, match="at least 700 MB"):
        convert_large(tmp_path / "some.tsv", tmp_path / "large", memory=10**6)


@pytest.mark.parametrize("name", ["train.triples", "heads.offsets", "tails.answers", "heads.queries"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged_arrays_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    write(load("nations"), tmp_path / "mapped", format="mapped")
    path = tmp_path / "mapped" / name
    content = path.read_bytes()
    changed = {"cut": content[:-2], "changed": content[:-4] + b"\xff\xff\xff\x7f"}
    path.unlink() if damage == "gone" else path.write_bytes(changed[damage])
    with pytest.raises(InputError):
        load(tmp_path / "mapped")


def test_the_command(command, tmp_path: Path) -> None:
    (tmp_path / "some.tsv").write_text(as_text(TRICKY), "utf-8")
    result = command("convert", tmp_path / "some.tsv", tmp_path / "large", "--memory", "1GB")
    assert result.code == 0, result.err
    assert "7 train" in result.out
    assert load(tmp_path / "large").train.shape == (7, 3)
    assert "--memory" in command("convert", tmp_path / "some.tsv", tmp_path / "other", "--memory", "much").err
    refused = command("convert", tmp_path / "some.tsv", tmp_path / "other", "--memory", "1GB", "--to", "tsv")
    assert refused.code == 2
