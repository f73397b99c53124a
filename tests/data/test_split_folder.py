from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transa.data import KnowledgeGraph, load
from transa.errors import InputError

TRAIN = "ada\tknows\tbob\nbob\tknows\teve\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text(TRAIN)
    return tmp_path


def test_each_split_may_have_its_own_format(tmp_path):
    (tmp_path / "train.tsv").write_text(TRAIN)
    (tmp_path / "dev.csv.gz").write_bytes(
        gzip.compress(b"head,relation,tail,label\neve,knows,ada,1\neve,knows,bob,-1\n")
    )
    pq.write_table(pa.table({"head": ["eve"], "relation": ["likes"], "tail": ["bob"]}), tmp_path / "test.parquet")
    (tmp_path / "README.md").write_text("not a split")
    (tmp_path / "test_notes.txt").write_text("not a split")
    expected = KnowledgeGraph.from_triples(
        [("ada", "knows", "bob"), ("bob", "knows", "eve")],
        [("eve", "knows", "ada", 1), ("eve", "knows", "bob", -1)],
        [("eve", "likes", "bob")],
    )
    assert load(tmp_path) == expected


@pytest.mark.parametrize("name", ["valid.txt", "validation.tsv", "dev.txt", "Valid.TXT", "valid", "valid.tsv.gz"])
def test_valid_has_several_names(folder, name):
    content = b"eve\tknows\tada\n"
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert load(folder).named("valid").to_pylist() == [{"head": "eve", "relation": "knows", "tail": "ada"}]


def test_train_has_another_name(tmp_path):
    (tmp_path / "training.tsv").write_text(TRAIN)
    assert len(load(tmp_path).train) == 2


def test_options_hold_for_every_text_file(tmp_path):
    (tmp_path / "train.txt").write_text("bob;knows;ada\n")
    (tmp_path / "test.txt").write_text("ada;knows;bob\n")
    graph = load(tmp_path, delimiter=";", columns=(2, 1, 0))
    assert graph.named("train").to_pylist() == [{"head": "ada", "relation": "knows", "tail": "bob"}]
    assert graph.named("test").to_pylist() == [{"head": "bob", "relation": "knows", "tail": "ada"}]


def test_entities_txt_adds_entities(folder):
    (folder / "entities.txt").write_bytes('\ufeffeve\r\n"zoe" k\n\nzoe,k\nzoe\tx\n zoe \neve\n'.encode())
    assert list(load(folder).entities) == sorted(["ada", "bob", "eve", '"zoe" k', "zoe,k", "zoe\tx", " zoe "])


def test_side_files_give_names_and_descriptions_with_literal_quotes(folder):
    (folder / "entity_names.tsv").write_text('ada\t"Ada" Lovelace\nbob\t"Bob\nnobody\tnot in the graph\n\n')
    (folder / "entity_descriptions.tsv").write_text("ada\tmathematician,\t1815\n")
    (folder / "relation_names.tsv").write_bytes(b"knows\tis acquainted with\r\n")
    graph = load(folder)
    assert graph.entities.names.to_pylist() == ['"Ada" Lovelace', '"Bob', None]
    assert graph.entities.descriptions.to_pylist() == ["mathematician,\t1815", None, None]
    assert graph.relations.names.to_pylist() == ["is acquainted with"]
    assert graph.relations.descriptions is None


def test_a_side_line_without_a_tab_is_refused(folder):
    (folder / "entity_names.tsv").write_text("ada\tAda\nbob Bob\n")
    with pytest.raises(
        InputError, match=r"entity_names.tsv, line 2: expected a key, a tab and a text, found 'bob Bob'"
    ):
        load(folder)


def test_a_folder_without_train_is_refused(tmp_path):
    (tmp_path / "test.txt").write_text(TRAIN)
    with pytest.raises(InputError, match=r"no train file .*; found test.txt"):
        load(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no train file .*; found nothing"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("first", "second"), [("train.tsv", "train.txt"), ("dev.txt", "valid.txt"), ("test.nt", "test.tsv.gz")]
)
def test_a_split_that_is_there_twice_is_refused(folder, first, second):
    (folder / first).write_text(TRAIN)
    (folder / second).write_text(TRAIN)
    with pytest.raises(InputError, match=f"is there twice: {first} and {second}"):
        load(folder)


def test_false_triples_cannot_be_trained_on(tmp_path):
    (tmp_path / "train.txt").write_text("a\tr\tb\t1\na\tr\tc\t-1\n")
    with pytest.raises(InputError, match=r"train.txt, row 2: a triple labelled -1"):
        load(tmp_path)
