"""Datasets by name: their spellings, where they are looked for, and whether the registry tells the truth about them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from transa import InputError, KnowledgeGraph, load
from transa.data.download import checksum
from transa.data.registry import DATASETS, canonical, locate, whereabouts

needs_data = pytest.mark.skipif(not os.environ.get("TRANSA_DATA"), reason="TRANSA_DATA names no folder of datasets")

EMBEDDED = ("umls", "kinship", "nations")


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize("name", DATASETS)
def test_the_registry_knows_its_own_names(name: str) -> None:
    assert canonical(name) == name
    assert canonical(DATASETS[name].name) == name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("FB15k-237", "fb15k-237"),
        ("FB15K237", "fb15k-237"),
        ("fb15k_237", "fb15k-237"),
        ("FB15K 237", "fb15k-237"),
        ("fb15k–237", "fb15k-237"),
        ("FB15k", "fb15k"),
        ("FB-15K", "fb15k"),
        ("wn18RR", "wn18rr"),
        ("WN18-RR", "wn18rr"),
        ("WN 18", "wn18"),
        ("WordNet18", "wn18"),
        ("WordNet11", "wn11"),
        ("Freebase13", "fb13"),
        ("FB_13", "fb13"),
        (" UMLS ", "umls"),
        ("Kinships", "kinship"),
        ("NATIONS", "nations"),
    ],
)
def test_common_spellings_are_understood(spelling: str, name: str) -> None:
    assert canonical(spelling) == name


@pytest.mark.parametrize(
    "other", ["./umls", "umls/", "../umls", "data/umls", "umls\\", "umls.tsv", "", "-", "fb15", "wn18rrr", "umls2"]
)
def test_paths_and_strangers_are_no_names(other: str) -> None:
    assert canonical(other) is None


# ---------------------------------------------------------------------- places


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that TRANSA_DATA names."""
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("TRANSA_DATA", str(folder))
    return folder


def put_dataset(folder: Path) -> Path:
    folder.mkdir()
    (folder / "train.txt").write_text("ada\tknows\tbob\n")
    return folder


@pytest.mark.parametrize("folder", ["umls", "UMLS", "U_M_L_S"])
def test_the_named_folder_wins_over_the_embedded_copy(mine: Path, folder: str) -> None:
    put_dataset(mine / folder)
    assert locate("umls") == mine / folder
    assert list(load("UMLS").entities) == ["ada", "bob"]


def test_the_named_folder_is_asked_for_the_very_dataset(mine: Path) -> None:
    for name in ("FB15k-237", "FB15K", "WN18RR", "WN18"):
        put_dataset(mine / name)
    assert {name: locate(name).name for name in ("fb15k", "fb15k-237", "wn18", "wn18rr")} == {
        "fb15k": "FB15K",
        "fb15k-237": "FB15k-237",
        "wn18": "WN18",
        "wn18rr": "WN18RR",
    }


def test_a_file_in_the_named_folder_is_no_dataset(mine: Path) -> None:
    (mine / "umls").write_text("ada\tknows\tbob\n")
    assert len(load("umls").entities) == 135


def test_what_the_named_folder_lacks_comes_from_the_package(mine: Path) -> None:
    put_dataset(mine / "Kinship")
    assert len(load("umls").entities) == 135


@pytest.mark.parametrize("name", ["umls", "fb15k"])
def test_a_variable_that_names_no_folder_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSA_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"TRANSA_DATA names no folder.*nowhere"):
        load(name)


@pytest.mark.parametrize("name", EMBEDDED)
@pytest.mark.parametrize("value", [None, ""], ids=["unset", "empty"])
def test_embedded_datasets_load_with_nothing_set(name: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is None:
        monkeypatch.delenv("TRANSA_DATA", raising=False)
    else:
        monkeypatch.setenv("TRANSA_DATA", value)
    assert sizes(load(name)) == registered_sizes(name)


# ---------------------------------------------------------------------- contents


def sizes(graph: KnowledgeGraph) -> dict[str, int]:
    return {
        "entities": len(graph.entities),
        "relations": len(graph.relations),
        "train": len(graph.train),
        "valid": len(graph.valid),
        "test": len(graph.test),
    }


def registered_sizes(name: str) -> dict[str, int]:
    return {key: getattr(DATASETS[name], key) for key in ("entities", "relations", "train", "valid", "test")}


def in_benchmark_folder(name: str) -> Path:
    place = whereabouts(name)
    if place is None or place.parent != Path(os.environ["TRANSA_DATA"]):
        pytest.skip(f"{name} is not in TRANSA_DATA")
    return place


@needs_data
@pytest.mark.parametrize("name", DATASETS)
def test_the_registered_sizes_are_those_of_the_files(name: str) -> None:
    in_benchmark_folder(name)
    assert sizes(load(name)) == registered_sizes(name)


@needs_data
@pytest.mark.parametrize("name", ["wn11", "fb13"])
def test_the_classification_datasets_have_as_many_false_as_true_triples(name: str) -> None:
    in_benchmark_folder(name)
    graph = load(name)
    for split in ("valid", "test"):
        assert int(graph.labels(split).sum()) == 0


@needs_data
@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if not dataset.embedded])
def test_the_registered_sums_are_those_of_the_files(name: str) -> None:
    folder = in_benchmark_folder(name)
    files = DATASETS[name].files
    assert {file.name: checksum(folder / file.name) for file in files} == {file.name: file.sha256 for file in files}


@needs_data
@pytest.mark.parametrize("name", EMBEDDED)
def test_the_embedded_copy_holds_what_the_benchmark_folder_holds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_benchmark_folder(name)
    graph = load(name)
    monkeypatch.delenv("TRANSA_DATA")
    embedded = load(name)
    assert list(embedded.entities) == list(graph.entities)
    assert list(embedded.relations) == list(graph.relations)
    for split in ("train", "valid", "test"):
        np.testing.assert_array_equal(embedded.triples(split), graph.triples(split))


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if not dataset.embedded])
def test_what_is_downloaded_makes_a_whole_dataset(name: str) -> None:
    names = [file.name for file in DATASETS[name].files]
    assert {"train.txt", "valid.txt", "test.txt"} <= set(names)
    assert len(names) == len(set(names)) == len({file.url for file in DATASETS[name].files})
    assert all(file.url.startswith("https://") for file in DATASETS[name].files)
