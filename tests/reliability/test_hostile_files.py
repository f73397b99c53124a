"""Files made to do harm, by name: each ends in an error that names it, soon and in little memory."""

from __future__ import annotations

import gzip
import os
import socket
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transa.data import KnowledgeGraph, load, streams
from transa.errors import InputError, suggest
from transa.inference.question_files import read_questions

STATEMENT = "<http://a/x> <http://a/p> "
XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/">'


def refused(path: Path, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000


# ---------------------------------------------------------------------- text


TEXTS = {
    "a NUL": (b"a\tb\tc\nd\te\t\0f\n", "line 2: a NUL byte"),
    "a surrogate": (b"a\tb\t\xed\xa0\x80\n", "invalid UTF-8"),
    "an overlong NUL": (b"a\tb\t\xc0\x80\n", "invalid UTF-8"),
    "a line of a million characters": (b"a" * 1_000_000 + b"\tb\tc\n", "longer than 65,536 characters"),
    "a line of four million characters": (b"a" * 4_000_000, "a line of more than"),
    "a million tabs": (b"a" + b"\t" * 1_000_000, "expected 3 columns .* found 1000001"),
    "a quote that is never closed": (b'a\tb\tc\n"' + b"d\n" * 500_000, "line 2: a field longer than"),
    "nothing but line ends": (b"\r" * 1_000_000, "empty"),
    "a byte-order mark alone": (b"\xef\xbb\xbf", "empty"),
    "UTF-16": ("a\tb\tc\n".encode("utf-16"), "a NUL byte"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text(tmp_path: Path, name: str) -> None:
    content, match = TEXTS[name]
    (tmp_path / "t.tsv").write_bytes(content)
    refused(tmp_path / "t.tsv", match)


def test_names_with_line_ends_quotes_and_control_characters_stay_themselves(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'"two\nlines",r,"a ""quote"""\n\x1b[2J,r,../../etc\n')
    assert sorted(load(tmp_path / "t.csv").entities) == ["\x1b[2J", "../../etc", 'a "quote"', "two\nlines"]


@pytest.mark.parametrize("name", ["\ud800", "a\udcffb"])
def test_half_a_surrogate_pair_is_no_name(name: str) -> None:
    with pytest.raises(InputError, match=r"row 2: a name that is not valid Unicode"):
        KnowledgeGraph.from_triples([("a", "r", "b"), ("a", "r", name)])
    with pytest.raises(InputError, match="not valid Unicode"):
        KnowledgeGraph.from_ids([(0, 0, 0)], entities=[name])


def test_a_misspelt_name_among_very_many_is_told_soon() -> None:
    names = [f"entity_{number:06d}" for number in range(50_000)]
    assert "entity_0" in suggest("entity_012x45", names)
    assert suggest("x" * 1_000_000, names) == ""


@pytest.mark.parametrize("count", ["9" * 18, "9" * 30, "-1", "1e3", "0x10", "٣"])
def test_counts_of_openke_that_lie(tmp_path: Path, count: str) -> None:
    for name in ("entity2id.txt", "relation2id.txt"):
        (tmp_path / name).write_text("1\na\t0\n")
    (tmp_path / "train2id.txt").write_text(f"{count}\n0 0 0\n", "utf-8")
    refused(tmp_path, "line 1: (expected the number of lines|.* announced)")


@pytest.mark.parametrize("number", ["9" * 18, "9" * 30, "-1"])
def test_ids_of_openke_that_lie(tmp_path: Path, number: str) -> None:
    for name in ("entity2id.txt", "relation2id.txt"):
        (tmp_path / name).write_text("1\na\t0\n")
    (tmp_path / "train2id.txt").write_text(f"1\n0 0 {number}\n")
    refused(tmp_path, "line 2: (the relation id|expected a relation id)")
    (tmp_path / "entity2id.txt").write_text(f"1\na\t{number}\n")
    refused(tmp_path, "line 2: (the id|expected a name and an id)")


def test_an_id_before_a_separator_of_ascii_is_one(tmp_path: Path) -> None:
    (tmp_path / "entity2id.txt").write_text("1\na\t0\x1e\n")
    (tmp_path / "relation2id.txt").write_text("1\nr\t0\n")
    (tmp_path / "train2id.txt").write_text("1\n0 0 0\n")
    assert list(load(tmp_path).entities) == ["a"]


# ---------------------------------------------------------------------- what is no file, and archives


def test_pipes_devices_and_sockets_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("t.tsv", "t.parquet", "t.nt"):
        os.mkfifo(tmp_path / name)
        refused(tmp_path / name, "is a pipe")
    for name in ("d.tsv", "d.parquet", "d.nt", "d.rdf"):
        (tmp_path / name).symlink_to("/dev/zero")
        refused(tmp_path / name, "is a device or a socket")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        server.bind("s.tsv")
        refused(tmp_path / "s.tsv", "is a device or a socket")


def test_a_pipe_in_a_saved_graph_is_not_read(tmp_path: Path) -> None:
    folder = KnowledgeGraph.from_triples([("a", "r", "b")]).save(tmp_path / "graph")
    (folder / "train.parquet").unlink()
    os.mkfifo(folder / "train.parquet")
    refused(folder, "is a pipe")


def test_links_in_circles_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").symlink_to(tmp_path / "b.tsv")
    (tmp_path / "b.tsv").symlink_to(tmp_path / "a.tsv")
    refused(tmp_path / "a.tsv", "no such file|cannot be read")


def test_archives_are_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("../../evil.tsv", "a\tb\tc\n")
        archive.writestr("/tmp/evil.tsv", "a\tb\tc\n")
    refused(tmp_path / "t.zip", "NUL|UTF-8")
    assert [path.name for path in tmp_path.iterdir()] == ["t.zip"]


def packed(path: Path, line: bytes, megabytes: int) -> Path:
    """Write a bomb: the same member of a megabyte many times over, which costs nothing to make."""
    member = gzip.compress(line * (1_000_000 // len(line) + 1), 9, mtime=0)
    path.write_bytes(member * megabytes)
    return path


BOMBS = {
    "rows.tsv.gz": b"a\tb\tc\n",
    "quoted.csv.gz": b'"a",b,c\n',
    "blank.tsv.gz": b"\n",
    "statements.nt.gz": b"<http://a/x> <http://a/p> <http://a/y> .\n",
    "comments.ttl.gz": b"# nothing\n",
    "spaces.rdf.gz": b" ",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_put_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(streams, "UNPACKED", 1 << 20)
    refused(packed(tmp_path / name, BOMBS[name], 8), "unpacks to more than 100 times its size")


def test_a_bomb_of_zstd_is_put_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "UNPACKED", 1 << 20)
    (tmp_path / "t.tsv.zst").write_bytes(pa.compress(b"a\tb\tc\n" * 1_000_000, "zstd", asbytes=True))
    refused(tmp_path / "t.tsv.zst", "unpacks to more than 100 times its size")


def test_what_compresses_as_triples_do_is_read_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "UNPACKED", 1 << 16)
    lines = "".join(f"entity {i * 7919 % 20_000}\trelation {i % 7}\tentity {i}\n" for i in range(20_000)).encode()
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(lines))
    assert len(load(tmp_path / "t.tsv.gz")) == 20_000


# ---------------------------------------------------------------------- Parquet


def test_a_parquet_file_of_endless_rows_is_refused(tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["a"]))
    table = pa.table({"head": column, "relation": column, "tail": column})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(table)
    assert (tmp_path / "t.parquet").stat().st_size < 200_000
    refused(tmp_path / "t.parquet", "unpacks to more than 100 times its size")


def test_questions_in_a_parquet_file_of_endless_rows_are_refused(tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int32)), pa.array(["a"]))
    pq.write_table(pa.table({"head": column, "relation": column, "tail": column}), tmp_path / "ask.parquet")
    with pytest.raises(InputError, match=r"ask\.parquet.*unpacks to more than 100 times its size"):
        read_questions(tmp_path / "ask.parquet")


