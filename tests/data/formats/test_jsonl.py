from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from hypothesis import example, given, settings

from tests.data.test_writing import all_awkward_names, folder, graphs
from transa.data import KnowledgeGraph, load, write
from transa.data.formats import ReadOptions, jsonl, read_file
from transa.data.text_files import MAX_LINE
from transa.data.triple_table import TripleTable
from transa.data.writing import write_file
from transa.errors import InputError

TRIPLES = [("ada", "knows", "bob"), ("bob", "lives in", "Bérlin")]
TEXT = (
    '{"head": "ada", "relation": "knows", "tail": "bob"}\n{"head": "bob", "relation": "lives in", "tail": "Bérlin"}\n'
)
GRAPH = KnowledgeGraph.from_triples(TRIPLES)
LABELLED = KnowledgeGraph.from_triples(TRIPLES, [("bob", "knows", "ada", 1), ("bob", "knows", "bob", -1)])


def rows(table: TripleTable) -> list[tuple[str, str, str]]:
    columns = (table.heads.to_pylist(), table.relations.to_pylist(), table.tails.to_pylist())
    return list(zip(*columns, strict=True))


def line(head: object = "a", relation: object = "r", tail: object = "b", **others: object) -> str:
    return json.dumps({"head": head, "relation": relation, "tail": tail, **others}) + "\n"


@pytest.fixture
def read(tmp_path):
    """Write a text to a file and read it; keyword arguments are `ReadOptions`."""

    def read(text: str | bytes, name: str = "x.jsonl", **options) -> TripleTable:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return read_file(tmp_path / name, ReadOptions(**options))

    return read


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "X.JsonL"])
def test_both_extensions_are_read(read, name):
    table = read(TEXT, name)
    assert rows(table) == TRIPLES
    assert table.labels is None


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_compressed_files_are_read(read, suffix):
    assert rows(read(gzip.compress(TEXT.encode()), f"x{suffix}.gz")) == TRIPLES
    assert rows(read(pa.compress(TEXT.encode(), "zstd", asbytes=True), f"x{suffix}.zst")) == TRIPLES


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(read, end):
    assert rows(read(f"\ufeff{end} {end}" + TEXT.replace("\n", end * 2).rstrip())) == TRIPLES


def test_keys_come_in_any_order_and_further_ones_are_skipped(read):
    assert rows(read('{"tail": "b", "since": [1, {"x": null}], "relation": "r", "head": "a"}\n')) == [("a", "r", "b")]


def test_escapes_are_undone(read):
    text = r'{"head": "\u00e9\n", "relation": "\"", "tail": "\ud83e\udd89\u0000"}'
    assert rows(read(text)) == [("é\n", '"', "🦉\0")]


def test_whole_numbers_are_names(read):
    assert rows(read(line(7, -1, 10**30))) == [("7", "-1", "1" + "0" * 30)]


@pytest.mark.parametrize("label", [(1, -1), ("1", "-1"), (1.0, -1.0)], ids=["whole", "text", "float"])
def test_labels_are_read(read, label):
    assert read(line(label=label[0]) + line(label=label[1])).labels.tolist() == [1, -1]


def test_usual_keys_are_recognised(read):
    table = read('{"Subject": "a", "predicate": "r", "object": "b", "Label": -1}\n')
    assert rows(table) == [("a", "r", "b")]
    assert table.labels.tolist() == [-1]


def test_keys_can_be_given(read):
    text = '{"film": "f", "role": "r", "person": "p", "true": 1, "label": "drama"}\n'
    assert rows(read(text, columns=("film", "role", "person"))) == [("f", "r", "p")]
    assert read(text, columns=("film", "role", "person")).labels is None
    assert read(text, columns=("film", "role", "person", "true")).labels.tolist() == [1]


# ---------------------------------------------------------------------- what is refused

BAD = {
    "no JSON": ("ada knows bob\n", "not valid JSON (Expecting value, column 1): 'ada knows bob'"),
    "cut short": ('{"head": "a", "rel', """column 15): '{"head": "a", "rel'"""),
    "two objects": (line().strip() + line(), "not valid JSON (Extra data, column 44): "),
    "nested without end": ("[" * 100_000, "nested too deeply: '[[["),
    "a number without end": ('{"head": ' + "1" * 5000 + "}", """a number with too many digits: '{"head": 111"""),
    "a list": ('["a", "r", "b"]\n', """expected a JSON object such as {"head": …"""),
    "a string": ('"a"\n', """found '"a"'"""),
    "no tail": ('{"head": "a", "relation": "r"}\n', "no key 'tail' among 'head', 'relation'"),
    "another spelling": (
        '{"head": "a", "relatoin": "r", "tail": "b"}\n',
        "no key 'relation' among 'head', 'relatoin', 'tail'; did you mean 'relatoin'?",
    ),
    "no key at all": ("{}\n", "no key 'head' among none"),
    "null": (line(head=None), "the head is neither a string nor a whole number: 'null'"),
    "true": (line(relation=True), "the relation is neither a string nor a whole number: 'true'"),
    "a fraction": (line(tail=1.5), "the tail is neither a string nor a whole number: '1.5'"),
    "a list as a name": (line(tail=["b"]), "the tail is neither a string nor a whole number: a list"),
    "an object as a name": (line(tail={}), "the tail is neither a string nor a whole number: an object"),
    "a blank name": (line(relation=" \u2028"), r"the relation is blank: ' \u2028'"),
    "half a surrogate pair": (line(head="\ud800"), r"the head is not valid Unicode: '\ud800'"),
    "a label too many": (line(label=1), "a label, which the first line has not; every line needs one, or none: "),
}


