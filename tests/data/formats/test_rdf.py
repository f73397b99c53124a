from __future__ import annotations

import gzip
import subprocess
import sys

import pytest

from transa.data import load
from transa.data.formats import read_file
from transa.errors import InputError

XML = '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
PREFIXES = "@prefix e: <http://e/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"

SAME = {
    "x.nt": "<http://e/a> <http://e/r> <http://e/b> .\n<http://e/b> <http://e/r> _:c .\n",
    "x.ttl": PREFIXES + "e:a e:r e:b .\ne:b e:r _:c .\n",
    "x.rdf": XML
    + '<rdf:Description rdf:about="http://e/a"><e:r rdf:resource="http://e/b"/></rdf:Description>\n'
    + '<rdf:Description rdf:about="http://e/b"><e:r rdf:nodeID="c"/></rdf:Description>\n</rdf:RDF>\n',
    "x.nq": "<http://e/a> <http://e/r> <http://e/b> <http://e/g> .\n<http://e/b> <http://e/r> _:c .\n",
    "x.trig": PREFIXES + "e:a e:r e:b .\ne:g { e:b e:r _:c . }\n",
}
SAME |= {"x.owl": SAME["x.rdf"], "x.xml": SAME["x.rdf"]}


def rows(table):
    return list(zip(table.heads.to_pylist(), table.relations.to_pylist(), table.tails.to_pylist(), strict=True))


@pytest.fixture
def read(tmp_path):
    def read(text: str, name: str = "x.ttl"):
        (tmp_path / name).write_text(text, "utf-8")
        return read_file(tmp_path / name)

    return read


@pytest.mark.parametrize("name", SAME)
def test_every_syntax_gives_the_same_triples(tmp_path, name):
    expected = [("http://e/a", "http://e/r", "http://e/b"), ("http://e/b", "http://e/r", "_:c")]
    (tmp_path / name).write_text(SAME[name])
    assert rows(read_file(tmp_path / name)) == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(SAME[name].encode()))
    assert rows(read_file(tmp_path / f"{name}.gz")) == expected


def test_literals_are_skipped_and_counted(read):
    table = read(PREFIXES + 'e:a e:r e:b ; e:age 7 ; e:size "big", "tall"@en .')
    assert len(table) == 1
    assert len(table.notes) == 1
    assert table.notes[0].endswith("x.ttl: 3 statements with literals skipped")


def test_labels_are_names_and_comments_are_descriptions(read):
    table = read(PREFIXES + 'e:a e:r e:b ; rdfs:label "Ada" ; rdfs:comment "A person." . e:r rdfs:label "related to" .')
    assert table.names == {"http://e/a": "Ada", "http://e/r": "related to"}
    assert table.descriptions == {"http://e/a": "A person."}
    assert table.notes == ()


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ('"Wien"@de, "Vienna"@en, "Vienne"@fr', "Vienna"),
        ('"Wien"@de, "Vienna"', "Vienna"),
        ('"Wien"@de, "Vienna"@en-GB', "Vienna"),
        ('"Wien"@de, "Vienna"@EN', "Vienna"),
        ('"Vienna"@en, "Vindobona"', "Vienna"),
        ('"Vindobona", "Vienna"@en', "Vindobona"),
        ('"Wien"@de, "Bécs"@hu', "Wien"),
        ('"Wien"@de, "Vienne"@enm', "Wien"),
    ],
)
def test_english_or_untagged_labels_are_preferred(read, labels, chosen):
    assert read(PREFIXES + f"e:a e:r e:b ; rdfs:label {labels} .").names == {"http://e/a": chosen}


def test_the_label_in_train_counts_more_than_that_in_test(tmp_path):
    (tmp_path / "train.ttl").write_text(PREFIXES + 'e:a e:r e:b ; rdfs:label "first" .')
    (tmp_path / "test.ttl").write_text(PREFIXES + 'e:a e:r e:b ; rdfs:label "second" . e:b rdfs:label "other" .')
    graph = load(tmp_path)
    assert [graph.entities.name(graph.entities.id(f"http://e/{key}")) for key in "ab"] == ["first", "other"]


def test_plain_names_are_decoded(read):
    table = read("<urn:transa:New%20York> <urn:transa:is%20in> <urn:transa:%C3%A9> .", "x.nt")
    assert rows(table) == [("New York", "is in", "é")]


def test_an_encoded_blank_is_no_name(read):
    table = read("<urn:transa:%20> <urn:transa:r> <urn:transa:> .", "x.nt")
    assert rows(table) == [("urn:transa:%20", "r", "urn:transa:")]