def test_a_part_of_a_parquet_file_that_claims_more_rows_than_the_whole_is_refused(tmp_path: Path) -> None:
    table = pa.table({"head": ["a"] * 3, "relation": ["r"] * 3, "tail": ["b"] * 3})
    pq.write_table(table, tmp_path / "whole.parquet", store_schema=False)
    whole = (tmp_path / "whole.parquet").read_bytes()
    place = whole.rindex(b"\x16\x06")  # of the last field in the thrift footer that is 3: the rows of the row group
    (tmp_path / "t.parquet").write_bytes(whole[: place + 1] + b"\x7e" + whole[place + 2 :])
    assert pq.read_metadata(tmp_path / "t.parquet").row_group(0).num_rows == 63
    refused(tmp_path / "t.parquet", "other numbers of rows than it says")


def test_names_of_columns_that_are_no_text_are_refused(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"head": ["a"], "relation": ["r"], "other": ["b"]}), tmp_path / "whole.parquet", store_schema=False
    )
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole.replace(b"other", b"\xff\xfe\xfd\xfc\xfb"))
    refused(tmp_path / "t.parquet", "the name of a column is not UTF-8")
    with pytest.raises(InputError, match="the name of a column is not UTF-8"):
        read_questions(tmp_path / "t.parquet")


