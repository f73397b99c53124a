from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transa.data import KnowledgeGraph, Vocabulary, load, split_folder, write
from transa.data.formats import delimited, openke
from transa.data.formats.saved import SavedGraph
from transa.data.text_files import MAX_LINE
from transa.data.writing import write_file
from transa.errors import InputError

TRIPLES = [("ada", "knows", "bob"), ("bob", "knows", "eve"), ("ada", "likes", "eve")]
GRAPH = KnowledgeGraph.from_triples(TRIPLES, valid=[("eve", "knows", "ada")], test=[("eve", "likes", "bob")])
LABELLED = KnowledgeGraph.from_triples(
    TRIPLES,
    valid=[("eve", "knows", "ada", 1), ("eve", "knows", "eve", -1)],
    test=[("eve", "likes", "bob", -1), ("bob", "likes", "bob", 1)],
)

# ---------------------------------------------------------------------- any graph, any names

AWKWARD = [
    *("head", "relation", "tail", "label", "h", "r", "t", "subject", "predicate", "object", "1", "-1"),
    *("_:x", "_:0", "_:é", "_:a.b", "_:a.", "_:", "_::", "_:a:b", "_:c900cfa46e392e8971fbab5ff0d14e67"),
    *("urn:transa:x", "urn:transa:", "urn:transa:%41", "URN:transa:x", "urn:transa:%"),
    *(
        "http://a/../b",
        "http://a/./b",
        "http://a",
        "HTTP://A/",
        "a:..",
        "file:x",
        "http://a/b#",
        "http://a/%zz",
        "http://a b/",
    ),
    *("http://www.w3.org/1999/02/22-rdf-syntax-ns#li", "http://www.w3.org/1999/02/22-rdf-syntax-ns#Description"),
    *("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"),
    *(
        '"',
        '""',
        '"a',
        'a"',
        '"a"',
        "'",
        "\\",
        "a\\nb",
        "\\\\",
        " a",
        "a ",
        "#a",
        "<a>",
        "&amp;",
        "%41",
        "[x]",
        "null",
        "NA",
    ),
    *(
        "a\tb",
        "a\nb",
        "a\rb",
        "a\r\nb",
        "a,b",
        "a;b",
        "a|b",
        "\ufeff",
        "\ufeffa",
        "a\ufeff",
        "\u2028x",
        "x\u2029",
        "\x85x",
    ),
    *(
        "\x01",
        "\x1fx",
        "\x0bx",
        "\x0c-",
        "\x7f",
        "\ufffe",
        "\uffff",
        "\U0010ffff",
        "\U000e0001",
        "é",
        "e\u0301",
        "नमस्ते",
        "🦉",
    ),
]
CHARACTERS = st.one_of(
    st.sampled_from("\"'\t\n\r,;| \\/:.%#?&<>[]_-\ufeff\u2028\x85\x01\x1f\u00a0ab1"),
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
)
TEXTS = st.text(CHARACTERS, min_size=1, max_size=6)
NAMES = st.one_of(
    st.sampled_from(AWKWARD),
    TEXTS,
    TEXTS.map("http://a/".__add__),
    TEXTS.map("_:".__add__),
    TEXTS.map("urn:transa:".__add__),
    TEXTS.map("x:".__add__),
).filter(str.strip)
SIMPLE_NAMES = NAMES.filter(lambda name: not any(mark in name for mark in "\t\n\r\ufeff"))


def rows(
    names: st.SearchStrategy[str] = NAMES, *, labelled: bool = False, least: int = 0
) -> st.SearchStrategy[list[tuple]]:
    columns = [names, names, names, *([st.sampled_from([1, -1])] if labelled else [])]
    return st.lists(st.tuples(*columns), min_size=least, max_size=4)


def graphs(names: st.SearchStrategy[str] = NAMES, *, labelled: bool = False) -> st.SearchStrategy[KnowledgeGraph]:
    others = rows(names, labelled=labelled)
    return st.builds(KnowledgeGraph.from_triples, rows(names, least=1), others, others)