@pytest.mark.parametrize("kind", BAD)
def test_errors_name_file_line_and_value(read, tmp_path, kind):
    text, message = BAD[kind]
    with pytest.raises(InputError) as caught:
        read(f"{line()}\n{text}")
    assert str(caught.value).startswith(f"{tmp_path / 'x.jsonl'}, line 3: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("label", [0, 2, None, True, "yes", 0.5, [1]])
def test_other_labels_are_refused(read, label):
    shown = "a list" if label == [1] else repr(label if isinstance(label, str) else json.dumps(label))
    with pytest.raises(InputError, match=f"x.jsonl, line 2: expected the label 1 or -1, found {shown}"):
        read(line(label=1) + line(label=label))


def test_a_missing_label_is_refused(read):
    message = "x.jsonl, line 2: no key 'label' among 'head', 'relation', 'tail'; every line needs a label, or none"
    with pytest.raises(InputError, match=message):
        read(line(label=1) + line())


def test_invalid_utf8_is_refused(read):
    with pytest.raises(InputError, match=r"x.jsonl, line 2: invalid UTF-8: byte 0xe9 in column 11"):
        read(line().encode() + b'{"head": "\xe9"}\n')


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson.gz"])
@pytest.mark.parametrize("text", ["", "\n \r\n", "\ufeff"])
def test_an_empty_file_is_refused(read, name, text):
    data = text.encode()
    with pytest.raises(InputError, match=f"{name}: the file holds no triple"):
        read(gzip.compress(data) if name.endswith(".gz") else data, name)


def test_a_damaged_gzip_file_is_refused(read):
    with pytest.raises(InputError, match=r"x.jsonl.gz: the compressed file is cut short or damaged"):
        read(gzip.compress(TEXT.encode())[:-12], "x.jsonl.gz")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((0, 1, 2), "line 1: JSON objects have keys and no positions; give columns by name"),
        (("head", "head", "tail"), "line 1: a column is asked for twice"),
        (("head", "kind", "tail"), "line 1: no key 'kind' among 'head', 'relation', 'tail'"),
        (("head", "relation", "tail", "truth"), "line 1: no key 'truth' among"),
    ],
)
def test_keys_that_are_not_there_are_refused(read, columns, message):
    with pytest.raises(InputError, match=message):
        read(TEXT, columns=columns)


def test_errors_reach_the_user(command, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(line() + '{"head": "a"}\n')
    result = command("stats", path)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {path}, line 2: no key 'relation' among 'head'\n"


# ---------------------------------------------------------------------- writing


def test_what_is_written(tmp_path):
    assert write_file(GRAPH, tmp_path / "x.jsonl", ["train"]).read_bytes() == TEXT.encode()
    assert gzip.decompress(write_file(GRAPH, tmp_path / "x.jsonl.gz", ["train"]).read_bytes()) == TEXT.encode()
    write_file(LABELLED, tmp_path / "valid.jsonl", ["valid"])
    assert (tmp_path / "valid.jsonl").read_text() == (
        '{"head": "bob", "relation": "knows", "tail": "ada", "label": 1}\n'
        '{"head": "bob", "relation": "knows", "tail": "bob", "label": -1}\n'
    )


@settings(max_examples=25)
@given(graph=graphs())
@example(graph=all_awkward_names())
@example(graph=KnowledgeGraph.from_triples([("a\0b", "r\0", "b")]))
def test_a_folder_is_read_back_as_it_was(graph):
    with folder() as tmp:
        assert load(write(graph, tmp / "graph", format="jsonl")) == graph


@settings(max_examples=20)
@given(graph=graphs(labelled=True))
def test_labels_are_read_back_as_they_were(graph):
    with folder() as tmp:
        assert load(write(graph, tmp / "graph", format="jsonl")) == graph


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_file_written_in_pieces_is_read_back(tmp_path, monkeypatch, name):
    monkeypatch.setattr(jsonl, "CHUNK", 7)
    graph = KnowledgeGraph.from_triples([(f"e{i}", "r", f"e{i % 7}") for i in range(50)])
    assert load(write_file(graph, tmp_path / name, ["train"])) == graph


def test_a_triple_that_could_not_be_read_back_is_refused(tmp_path):
    around = len(line("", "r", "b"))
    longest = KnowledgeGraph.from_triples([("x" * (MAX_LINE - around), "r", "b")])
    assert load(write_file(longest, tmp_path / "x.jsonl", ["train"])) == longest
    with pytest.raises(InputError, match="is too long for a text file; use parquet"):
        longer = KnowledgeGraph.from_triples([("x" * (MAX_LINE - around + 1), "r", "b")])
        write_file(longer, tmp_path / "y.jsonl", ["train"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]


def test_convert_writes_and_reads_it(command, tmp_path):
    assert command("convert", "nations", tmp_path / "folder", "--to", "jsonl").code == 0
    assert load(tmp_path / "folder") == load("nations")
    assert command("convert", "nations", tmp_path / "x.jsonl.gz", "--part", "test").code == 0
    assert command("convert", tmp_path / "x.jsonl.gz", tmp_path / "x.tsv").code == 0
    assert load(tmp_path / "x.tsv") == load(tmp_path / "x.jsonl.gz")