@pytest.mark.parametrize("said", [b"{", b"[]", b"7", b"null", b"\xff", b"[" * 100_000, b'{"index_columns": 7}'])
def test_what_pandas_is_said_to_have_written_is_not_believed(tmp_path: Path, said: bytes) -> None:
    table = pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}).replace_schema_metadata({b"pandas": said})
    pq.write_table(table, tmp_path / "t.parquet")
    assert len(load(tmp_path / "t.parquet")) == 1


def test_a_parquet_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for place in range(0, len(whole), 37):
        (tmp_path / "t.parquet").write_bytes(whole[:place])
        refused(tmp_path / "t.parquet", "not a readable Parquet file|cannot be read")


def test_a_footer_that_lies_about_its_length(tmp_path: Path) -> None:
    pq.write_table(pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for length in (0, 1, 2**31 - 1, 2**32 - 1):
        (tmp_path / "t.parquet").write_bytes(whole[:-8] + struct.pack("<I", length) + b"PAR1")
        refused(tmp_path / "t.parquet", "not a readable Parquet file|cannot be read")


# ---------------------------------------------------------------------- RDF


def laughs(used: str, depth: int = 9) -> str:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, depth + 1))
    return (
        f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY l0 "ha">{entities}]>{XML}'
        f'<rdf:Description rdf:about="http://a/x"><a:q rdf:resource="http://a/{used}"/></rdf:Description></rdf:RDF>'
    )


RDF = {
    "lists in lists.ttl": STATEMENT + "(" * 100_000,
    "blank nodes in blank nodes.ttl": STATEMENT + "[ <http://a/p> " * 50_000,
    "statements about statements.ttl": STATEMENT + f"<<( {STATEMENT}" * 20_000,
    "statements about statements.nt": STATEMENT + f"<<( {STATEMENT}" * 20_000,
    "elements in elements.rdf": XML + "<a:x><a:p>" * 50_000,
    "a text without end.ttl": f'{STATEMENT}"""' + "a" * 2_000_000,
    "an encoding that is none.rdf": f'<?xml version="1.0" encoding="none-8"?>{XML}<a:x>',
    "a billion laughs.rdf": laughs("&l9;"),
    "a billion laughs, never used.rdf": laughs("y"),
    "one laugh, a million times.rdf": laughs("&l3;" * 10_000, 3),
}


@pytest.mark.slow
def test_hostile_rdf_in_a_process_of_its_own(tmp_path: Path) -> None:
    """A parser that overflows its stack would take the process with it, so that this one looks on."""
    for name, content in RDF.items():
        (tmp_path / name).write_text(content)
    found = run_in_little_memory(tmp_path, list(RDF))
    assert found == dict.fromkeys(RDF, "InputError")


def test_no_file_is_read_for_an_external_entity(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("http://a/secret")
    (tmp_path / "t.rdf").write_text(
        f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY s SYSTEM "{(tmp_path / "secret").as_uri()}">]>{XML}'
        '<rdf:Description rdf:about="http://a/x"><a:p rdf:resource="&s;"/><a:p rdf:resource="http://a/y"/>'
        "</rdf:Description></rdf:RDF>"
    )
    with pytest.raises(InputError, match="malformed RDF"):
        load(tmp_path / "t.rdf")


# ---------------------------------------------------------------------- memory

SCRIPT = """
import resource, sys
from pathlib import Path
import transa
transa.load("nations")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[2:]:
    try:
        transa.load(Path(sys.argv[1]) / name)
        print(name, "read", sep="\\t")
    except transa.TransaError as error:
        print(name, type(error).__name__, sep="\\t")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 512, f"{name}: {grown} MB"
"""


def run_in_little_memory(folder: Path, names: list[str]) -> dict[str, str]:
    """Load files in a new process, which fails where its memory grows by 512 MB; return how each ended."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *names], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(line.split("\t") for line in done.stdout.splitlines())


@pytest.mark.slow
def test_bombs_take_little_memory(tmp_path: Path) -> None:
    make: dict[str, Callable[[Path], object]] = {
        "rows.tsv.gz": lambda path: packed(path, b"a\tb\tc\n", 40),
        "statements.nt.gz": lambda path: packed(path, b"<http://a/x> <http://a/p> <http://a/y> .\n", 40),
    }
    for name, write in make.items():
        write(tmp_path / name)
    assert run_in_little_memory(tmp_path, list(make)) == dict.fromkeys(make, "InputError")