@contextmanager
def folder() -> Iterator[Path]:
    """A fresh folder for each example, in memory where there is such a place."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def all_awkward_names() -> KnowledgeGraph:
    names = sorted(AWKWARD)
    return KnowledgeGraph.from_triples(
        [(name, name, other) for name, other in zip(names, reversed(names), strict=True)]
    )


@pytest.mark.parametrize("kind", ["tsv", "csv", "nt", "ttl", "rdf", "parquet"])
def test_a_folder_is_read_back_as_it_was(kind):
    @settings(max_examples=25)
    @given(graph=graphs())
    @example(graph=all_awkward_names())
    def check(graph):
        with folder() as tmp:
            write(graph, tmp / "graph", format=kind)
            assert load(tmp / "graph") == graph

    check()


@settings(max_examples=25)
@given(graph=graphs(SIMPLE_NAMES))
def test_an_openke_folder_is_read_back_as_it_was(graph):
    with folder() as tmp:
        write(graph, tmp / "graph", format="openke")
        assert load(tmp / "graph") == graph


@pytest.mark.parametrize("kind", ["tsv", "csv", "parquet"])
def test_labels_are_read_back_as_they_were(kind):
    @settings(max_examples=20)
    @given(graph=graphs(labelled=True))
    def check(graph):
        with folder() as tmp:
            write(graph, tmp / "graph", format=kind)
            assert load(tmp / "graph") == graph

    check()


SINGLE_FILES = [f"graph.{kind}{packed}" for kind in ("tsv", "csv", "nt", "ttl", "rdf") for packed in ("", ".gz")]


@pytest.mark.parametrize("name", [*SINGLE_FILES, "graph.parquet"])
def test_a_file_is_read_back_as_it_was(name):
    @settings(max_examples=12)
    @given(triples=rows(least=1))
    @example(triples=[("head", "relation", "tail"), ("\ufeff", '"', "\nx")])
    @example(triples=[("\ufeff", "r", '"')])
    def check(triples):
        graph = KnowledgeGraph.from_triples(triples)
        with folder() as tmp:
            assert load(write_file(graph, tmp / name, ["train"])) == graph

    check()


vocabulary_columns = st.one_of(
    st.none(), st.lists(st.one_of(st.none(), st.text(CHARACTERS, max_size=5)), min_size=4, max_size=4)
)


@settings(max_examples=20)
@given(
    keys=st.lists(st.one_of(NAMES, NAMES.map("\0".__add__)), min_size=4, max_size=4, unique=True),
    names=vocabulary_columns,
    descriptions=vocabulary_columns,
    triples=st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=5),
)
def test_save_keeps_ids_names_descriptions_and_what_occurs_in_no_triple(keys, names, descriptions, triples):
    vocabulary = Vocabulary(keys, names, descriptions)
    graph = KnowledgeGraph.from_ids(triples, test=triples, entities=vocabulary, relations=vocabulary)
    with folder() as tmp:
        graph.save(tmp / "graph")
        assert load(tmp / "graph") == graph


# ---------------------------------------------------------------------- what else travels along


@pytest.mark.parametrize("kind", ["tsv", "csv", "nt", "ttl", "rdf", "parquet", "openke"])
def test_entities_that_occur_in_no_triple_are_kept(tmp_path, kind):
    graph = KnowledgeGraph.from_ids([[0, 0, 2]], entities=["a", "b c", "d", '"e"', " f "], relations=["r"])
    write(graph, tmp_path / "graph", format=kind)
    assert sorted(load(tmp_path / "graph").entities) == [" f ", '"e"', "a", "b c", "d"]


@pytest.mark.parametrize("kind", ["tsv", "csv", "nt", "ttl", "rdf", "parquet"])
def test_readable_names_and_descriptions_are_kept(tmp_path, kind):
    entities = Vocabulary(
        ["a", "b", "c"], ['"Ada" <&>', None, "Cleo\tthe cat"], ["she said: \u2028'no'", "a \x85 b", None]
    )
    relations = Vocabulary(["r"], ["likes"], ["is fond of"])
    graph = KnowledgeGraph.from_ids([[0, 0, 1], [1, 0, 2]], entities=entities, relations=relations)
    write(graph, tmp_path / "graph", format=kind)
    assert load(tmp_path / "graph") == graph


def test_line_ends_in_descriptions_become_spaces_in_text(tmp_path):
    graph = KnowledgeGraph.from_ids(
        [[0, 0, 0]], entities=Vocabulary(["a"], None, ["one\r\ntwo\nthree"]), relations=["r"]
    )
    write(graph, tmp_path / "graph", format="tsv")
    assert load(tmp_path / "graph").entities.descriptions.to_pylist() == ["one two three"]


def test_a_text_that_xml_cannot_hold_is_refused(tmp_path):
    graph = KnowledgeGraph.from_ids([[0, 0, 0]], entities=Vocabulary(["a"], ["bell \a"]), relations=["r"])
    with pytest.raises(InputError, match=r"XML cannot hold the text 'bell \\x07'"):
        write(graph, tmp_path / "graph", format="rdf")
    assert not list(tmp_path.iterdir())
    write(graph, tmp_path / "graph", format="ttl")
    assert load(tmp_path / "graph") == graph


def test_several_splits_share_a_file(tmp_path):
    write_file(GRAPH, tmp_path / "all.tsv", ["train", "valid", "test"])
    assert (tmp_path / "all.tsv").read_text() == (
        "ada\tknows\tbob\nbob\tknows\teve\nada\tlikes\teve\neve\tknows\tada\neve\tlikes\tbob\n"
    )


# ---------------------------------------------------------------------- how it is written


def test_tsv_has_no_header_and_quotes_only_what_needs_it(tmp_path):
    write_file(
        KnowledgeGraph.from_triples([("a b", "it's", 'say "x"'), ("a\tb", "r", "c")]), tmp_path / "x.tsv", ["train"]
    )
    assert (tmp_path / "x.tsv").read_bytes() == b'a b\tit\'s\t"say ""x"""\n"a\tb"\tr\tc\n'


