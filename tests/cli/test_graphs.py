from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transa import __version__
from transa.cli import main
from transa.data import KnowledgeGraph, load, write
from transa.data.registry import DATASETS

GOOD = b"ada\tknows\tbob\nbob\tknows\teve\neve\tlikes\tada\n"
SCRIPT = Path(sysconfig.get_path("scripts")) / "transa"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


def assert_refused(result, *parts: object) -> None:
    """An input that cannot be used ends in one line on stderr that says what is wrong, and exit code 2."""
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert len(result.err) < 1000
    for part in parts:
        assert str(part) in result.err


def assert_refused_everywhere(command, source: Path, *parts: object, options: tuple[str, ...] = ()) -> None:
    """Neither stats nor convert take it, and convert writes nothing."""
    before = sorted(source.parent.rglob("*"))
    assert_refused(command("stats", source, *options), *parts)
    assert_refused(command("stats", source, "--json", *options), *parts)
    for target in ("out", "out.tsv"):
        assert_refused(command("convert", source, source.parent / target, *options), *parts)
    assert sorted(source.parent.rglob("*")) == before


# ---------------------------------------------------------------------- files that cannot be used


def parquet(**columns) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


MANY = "".join(f"entity {i * 7919 % 65537}\tr\tentity {i * 104729 % 65537}\n" for i in range(5000)).encode()
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'