def test_blank_nodes_without_a_name_are_numbered(read):
    text = PREFIXES + "e:a e:r [ e:r e:b ], [ e:r [ e:r e:c ] ] . _:mine e:r e:a ."
    first, second = rows(read(text)), rows(read(text))
    assert first == second
    blanks = {name for head, _, tail in first for name in (head, tail) if name.startswith("_:")}
    assert blanks == {"_:x-1", "_:x-2", "_:x-3", "_:mine"}


def test_blank_nodes_without_a_name_differ_between_files(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.ttl").write_text(PREFIXES + "e:a e:r [] .")
    assert set(load(tmp_path).entities) == {"http://e/a", "_:train-1", "_:test-1"}


def test_relative_iris_are_resolved_against_the_file(read, tmp_path):
    assert rows(read("<#a> <#r> <#b> ."))[0][0] == f"{(tmp_path / 'x.ttl').as_uri()}#a"


def test_xml_entities_and_letters_of_any_script_are_taken(read):
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [<!ENTITY e "http://e/">]>\n'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
        '<rdf:Description rdf:about="&e;a"><e:豈 rdf:resource="&e;b"/></rdf:Description></rdf:RDF>\n'
    )
    assert rows(read(text, "x.rdf")) == [("http://e/a", "http://e/豈", "http://e/b")]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.nt", "<http://e/a> <http://e/r> <http://e/b> .\n<http://e/a> <http://e/r> b .\n", 2),
        ("x.nt", "<http://e/a> <http://e/r> <http://e/b>", 1),
        ("x.nt", "a\tr\tb\n", 1),
        ("x.ttl", PREFIXES + "e:a e:r f:b .\n", 3),
        ("x.ttl", PREFIXES + "e:a e:r e:b", 3),
        ("x.rdf", "a\tr\tb\n", 1),
        ("x.rdf", XML + '<rdf:Description rdf:about="http://e/a"><e:r </rdf:Description></rdf:RDF>\n', 3),
        ("x.rdf", SAME["x.rdf"].replace("</rdf:RDF>", "</rdf:RFD>"), 5),
        ("x.rdf", SAME["x.rdf"].replace("</rdf:RDF>", ""), 6),
        ("x.rdf", SAME["x.rdf"][:170], 3),
        ("x.rdf", "", 1),
    ],
)
def test_malformed_rdf_is_named_with_its_line(read, name, text, line):
    with pytest.raises(InputError, match=f"{name}, line {line}: malformed RDF: "):
        read(text, name)


def test_a_file_of_literals_holds_no_triple(read):
    with pytest.raises(InputError, match=r"no triple between resources \(1 with literals skipped\)"):
        read(PREFIXES + "e:a e:age 7 .")


def test_statements_about_statements_are_refused(read):
    with pytest.raises(InputError, match="a statement about a statement"):
        read(PREFIXES + "e:a e:says <<( e:a e:r e:b )>> .")


@pytest.mark.parametrize("name", ["x.nt.gz", "x.ttl.gz", "x.rdf.gz"])
def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(SAME[name.removesuffix(".gz")].encode())[:-12])
    with pytest.raises(InputError, match=f"{name}: the compressed file is cut short or damaged"):
        read_file(tmp_path / name)


# ---------------------------------------------------------------------- without pyoxigraph

WITHOUT = """
import sys
sys.modules["pyoxigraph"] = None  # as if it were not installed
import transa
from pathlib import Path
from transa.data import write
from transa.data.writing import write_file
import transa.inference.export  # imports nothing of pyoxigraph either

place = Path(sys.argv[1])
graph = transa.load("nations")
for name in ("tsv", "csv", "parquet", "openke"):
    assert transa.load(write(graph, place / name, format=name)) == graph
(place / "x.nt").write_text("<http://a> <http://b> <http://c> .\\n")
tries = [
    lambda: transa.load(place / "x.nt"),
    lambda: write(graph, place / "ttl", format="ttl"),
    lambda: write_file(graph, place / "x.rdf", ["train"]),
]
for attempt in tries:
    try:
        attempt()
    except transa.InputError as error:
        print(error)
print(sorted(path.name for path in place.iterdir()))
"""


def test_only_rdf_needs_pyoxigraph(tmp_path):
    command = [sys.executable, "-c", WITHOUT, tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    *messages, left = result.stdout.splitlines()
    assert messages == ["RDF needs pyoxigraph: pip install 'transa[rdf]'"] * 3
    assert left == "['csv', 'openke', 'parquet', 'tsv', 'x.nt']"


def test_the_command_line_says_what_to_install(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "transa.data.oxigraph", raising=False)
    result = command("convert", "nations", tmp_path / "out", "--to", "nt")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: RDF needs pyoxigraph: pip install 'transa[rdf]'\n"
    assert not (tmp_path / "out").exists()