def test_tsv_gets_a_header_where_the_first_triple_looks_like_one(tmp_path):
    graph = KnowledgeGraph.from_triples([("s", "p", "o"), ("a", "p", "b")])
    write_file(graph, tmp_path / "x.tsv", ["train"])
    assert (tmp_path / "x.tsv").read_text().splitlines()[0] == "head\trelation\ttail"
    assert load(tmp_path / "x.tsv") == graph


def test_csv_has_a_header(tmp_path):
    write_file(LABELLED, tmp_path / "x.csv", ["valid"])
    assert (tmp_path / "x.csv").read_text() == "head,relation,tail,label\neve,knows,ada,1\neve,knows,eve,-1\n"


def test_a_parquet_file_holds_names(tmp_path):
    write_file(LABELLED, tmp_path / "x.parquet", ["test"])
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["head", "relation", "tail", "label"]
    assert table.to_pylist()[0] == {"head": "eve", "relation": "likes", "tail": "bob", "label": -1}


def test_openke_order_is_head_tail_relation(tmp_path):
    write(GRAPH, tmp_path / "graph", format="openke")
    assert (tmp_path / "graph" / "entity2id.txt").read_text() == "3\nada\t0\nbob\t1\neve\t2\n"
    assert (tmp_path / "graph" / "train2id.txt").read_text() == "3\n0 1 0\n1 2 0\n0 2 1\n"