BAD_FILES = {
    "too few columns": ("x.tsv", b"a\tr\tb\nc\tr\n", "line 2", "expected 3 columns, found 2", r"'c\tr'"),
    "too few columns from the start": ("x.tsv", b"a\tr\n", "line 1", "found 2", "'a | r'"),
    "too many columns": ("x.csv", b"a,r,b\nc,r,d,1,e\n", "line 2", "expected 3 columns, found 5", "'c,r,d,1,e'"),
    "too many columns from the start": (
        "x.csv",
        b"a,r,b,1,e\n",
        "line 1",
        "found 5",
        "'a | r | b | 1 | e'",
        "--columns",
    ),
    "empty": ("x.tsv", b"", "the file is empty"),
    "only blank lines": ("x.tsv", b"\n\n\r\n", "the file is empty"),
    "empty gzip": ("x.tsv.gz", gzip.compress(b""), "the file is empty"),
    "only a header": ("x.csv", b"head,relation,tail\n", "a header and no triple"),
    "wrong label": ("x.tsv", b"a\tr\tb\t1\nc\tr\td\tyes\n", "line 2", "expected the label 1 or -1", "'yes'"),
    "label 0": ("x.tsv", b"a\tr\tb\t1\nc\tr\td\t0\n", "line 2", "expected the label 1 or -1", "'0'"),
    "unlabelled line": (
        "x.tsv",
        b"a\tr\tb\t1\nc\tr\td\n",
        "line 2",
        "labelled and unlabelled lines are mixed",
        r"'c\tr\td'",
    ),
    "labelled line": (
        "x.tsv",
        b"a\tr\tb\nc\tr\td\t1\n",
        "line 2",
        "labelled and unlabelled lines are mixed",
        r"'c\tr\td\t1'",
    ),
    "false triple to train on": ("x.tsv", b"a\tr\tb\t1\nc\tr\td\t-1\n", "row 2", "labelled -1"),
    "invalid UTF-8": ("x.tsv", b"a\tr\tb\nc\tr\t\xe9t\xe9\n", "line 2", "invalid UTF-8", "0xe9 in column 5"),
    "Latin-1 from the start": ("x.txt", b"\xe9\tr\tb\n", "line 1", "invalid UTF-8", "0xe9 in column 1"),
    "NUL": ("x.tsv", b"a\tr\tb\nc\tr\td\0\n", "line 2", "a NUL byte in column 6"),
    "binary": ("x.tsv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1", "0x89"),
    "a line of 10 MB": (
        "x.tsv",
        b"a\tr\tb\nc\tr\t" + b"x" * 10_000_000 + b"\n",
        "line 2",
        "more than 1,048,576 bytes",
        r"'c\tr\txxx",
    ),
    "a first line of 10 MB": ("x.tsv", b"x" * 10_000_000, "line 1", "more than 1,048,576 bytes", "'xxx"),
    "empty head": ("x.tsv", b"a\tr\tb\n\tr\td\n", "line 2", "the head is blank", r"'\tr\td'"),
    "blank relation": ("x.tsv", b"a\tr\tb\nc\t  \td\n", "line 2", "the relation is blank", r"'c\t  \td'"),
    "blank tail": ("x.tsv", b"a\tr\tb\nc\tr\t\xe2\x80\xa8\n", "line 2", "the tail is blank", r"'c\tr\t\u2028'"),
    "a quote that is not closed": ("x.csv", b'a,r,b\nc,"r,d\ne,r,f\n', "line 2", "not closed", "--no-quotes"),
    "text after a closing quote": (
        "x.csv",
        b'a,r,b\nc,"r"x,d\n',
        "line 2",
        "text follows a closing quote",
        "--no-quotes",
    ),
    "text after a closing quote at once": (
        "x.tsv",
        b'"a" b\tr\tc\n',
        "line 1",
        "text follows a closing quote",
        "--no-quotes",
    ),
    "gzip cut short": ("x.tsv.gz", gzip.compress(MANY)[:-100], "cut short or damaged"),
    "gzip cut in the header": ("x.tsv.gz", gzip.compress(MANY)[:5], "cut short or damaged"),
    "no gzip": ("x.tsv.gz", MANY, "cut short or damaged"),
    "zst cut short": ("x.tsv.zst", zstd(MANY)[:-100], "cut short or damaged"),
    "no zst": ("x.tsv.zst", MANY, "cut short or damaged"),
    "Parquet without the usual columns": (
        "x.parquet",
        parquet(a=["x"], b=["y"], c=["z"], d=["z"], e=["z"]),
        "found a, b, c, d, e",
    ),
    "Parquet with two columns": ("x.parquet", parquet(head=["x"], relation=["y"]), "found head, relation"),
    "Parquet without rows": (
        "x.parquet",
        parquet(**dict.fromkeys("abc", pa.array([], pa.string()))),
        "holds no triple",
    ),
    "Parquet with blanks": (
        "x.parquet",
        parquet(a=["x", " "], b=["r", "r"], c=["y", "z"]),
        "row 2",
        "a blank name in column 'a'",
    ),
    "Parquet with a wrong label": (
        "x.parquet",
        parquet(a=["x"], b=["r"], c=["y"], label=[5]),
        "row 1",
        "expected the label",
        "'5'",
    ),
    "no Parquet": ("x.parquet", GOOD, "not a readable Parquet file"),
    "empty Parquet": ("x.parquet", b"", "not a readable Parquet file"),
    "Parquet cut short": ("x.parquet", parquet(a=["x"], b=["r"], c=["y"])[:-10], "not a readable Parquet file"),
    "malformed N-Triples": (
        "x.nt",
        b"<http://a> <http://b> <http://c> .\n<http://a> <http://b> nix .\n",
        "line 2",
        "malformed RDF",
        "columns 23",
    ),
    "text as N-Triples": ("x.nt", GOOD, "line 1", "malformed RDF"),
    "malformed Turtle": (
        "x.ttl",
        b"@prefix a: <http://a/> .\na:b a:c b:d .\n",
        "line 2",
        "malformed RDF",
        "b: has not been declared",
    ),
    "malformed RDF/XML": (
        "x.rdf",
        f'{RDF}<rdf:Description rdf:about="http://a"><e:r</rdf:RDF>\n'.encode(),
        "line 2",
        "malformed RDF",
    ),
    "RDF/XML cut short": (
        "x.rdf",
        f'{RDF}<rdf:Description rdf:about="http://a">\n'.encode(),
        "line 3",
        "malformed RDF",
    ),
    "empty RDF": ("x.nt", b"", "no triple between resources"),
    "RDF cut short": ("x.nt.gz", gzip.compress(b"<http://a> <http://b> <http://c> .\n")[:-9], "cut short or damaged"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused(command, tmp_path, case):
    name, content, *parts = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    assert_refused_everywhere(command, tmp_path / name, tmp_path / name, *parts)


OPENKE = {
    "entity2id.txt": "3\nada\t0\nbob\t1\neve\t2\n",
    "relation2id.txt": "1\nknows\t0\n",
    "train2id.txt": "2\n0 1 0\n1 2 0\n",
}
TRAIN = {"train.txt": GOOD.decode()}
BAD_FOLDERS = {
    "entity out of range": (
        OPENKE | {"train2id.txt": "2\n0 1 0\n1 3 0\n"},
        "train2id.txt, line 3",
        "the tail id 3 is out of range",
    ),
    "relation out of range": (
        OPENKE | {"train2id.txt": "1\n0 1 7\n"},
        "train2id.txt, line 2",
        "the relation id 7 is out of range",
    ),
    "wrong count of triples": (
        OPENKE | {"train2id.txt": "9\n0 1 0\n1 2 0\n"},
        "train2id.txt, line 1",
        "9 lines announced, 2 found",
    ),
    "wrong count of entities": (
        OPENKE | {"entity2id.txt": "4\nada\t0\nbob\t1\neve\t2\n"},
        "entity2id.txt, line 1",
        "4 lines announced, 3 found",
    ),
    "an id twice": (
        OPENKE | {"entity2id.txt": "3\nada\t0\nbob\t1\neve\t1\n"},
        "entity2id.txt, line 4",
        "the id 1 occurs twice",
    ),
    "a word for an id": (OPENKE | {"train2id.txt": "2\n0 1 0\n1 two 0\n"}, "train2id.txt, line 3", "'two'"),
    "a word for a count": (OPENKE | {"train2id.txt": "two\n0 1 0\n"}, "train2id.txt, line 1", "'two'"),
    "a word for an id of an entity": (OPENKE | {"entity2id.txt": "1\nada\tx\n"}, "entity2id.txt, line 2", r"'ada\tx'"),
    "no relations": ({"entity2id.txt": "1\nada\t0\n", "train2id.txt": "1\n0 0 0\n"}, "needs relation2id.txt"),
    "no train": ({"valid.txt": "a\tr\tb\n", "test.txt": "a\tr\tb\n"}, "no train file", "found test.txt, valid.txt"),
    "nothing": ({}, "no train file", "found nothing"),
    "train twice": (TRAIN | {"train.tsv": GOOD.decode()}, "train is there twice: train.tsv and train.txt"),
    "a bad test file": (TRAIN | {"test.txt": "a\tr\tb\nc\td\n"}, "test.txt, line 2", "found 2", r"'c\td'"),
    "a bad side file": (TRAIN | {"entity_names.tsv": "ada\tAda\nbob\n"}, "entity_names.tsv, line 2", "'bob'"),
}


@pytest.mark.parametrize("case", BAD_FOLDERS)
def test_a_bad_folder_is_refused(command, tmp_path, case):
    files, *parts = BAD_FOLDERS[case]
    source = tmp_path / "source"
    source.mkdir()
    for name, content in files.items():
        (source / name).write_text(content)
    assert_refused_everywhere(command, source, source, *parts)


BAD_OPTIONS = {
    "a column that is not there": (
        b"who,does,whom\na,r,b\n",
        ("--columns", "who,dose,whom"),
        "line 1",
        "'dose'",
        "did you mean 'does'",
    ),
    "a position that is not there": (b"a,r,b\n", ("--columns", "0,1,3"), "line 1", "no column 3", "0 to 2"),
    "two columns": (b"a,r,b\n", ("--columns", "0,1"), "expected 3 or 4 columns", "found 2"),
    "a column twice": (b"a,r,b\n", ("--columns", "0,1,1"), "column '1' is asked for twice"),
    "names without a header": (b"a,r,b\n", ("--columns", "a,r,b", "--no-header"), "need a header"),
    "a delimiter of two characters": (b"a,r,b\n", ("--delimiter", ",,"), "delimiter must be one character", "',,'"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_are_refused(command, tmp_path, case):
    content, options, *parts = BAD_OPTIONS[case]
    (tmp_path / "x.csv").write_bytes(content)
    assert_refused_everywhere(command, tmp_path / "x.csv", *parts, options=options)


def test_a_parquet_file_without_the_named_columns_is_refused(command, tmp_path):
    (tmp_path / "x.parquet").write_bytes(parquet(who=["a"], does=["r"], whom=["b"]))
    path = tmp_path / "x.parquet"
    assert_refused_everywhere(command, path, path, "no column 'what'", options=("--columns", "who,does,what"))


def test_a_path_that_does_not_exist_is_told_with_near_names(command, tmp_path):
    (tmp_path / "graph.tsv").write_bytes(GOOD)
    path = tmp_path / "grahp.tsv"
    assert_refused_everywhere(command, path, path, "no such file or folder; did you mean 'graph.tsv'?")


def test_an_unknown_dataset_is_told_with_near_names(command):
    assert_refused(command("stats", "fb15k-273"), "'fb15k-273'", "did you mean 'fb15k-237'")
    assert_refused(command("convert", "nationz", "out"), "'nationz'", "did you mean 'nations'?")
    assert_refused(command("stats", "no-such-thing-at-all"), "the datasets are umls, kinship, nations")
    assert not Path("out").exists()


def as_nobody(*arguments: object) -> tuple[int, str, str]:
    """Run the command in a child of this process that has no rights."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads in a process that forks
        child = os.fork()
    if not child:
        out, err, code = io.StringIO(), io.StringIO(), -1
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            sys.argv = ["transa", *map(str, arguments)]
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main()
        except SystemExit as stop:
            code = stop.code
        finally:
            os.write(writer, json.dumps([code, out.getvalue(), err.getvalue()]).encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return tuple(json.loads(answer))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_file_without_permission_is_refused(command):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for source in ("open.tsv", "open.nt", "closed.tsv", "closed.parquet", "closed.nt"):
            (folder / source).write_bytes(GOOD)
        (folder / "closed").mkdir()
        (folder / "closed" / "train.tsv").write_bytes(GOOD)
        for entry in folder.glob("closed*"):
            entry.chmod(0)
        for source in ("open.tsv", "open.nt"):  # so that everything is imported before rights are given up
            command("stats", folder / source)
        for source in ("closed.tsv", "closed.parquet", "closed.nt", "closed", "closed/train.tsv"):
            code, out, err = as_nobody("stats", folder / source)
            assert (code, out) == (2, "")
            assert err.startswith(f"error: {folder / source}: ")
            assert "permission denied" in err.lower()
        code, out, err = as_nobody("convert", folder / "open.tsv", folder / "out")
        assert (code, out) == (2, "")
        assert err == f"error: {folder / 'out'}: cannot be written: Permission denied\n"
        (folder / "closed").chmod(0o755)


# ---------------------------------------------------------------------- what convert refuses


@pytest.fixture
def one_piece(tmp_path) -> Path:
    path = tmp_path / "graph.tsv"
    path.write_bytes(b"".join(b"e%d\tr%d\te%d\n" % (i % 10, i % 2, i // 10) for i in range(100)))
    return path


@pytest.fixture
def labelled(tmp_path) -> Path:
    graph = KnowledgeGraph.from_triples([("a", "r", "b")], [("b", "r", "a", -1)], [("b", "r", "b", 1)])
    return write(graph, tmp_path / "labelled", format="tsv")


@pytest.mark.parametrize(
    ("split", "part"),
    [
        ("0.8,0.2", "three fractions"),
        ("0.8,0.1,0.2", "sum to 1"),
        ("1.5,-0.5,0", "sum to 1"),
        ("nan,0,1", "sum to 1"),
        ("80%,10%,10%", "--split: expected three numbers such as 0.8,0.1,0.1, found '80%,10%,10%'"),
        ("", "--split: expected three numbers"),
    ],
)
def test_a_bad_split_is_refused(command, one_piece, tmp_path, split, part):
    assert_refused(command("convert", one_piece, tmp_path / "out", "--split", split), part)
    assert not (tmp_path / "out").exists()


def test_a_graph_with_splits_is_not_split_again(command, tmp_path):
    assert_refused(
        command("convert", "umls", tmp_path / "out", "--split", "0.8,0.1,0.1"), "has valid or test triples already"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["nt", "ttl", "rdf", "openke"])
def test_labels_are_refused_where_the_format_has_none(command, labelled, tmp_path, kind):
    result = command("convert", labelled, tmp_path / "out", "--to", kind)
    assert_refused(result, f"labelled triples, which {kind} cannot hold; use tsv, csv, ")
    assert not (tmp_path / "out").exists()


def test_several_splits_need_a_folder_or_a_part(command, labelled, tmp_path):
    result = command("convert", labelled, tmp_path / "out.tsv")
    assert_refused(result, tmp_path / "out.tsv", "train, valid, test triples", "--part")
    result = command("convert", labelled, tmp_path / "out.tsv", "--part", "all")
    assert_refused(result, tmp_path / "out.tsv", "labelled and unlabelled splits cannot share a file")
    result = command("convert", labelled, tmp_path / "out.nt", "--part", "valid")
    assert_refused(result, "labelled triples, which nt cannot hold")
    assert [entry.name for entry in tmp_path.iterdir()] == ["labelled"]
    assert command("convert", labelled, tmp_path / "out.nt", "--part", "train").code == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("out", "--part", "train"), "--part is for single files"),
        (("out.csv", "--to", "tsv"), "--to is for folders"),
        (("out.xlsx",), "unknown suffix '.xlsx'"),
        (("out.tsv.zst",), "cannot write .tsv.zst"),
        (("out.tsv", "--part", "test"), "no triples in test"),
        (("nowhere/out.tsv",), "nowhere does not exist"),
        (("nowhere/out",), "nowhere does not exist"),
        (("graph.tsv",), "exists already; pass --overwrite"),
        ((".",), "is the current folder"),
    ],
)
def test_targets_that_cannot_be_written_are_refused(command, one_piece, monkeypatch, arguments, part):
    monkeypatch.chdir(one_piece.parent)
    content = one_piece.read_bytes()
    assert_refused(command("convert", "./graph.tsv", *arguments), part)
    assert [entry.name for entry in one_piece.parent.iterdir()] == ["graph.tsv"]
    assert one_piece.read_bytes() == content


def test_existing_targets_are_kept_without_overwrite(command, one_piece, tmp_path):
    target = tmp_path / "out"
    assert command("convert", one_piece, target).code == 0
    assert_refused(command("convert", "nations", target), target, "exists already; pass --overwrite")
    assert load(target) == load(one_piece)
    assert command("convert", "nations", target, "--overwrite").code == 0
    assert load(target) == load("nations")
    (target / "thesis.doc").touch()
    assert_refused(command("convert", one_piece, target, "--overwrite"), target, "holds other files ('thesis.doc')")
    assert load(target) == load("nations")


@pytest.mark.parametrize(
    "arguments",
    [("convert", "umls", "out", "--to", "xml"), ("stats",), ("nonsense",), ("stats", "umls", "--top", "-1")],
)
def test_wrong_usage_is_refused(command, arguments):
    result = command(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert "Usage: transa" in result.err
    assert "Traceback" not in result.err


# ---------------------------------------------------------------------- what is taken


def test_unseen_entities_and_relations_are_kept_and_noted(command, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.txt").write_bytes(GOOD)
    (source / "valid.txt").write_text("ada\thates\tbob\n")
    (source / "test.txt").write_text("ada\tknows\tzoe\nmax\tknows\tada\nada\tlikes\tbob\n")
    result = command("stats", source, "--json")
    assert result.code == 0
    assert "note: 1 valid triple has an entity or relation that does not occur in train, and is kept\n" in result.err
    assert "note: 2 test triples have an entity or relation that does not occur in train, and are kept\n" in result.err
    found = json.loads(result.out)
    assert found["unseen"] == {"valid": 1, "test": 2}
    assert found["entities"] == 5
    assert command("convert", source, tmp_path / "out").code == 0
    assert load(tmp_path / "out") == load(source)


def test_a_recognised_header_is_noted(command, tmp_path):
    (tmp_path / "x.csv").write_text("subject,predicate,object\na,r,b\n")
    result = command("stats", tmp_path / "x.csv")
    assert result.code == 0
    assert result.err == f"note: {tmp_path / 'x.csv'}: the first line was taken as a header\n"


def test_skipped_literals_are_noted(command, tmp_path):
    (tmp_path / "x.ttl").write_text("@prefix e: <http://e/> . e:a e:r e:b ; e:age 7, 8 .")
    result = command("stats", tmp_path / "x.ttl")
    assert result.code == 0
    assert result.err == f"note: {tmp_path / 'x.ttl'}: 2 statements with literals skipped\n"


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("b;7;r;a\n", ("--columns", "3,2,0", "--delimiter", ";")),
        ("who\twhen\tdoes\twhom\na\t7\tr\tb\n", ("--columns", "who,does,whom", "--delimiter", "\\t")),
        ("x\ty\tz\na\tr\tb\n", ("--header", "--delimiter", "tab")),
    ],
)
def test_options_reach_the_reader(command, tmp_path, content, options):
    (tmp_path / "x.dat").write_text(content)
    result = command("convert", tmp_path / "x.dat", tmp_path / "out.tsv", *options)
    assert result.code == 0 and ("not used: the column 'when'" in result.err) == ("when" in content)
    assert (tmp_path / "out.tsv").read_text() == "a\tr\tb\n"


def test_stats_show_labels_to_people_and_keys_in_json(command, tmp_path):
    (tmp_path / "x.ttl").write_text(
        "@prefix : <http://x.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':P31 rdfs:label "has category" . :P32 rdfs:label "category again" . :a :P31 :b . :a :P32 :b .\n'
    )
    shown = command("stats", tmp_path / "x.ttl")
    assert shown.out.count("has category (P31)") == shown.out.count("category again (P32)") == 2
    assert list(json.loads(command("stats", tmp_path / "x.ttl", "--json").out)["per_relation"]) == [
        "http://x.org/P31",
        "http://x.org/P32",
    ]


def test_quotes_can_be_taken_literally(command, tmp_path):
    (tmp_path / "x.tsv").write_text('"a" b\tr\t"c\n')
    assert command("convert", tmp_path / "x.tsv", tmp_path / "out", "--no-quotes").code == 0
    assert list(load(tmp_path / "out").entities) == ['"a" b', '"c']


def test_no_header_keeps_the_first_line(command, tmp_path):
    (tmp_path / "x.tsv").write_text("s\tp\to\na\tp\tb\n")
    result = command("stats", tmp_path / "x.tsv", "--no-header", "--json")
    assert json.loads(result.out)["triples"]["train"] == 2


@pytest.mark.parametrize("kind", ["parquet", "tsv", "csv", "nt", "ttl", "rdf", "openke"])
def test_convert_writes_what_load_reads(command, tmp_path, kind):
    result = command("convert", "nations", tmp_path / "out", "--to", kind)
    assert result.code == 0
    assert result.out == f"{tmp_path / 'out'}: 14 entities, 55 relations, 1,592 train / 199 valid / 201 test triples\n"
    assert load(tmp_path / "out") == load("nations")


@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.nt", "out.ttl", "out.rdf", "out.parquet"])
def test_convert_writes_one_part_to_one_file(command, tmp_path, name):
    assert command("convert", "nations", tmp_path / name, "--part", "test").code == 0
    assert len(load(tmp_path / name).train) == 201
    result = command("convert", "nations", tmp_path / name, "--part", "all", "--overwrite")
    assert result.code == 0
    assert len(load(tmp_path / name).train) == 1592 + 199 + 201


def test_convert_writes_to_standard_output(command, tmp_path):
    (tmp_path / "x.tsv").write_bytes(GOOD)
    for options, expected in (((), GOOD.decode()), (("--to", "csv"), "ada,knows,bob\n")):
        result = command("convert", tmp_path / "x.tsv", "-", *options)
        assert result.code == 0 and expected in result.out.replace("\r\n", "\n")
    assert not Path("-").exists()
    assert_refused(
        command("convert", tmp_path / "x.tsv", "-", "--to", "openke"), "'openke' is no format of single files"
    )
    assert_refused(command("convert", tmp_path / "x.tsv", "-", "--json"), "--json")
    assert_refused(command("convert", "umls", "-"), "--part")


def test_convert_splits_on_request(command, one_piece, tmp_path):
    for target, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            command("convert", one_piece, tmp_path / target, "--split", "0.8,0.1,0.1", "--split-seed", seed).code == 0
        )
    graphs = [load(tmp_path / target) for target in "abc"]
    assert graphs[0] == graphs[1] != graphs[2]
    assert [len(graphs[0].triples(split)) for split in ("train", "valid", "test")] == [80, 10, 10]


def test_names_are_shown_literally(command, tmp_path):
    (tmp_path / "[bold]x[").mkdir()
    path = tmp_path / "[bold]x[" / "b].tsv"
    path.write_text("a\t[red]r[/red]\tb\na\t\\[/x]\tb\n")
    result = command("stats", path)
    assert result.code == 0
    assert "[red]r[/red]" in result.out
    assert "\\[/x]" in result.out
    assert result.out.splitlines()[0] == str(path)


def test_top_limits_the_relations(command):
    everything, few = (command("stats", "nations", "--no-rules", "--top", top).out for top in (60, 2))
    assert "the 2 largest" in few
    assert few.count("\n") < everything.count("\n")
    assert command("stats", "nations", "--no-rules", "--top", 0).code == 0


def test_stats_tell_what_rules_reach(command, tmp_path: Path) -> None:
    twins = [(f"{a}{i}", r, f"{b}{i}") for i in range(9) for a, r, b in (("p", "owns", "q"), ("q", "is owned by", "p"))]
    lone = ("p1", "owns", "q2")
    graph = KnowledgeGraph.from_triples(twins[:-3], [lone], [twins[-3], lone])
    graph.save(tmp_path / "graph")
    found = json.loads(command("stats", tmp_path / "graph", "--json").out)["reached_by_rules"]
    assert (found["forms"], found["complete"]) == ("all", True)
    assert found["reached"]["test"] == {"one_atom": 1, "other": 0, "none": 1}
    assert found["reached"]["valid"] == {"one_atom": 0, "other": 0, "none": 1}
    shown = command("stats", tmp_path / "graph").out
    (line,) = [line.replace("│", " ").split() for line in shown.splitlines() if "a rule of one atom" in line]
    assert line[-4:] == ["0", "0.0%", "1", "50.0%"]
    assert json.loads(command("stats", tmp_path / "graph", "--no-rules", "--json").out)["reached_by_rules"] is None
    single = KnowledgeGraph.from_triples(twins).save(tmp_path / "single")
    assert json.loads(command("stats", single, "--json").out)["reached_by_rules"] is None  # nothing to reach


# ---------------------------------------------------------------------- JSON


def test_json_of_datasets(command):
    result = command("datasets", "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert list(found) == list(DATASETS)
    assert (found["umls"]["entities"], found["umls"]["embedded"]) == (135, True)
    assert Path(found["umls"]["path"], "train.txt").is_file()


def test_datasets_as_a_table(command):
    result = command("datasets")
    assert result.code == 0
    assert all(f" {name} " in result.out for name in DATASETS)


def test_formats_as_a_table_and_as_json(command):
    result = command("formats")
    assert result.code == 0
    assert all(f" {name} " in result.out for name in ("tsv", "csv", "parquet", "nt", "ttl", "rdf", "openke"))
    found = json.loads(command("formats", "--json").out)
    extensions = {each["name"]: each["extensions"] for each in found["files"]}
    assert extensions["tsv"] == [".tsv", ".txt", ""]
    assert {"csv", "jsonl", "parquet", "nt", "ttl", "rdf"} <= extensions.keys()
    assert [each["name"] for each in found["folders"]] == ["mapped", "openke", "parquet"]


def test_the_table_of_datasets_fits_into_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("datasets").stdout.splitlines()
    assert len(lines) == len(DATASETS) + 5
    assert max(map(len, lines)) <= 80


def test_json_of_stats(command, tmp_path):
    (tmp_path / "x.csv").write_text("head,relation,tail\nada,likes to,🦉\nada,likes to,🦉\n")
    result = command("stats", tmp_path / "x.csv", "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert found["source"] == str(tmp_path / "x.csv")
    assert (found["entities"], found["relations"]) == (2, 1)
    assert found["triples"] == {"train": 2, "valid": 0, "test": 0}
    assert found["duplicates"]["train"] == 1
    assert list(found["per_relation"]) == ["likes to"]
    assert found["notes"] == [f"{tmp_path / 'x.csv'}: the first line was taken as a header"]
    assert result.err == f"note: {found['notes'][0]}\n"


def test_json_of_convert(command, tmp_path):
    result = command("convert", "nations", tmp_path / "out", "--json")
    assert result.code == 0
    assert json.loads(result.out) == {
        "path": str(tmp_path / "out"),
        "entities": 14,
        "relations": 55,
        "triples": {"train": 1592, "valid": 199, "test": 201},
        "notes": [],
    }


def test_json_of_convert_counts_what_was_written(command, tmp_path):
    result = command("convert", "nations", tmp_path / "out.tsv", "--part", "valid", "--json")
    assert json.loads(result.out)["triples"] == {"valid": 199}


# ---------------------------------------------------------------------- the installed command


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_the_script_tells_its_version(command):
    result = run("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{__version__}\n", "")
    assert command("--version").out == f"{__version__}\n"


def test_the_script_prints_one_json_object(tmp_path):
    (tmp_path / "x.csv").write_text("head,relation,tail\na,r,b\n")
    result = run("stats", tmp_path / "x.csv", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["entities"] == 2
    assert result.stderr.startswith("note: ")


def test_the_script_refuses_a_bad_file(tmp_path):
    (tmp_path / "x.tsv").write_bytes(b"a\tr\tb\nc\tr\n")
    result = run("convert", tmp_path / "x.tsv", tmp_path / "out")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"error: {tmp_path / 'x.tsv'}, line 2: expected 3 columns, found 2: 'c\\tr'\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [("--help",), ("-h",)])
def test_help_names_the_commands(command, arguments):
    result = command(*arguments)
    assert result.code == 0
    assert all(name in result.out for name in ("datasets", "stats", "convert"))


def test_the_command_line_imports_nothing_heavy():
    code = [sys.executable, "-X", "importtime", "-c", "import transa.cli"]
    result = subprocess.run(code, capture_output=True, text=True, timeout=120, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
    assert "transa" in imported
    assert imported.isdisjoint({"numpy", "pyarrow", "numba", "torch", "scipy", "pandas", "pyoxigraph"})
