from __future__ import annotations

import pytest

import transa
from transa.data import KnowledgeGraph, load, split_graph
from transa.data.registry import DATASETS
from transa.errors import InputError


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_package_offers_load():
    assert transa.load is load


def test_a_dataset_by_name():
    graph = load("umls")
    assert repr(graph) == "KnowledgeGraph(135 entities, 46 relations, 5,216 train / 652 valid / 661 test triples)"
    assert load("UMLS") == graph


def test_a_path_as_text_or_path(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tr\tb\n")
    expected = KnowledgeGraph.from_triples([("a", "r", "b")])
    for source in ("x.tsv", "./x.tsv", tmp_path / "x.tsv", str(tmp_path / "x.tsv")):
        assert load(source) == expected


def test_a_name_means_the_dataset_and_a_path_the_folder(tmp_path):
    (tmp_path / "umls").mkdir()
    (tmp_path / "umls" / "train.txt").write_text("a\tr\tb\n")
    assert len(load("umls").entities) == 135
    assert len(load("./umls").entities) == 2
    assert len(load(tmp_path / "umls").entities) == 2


def test_a_file_without_suffix_in_the_current_folder(tmp_path):
    (tmp_path / "triples").write_text("a\tr\tb\n")
    assert len(load("triples")) == 1


def test_split_is_seeded(tmp_path):
    (tmp_path / "x.tsv").write_text("".join(f"e{i % 10}\tr\te{i // 10}\n" for i in range(100)))
    graph = load("x.tsv", split=(0.8, 0.1, 0.1), seed=3)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (80, 10, 10)
    assert graph == load("x.tsv", split=(0.8, 0.1, 0.1), seed=3)
    assert graph != load("x.tsv", split=(0.8, 0.1, 0.1), seed=4)


def test_unseen_entities_and_relations_are_kept_and_counted(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\n")
    (tmp_path / "valid.txt").write_text("b\tr\ta\n")
    (tmp_path / "test.txt").write_text("a\tr\tnew\na\tnew\tb\nb\tr\ta\n")
    graph = load(tmp_path)
    assert len(graph.test) == 3
    assert graph.notes == ("2 test triples have an entity or relation that does not occur in train, and are kept",)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("fb15k-273", "no dataset, file or folder is called 'fb15k-273'; did you mean 'fb15k-237'"),
        ("grahp", r"no dataset, file or folder is called 'grahp'; did you mean 'graph'\?"),
        ("zzzzzzzz", "no dataset, file or folder is called 'zzzzzzzz'; the datasets are umls, "),
        ("./grahp", r"grahp: no such file or folder; did you mean 'graph'\?"),
        ("x" * 5000, r"no dataset, file or folder is called 'x+'… \(5,000 characters\)"),
        ("./" + "x" * 300, "cannot be read: File name too long"),
    ],
)
def test_what_is_not_there_is_told_with_near_names(tmp_path, source, message):
    (tmp_path / "graph").mkdir()
    with pytest.raises(InputError, match=message):
        load(source)


@pytest.mark.parametrize("name", DATASETS)
def test_benchmark_datasets_have_the_published_sizes(benchmark_data, name):
    dataset = DATASETS[name]
    graph = load(name)
    sizes = (len(graph.entities), len(graph.relations), len(graph.train), len(graph.valid), len(graph.test))
    assert sizes == (dataset.entities, dataset.relations, dataset.train, dataset.valid, dataset.test)
    assert (graph.test_labels is not None) == (name in ("wn11", "fb13"))
    if graph.entities.names is not None:
        assert all(graph.entities.name(entity).strip() for entity in range(len(graph.entities)))


# ---------------------------------------------------------------------- the name of a dataset


def test_a_graph_loaded_by_name_keeps_the_registry_s_spelling():
    assert load("UMLS").name == "umls"
    assert load("Kinships").name == "kinship"


def test_a_graph_from_a_path_or_from_python_has_no_name(tmp_path):
    load("nations").save(tmp_path / "nations")
    assert load(tmp_path / "nations").name is None
    assert KnowledgeGraph.from_triples([("a", "r", "b")]).name is None


def test_the_name_is_no_part_of_equality(tmp_path):
    named = load("nations")
    assert load(named.save(tmp_path / "copy")) == named


def test_notes_and_splits_keep_the_name(tmp_path, monkeypatch):
    (tmp_path / "UMLS").mkdir()
    (tmp_path / "UMLS" / "train.tsv").write_text("".join(f"e{i % 10}\tr\te{i // 10}\n" for i in range(100)))
    monkeypatch.setenv("TRANSA_DATA", str(tmp_path))
    graph = load("umls")
    assert graph.with_notes("a note").name == "umls"
    assert split_graph(graph, (0.8, 0.1, 0.1)).name == "umls"
    assert load("umls", split=(0.8, 0.1, 0.1)).name == "umls"


def test_a_saved_graph_beside_openke_files_is_read_as_the_saved_graph(tmp_path):
    graph = load("nations")
    folder = graph.save(tmp_path / "graph")
    (folder / "entity2id.txt").write_text("0\n")
    assert load(folder) == graph


def test_a_frame_is_no_source():
    import pandas as pd

    with pytest.raises(InputError, match=r"found DataFrame; transa.KnowledgeGraph.from_triples takes rows and frames"):
        load(pd.DataFrame([("a", "r", "b")]))  # type: ignore[arg-type]