@pytest.mark.parametrize("name", ["x.tsv", "x.csv.gz", "x.nt.gz", "x.ttl", "x.rdf", "x.parquet"])
def test_the_same_graph_gives_the_same_bytes(tmp_path, name):
    first = write_file(GRAPH, tmp_path / name, ["train"]).read_bytes()
    assert write_file(GRAPH, tmp_path / name, ["train"], overwrite=True).read_bytes() == first


def test_gz_files_are_plain_gzip(tmp_path):
    write_file(GRAPH, tmp_path / "x.tsv.gz", ["valid"])
    assert gzip.decompress((tmp_path / "x.tsv.gz").read_bytes()) == b"eve\tknows\tada\n"


def test_large_graphs_are_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK", 7)
    monkeypatch.setattr(openke, "CHUNK", 7)
    rng = np.random.default_rng(0)
    ids = np.stack([rng.integers(0, 9, 50), rng.integers(0, 2, 50), rng.integers(0, 9, 50)], axis=1)
    ids[:9, 0], ids[:2, 1] = np.arange(9), np.arange(2)
    graph = KnowledgeGraph.from_ids(ids[:30], ids[30:], valid_labels=np.where(rng.random(20) < 0.5, 1, -1))
    write(graph, tmp_path / "text", format="tsv")
    assert load(tmp_path / "text") == graph
    plain = KnowledgeGraph.from_ids(ids)
    write(plain, tmp_path / "openke", format="openke")
    assert load(tmp_path / "openke") == plain


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("kind", ["nt", "ttl", "rdf", "openke"])
def test_labels_are_refused_where_the_format_has_none(tmp_path, kind):
    with pytest.raises(InputError, match=f"labelled triples, which {kind} cannot hold"):
        write(LABELLED, tmp_path / "graph", format=kind)
    assert not list(tmp_path.iterdir())


def test_an_unlabelled_split_of_a_labelled_graph_can_go_to_any_format(tmp_path):
    assert len(load(write_file(LABELLED, tmp_path / "train.nt", ["train"]))) == 3
    with pytest.raises(InputError, match="labelled triples, which nt cannot hold"):
        write_file(LABELLED, tmp_path / "valid.nt", ["valid"])


def test_labelled_and_unlabelled_splits_do_not_share_a_file(tmp_path):
    with pytest.raises(InputError, match="cannot share a file"):
        write_file(LABELLED, tmp_path / "all.tsv", ["train", "valid"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a\0b", "x" * (MAX_LINE + 1)], ids=["NUL", "long"])
@pytest.mark.parametrize("kind", ["tsv", "csv", "openke"])
def test_text_refuses_names_that_could_not_be_read_back(tmp_path, kind, name):
    with pytest.raises(InputError, match="NUL character or is too long"):
        write(KnowledgeGraph.from_triples([("a", "r", name)]), tmp_path / "graph", format=kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["nt", "ttl", "rdf", "parquet"])
def test_other_formats_take_any_name(tmp_path, kind):
    graph = KnowledgeGraph.from_triples([("a\0b", "r\0", "x" * (MAX_LINE + 1))])
    write(graph, tmp_path / "graph", format=kind)
    assert load(tmp_path / "graph") == graph


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb", "\ufeff"])
def test_openke_refuses_names_with_tabs_and_line_ends(tmp_path, name):
    with pytest.raises(InputError, match="which OpenKE files cannot"):
        write(KnowledgeGraph.from_triples([("a", name, "b")]), tmp_path / "graph", format="openke")
    assert not list(tmp_path.iterdir())


def test_a_lone_entity_that_entities_txt_cannot_hold_is_refused(tmp_path):
    graph = KnowledgeGraph.from_ids([[0, 0, 0]], entities=["a", "b\nc"], relations=["r"])
    with pytest.raises(InputError, match=r"cannot hold the entity 'b\\nc'"):
        write(graph, tmp_path / "graph", format="tsv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["tsv", "csv", "nt", "ttl", "rdf"])
def test_a_graph_without_training_triples_is_refused_where_it_could_not_be_read_back(tmp_path, kind):
    with pytest.raises(InputError, match="no train triples"):
        write(KnowledgeGraph.from_ids([], test=[[0, 0, 1]]), tmp_path / "graph", format=kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["parquet", "openke"])
def test_a_graph_without_training_triples_can_be_kept(tmp_path, kind):
    graph = KnowledgeGraph.from_ids([], test=[[0, 0, 1]])
    write(graph, tmp_path / "graph", format=kind)
    assert load(tmp_path / "graph") == graph


@pytest.mark.parametrize("name", ["x.xlsx", "x.gz", "x.openke", "x", "x.tsv.zst", "x.parquet.gz"])
def test_suffixes_that_cannot_be_written_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"unknown suffix|cannot write"):
        write_file(GRAPH, tmp_path / name, ["train"])
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"unknown format 'xml'; expected one of tsv, csv, .*openke"):
        write(GRAPH, tmp_path / "graph", format="xml")


def test_a_split_without_triples_is_refused(tmp_path):
    with pytest.raises(InputError, match="no triples in valid"):
        write_file(KnowledgeGraph.from_triples(TRIPLES), tmp_path / "valid.tsv", ["valid"])


# ---------------------------------------------------------------------- overwriting and failing


@pytest.mark.parametrize("first", ["tsv", "openke", "parquet"])
def test_a_graph_is_replaced_only_on_request(tmp_path, first):
    write(GRAPH, tmp_path / "graph", format=first)
    other = KnowledgeGraph.from_triples([("x", "y", "z")])
    with pytest.raises(InputError, match="exists already; pass --overwrite"):
        write(other, tmp_path / "graph", format="csv")
    assert load(tmp_path / "graph") == GRAPH
    write(other, tmp_path / "graph", format="csv", overwrite=True)
    assert load(tmp_path / "graph") == other
    assert [entry.name for entry in (tmp_path / "graph").iterdir()] == ["train.csv"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path):
    write(GRAPH, tmp_path / "graph", format="tsv")
    (tmp_path / "graph" / "thesis.doc").write_text("precious")
    with pytest.raises(InputError, match=r"holds other files \('thesis.doc'\)"):
        write(GRAPH, tmp_path / "graph", overwrite=True)
    assert (tmp_path / "graph" / "thesis.doc").read_text() == "precious"


def test_a_file_is_replaced_only_on_request(tmp_path):
    (tmp_path / "x.tsv").write_text("old")
    with pytest.raises(InputError, match="exists already"):
        write_file(GRAPH, tmp_path / "x.tsv", ["train"])
    assert (tmp_path / "x.tsv").read_text() == "old"
    write_file(GRAPH, tmp_path / "x.tsv", ["valid"], overwrite=True)
    assert (tmp_path / "x.tsv").read_text() == "eve\tknows\tada\n"


@pytest.mark.parametrize("failure", [RuntimeError("boom"), OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_a_failed_write_leaves_the_old_folder_and_nothing_else(tmp_path, monkeypatch, kind, failure):
    write(GRAPH, tmp_path / "graph", format=kind)

    def fail(*arguments, **options):
        (arguments[-1] / "train.tsv").write_text("half")
        raise failure

    place, function = (split_folder, "write_side_files") if kind == "tsv" else (SavedGraph, "write")
    monkeypatch.setattr(place, function, fail)
    with pytest.raises(InputError if isinstance(failure, OSError) else type(failure)):
        write(KnowledgeGraph.from_triples([("x", "y", "z")]), tmp_path / "graph", format=kind, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph"]
    assert load(tmp_path / "graph") == GRAPH


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("old")

    def fail(self, graph, splits, file):
        file.write(b"half a line")
        raise RuntimeError("boom")

    monkeypatch.setattr(delimited.Tsv, "write", fail)
    with pytest.raises(RuntimeError, match="boom"):
        write_file(GRAPH, tmp_path / name, ["train"], overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"
