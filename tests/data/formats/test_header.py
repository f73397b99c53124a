"""Headers that no list of words knows, columns that are not used, and rows with too little confidence."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import transa
from tests.data.formats.test_delimited import labels, rows
from transa.data import KnowledgeGraph, load
from transa.data.formats import ReadOptions, read_file
from transa.data.graph import SPLITS
from transa.data.triple_table import TripleTable
from transa.data.writing import write_file
from transa.errors import InputError

FACTS = [(f"d{i % 5}", "inhibits" if i % 2 else "binds", f"g{i % 7}") for i in range(12)]
TEXT = "".join(f"{head},{relation},{tail}\n" for head, relation, tail in FACTS)


def written(folder: Path, text: str, name: str = "x.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def read(folder: Path, text: str, name: str = "x.csv", **options: object) -> TripleTable:
    return read_file(written(folder, text, name), ReadOptions(**options))  # type: ignore[arg-type]


# ---------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("header", "few"),
    [
        ("source,label,target", 1),  # known words alone
        ("Subject,property,Object", 1),
        ("drug,interaction,gene", 3),  # one known word, and nothing comes again
        ("from,how,to", 3),
        ("drug,what,gene", 12),  # no known word, but all other relations come again
        ("Wirkstoff,wie,Ziel-Gen", 12),
        ("drug name,what it does,gene_2", 12),
    ],
)
def test_a_header_is_no_fact_and_a_note_says_so(tmp_path: Path, header: str, few: int) -> None:
    text = "".join(TEXT.splitlines(keepends=True)[:few])
    table = read(tmp_path, f"{header}\n{text}")
    assert rows(table) == FACTS[:few]
    assert len(table.notes) == 1 and "was taken as a header" in table.notes[0]
    graph = load(tmp_path / "x.csv")
    assert not {name.lower() for name in header.split(",")} & {*map(str.lower, graph.entities), *graph.relations}
    assert rows(read(tmp_path, f"{header}\n{text}", header=False))[0] == tuple(header.split(","))


@pytest.mark.parametrize(
    "first",
    [
        "drug,binds,gene",  # the relation comes again
        "d1,what,gene",  # the head comes again
        "drug,what,g1",  # the tail comes again
        "g1,what,d1",  # the ends come again on the other side
        "drug,what,what",  # two columns of one name
        "/m/01,/r/2,/m/03",  # no words
        "17,3,18",
        "interaction,binds,gene",
    ],
)
def test_a_first_line_that_has_something_in_common_with_others_is_a_fact(tmp_path: Path, first: str) -> None:
    table = read(tmp_path, f"{first}\n{TEXT}")
    assert rows(table) == [tuple(first.split(",")), *FACTS] and table.notes == ()


def test_a_first_line_among_others_that_come_once_is_a_fact(tmp_path: Path) -> None:
    other = "".join(f"a{i},r{i},b{i}\n" for i in range(20))
    assert len(read(tmp_path, f"drug,what,gene\n{other}")) == 21
    assert len(read(tmp_path, f"drug,what,gene\n{TEXT}e,once,f\n")) == 14


def test_a_few_lines_are_too_few_to_tell(tmp_path: Path) -> None:
    assert len(read(tmp_path, "drug,what,gene\na,r,b\na,r,c\nb,r,c\n")) == 4
    assert len(read(tmp_path, "drug,interaction,gene\na,r,b\n")) == 2


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize("quotes", ["", '"'])
def test_both_ways_of_reading_find_the_header(tmp_path: Path, delimiter: str, quotes: str) -> None:
    lines = [("drug", "what", "gene"), *FACTS]
    text = "".join(delimiter.join(f"{quotes}{field}{quotes}" for field in row) + "\n" for row in lines)
    assert rows(read(tmp_path, text, "x.txt")) == FACTS


def test_columns_are_chosen_by_name_or_number_whatever_the_header(tmp_path: Path) -> None:
    text = "gene,note,drug,what\n" + "".join(f"{tail},x,{head},{edge}\n" for head, edge, tail in FACTS)
    assert rows(read(tmp_path, text, columns=("drug", "what", "gene"))) == FACTS
    by_number = read(tmp_path, text, columns=(2, 3, 0))
    assert rows(by_number) == FACTS and "was taken as a header" in by_number.notes[0]


def test_what_could_be_taken_for_a_header_is_written_under_one(tmp_path: Path) -> None:
    graph = KnowledgeGraph.from_triples([("drug", "what", "gene"), *FACTS])
    again = load(write_file(graph, tmp_path / "x.tsv", ["train"]))
    assert again == graph


def test_no_benchmark_file_begins_with_a_header(benchmark_data: Path) -> None:
    found = [path for split in SPLITS for path in sorted(benchmark_data.glob(f"*/{split}.txt"))]
    assert len(found) > 20
    assert [str(path) for path in found if read_file(path).notes] == []


# ---------------------------------------------------------------------- further columns


def test_a_column_that_is_not_used_is_named(tmp_path: Path) -> None:
    table = read(tmp_path, "head,relation,tail,confidence,year\na,r,b,0.9,1999\n")
    assert rows(table) == [("a", "r", "b")]
    assert table.notes[1].endswith("x.csv: not used: the columns 'confidence', 'year'")
    chosen = read(tmp_path, "head,relation,tail,x\na,r,b,0.9\n", columns=("head", "relation", "tail"))
    assert chosen.notes[0].endswith("x.csv: not used: the column 'x'")
    lines = read(tmp_path, '{"head": "a", "relation": "r", "tail": "b", "score": 0.9}\n', "x.jsonl")
    assert lines.notes[0].endswith("x.jsonl: not used: the column 'score'")
    pd.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"], "score": [0.9]}).to_parquet(tmp_path / "x.parquet")
    assert read_file(tmp_path / "x.parquet").notes[0].endswith("x.parquet: not used: the column 'score'")


def test_numbers_under_a_word_show_that_there_is_a_header(tmp_path: Path) -> None:
    table = read(tmp_path, "drug,what,gene,score\na,r,b,0.9\nc,s,d,1\n")
    assert rows(table) == [("a", "r", "b"), ("c", "s", "d")] and labels(table) is None
    assert "not used: the column 'score'" in table.notes[1]
    truths = read(tmp_path, "drug,what,gene,truth\na,r,b,1\nc,s,d,-1\n")
    assert labels(truths) == [1, -1] and len(truths) == 2


def test_a_fourth_column_of_numbers_without_a_header_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: expected the label 1 or -1, found '0.9'.*--minimum-confidence"):
        read(tmp_path, "a,r,b,0.9\nc,s,d,0.1\n")


SCORED = {
    "x.csv": "head,relation,tail,score\na,r,b,0.9\nc,s,d,0.1\nb,r,a,0.5\n",
    "quoted.csv": 'head,relation,tail,score\n"a",r,b,0.9\nc,s,d,0.1\nb,r,a,"0.5"\n',
    "odd.csv": "drug,what,gene,score\na,r,b,0.9\nc,s,d,0.1\nb,r,a,.5\n",
    "x.jsonl": "".join(
        f'{{"head": "{h}", "relation": "{r}", "tail": "{t}", "score": {score}}}\n'
        for h, r, t, score in [("a", "r", "b", 0.9), ("c", "s", "d", 0.1), ("b", "r", "a", 0.5)]
    ),
}


@pytest.mark.parametrize("name", SCORED)
def test_rows_of_too_little_confidence_are_left_out(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, SCORED[name], name)
    graph = load(path, minimum_confidence=("score", 0.5))
    assert (list(graph.entities), list(graph.relations), len(graph.train)) == (["a", "b"], ["r"], 2)
    assert f"{name}: 1 of 3 rows left out, with less than 0.5 in column 'score'" in graph.notes[-1]
    assert not any("not used" in note for note in graph.notes)


def test_confidence_in_parquet_and_by_position(tmp_path: Path) -> None:
    frame = pd.DataFrame([("a", "r", "b", 0.9), ("c", "s", "d", 0.1)], columns=["head", "relation", "tail", "score"])
    frame.to_parquet(tmp_path / "x.parquet")
    assert list(load(tmp_path / "x.parquet", minimum_confidence=("score", 0.5)).relations) == ["r"]
    plain = written(tmp_path, "0.9,a,r,b\n0.1,c,s,d\n", "plain.csv")
    assert list(load(plain, minimum_confidence=(0, 0.5)).entities) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "asked", "message"),
    [
        ("x.csv", SCORED["x.csv"], ("sure", 0.5), "no column 'sure' among"),
        ("x.csv", SCORED["x.csv"], ("score", 2), "no row has 2 or more in column 'score'"),
        (
            "x.csv",
            "head,relation,tail,score\na,r,b,high\n",
            ("score", 0.5),
            "line 2: expected a number in column 3, found 'high'",
        ),
        ("x.csv", "head,relation,tail,score\na,r,b,\n", ("score", 0.5), "line 2: expected a number"),
        ("x.csv", "head,relation,tail,score\na,r,b,nan\n", ("score", 0.5), "line 2: expected a number"),
        (
            "x.jsonl",
            '{"head": "a", "relation": "r", "tail": "b", "score": "x"}\n',
            ("score", 1),
            "line 1: expected a number",
        ),
        ("x.jsonl", SCORED["x.jsonl"], (3, 1), "name the column of confidence"),
        ("x.nt", "<http://a> <http://b> <http://c> .\n", ("score", 0.5), "no column 'score' of confidence"),
        ("x.csv", SCORED["x.csv"], 0.5, "expected a column and a number such as"),
    ],
)
def test_confidence_that_cannot_be_read(tmp_path: Path, name: str, text: str, asked: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(written(tmp_path, text, name), minimum_confidence=asked)  # type: ignore[arg-type]


def test_a_saved_graph_has_no_confidence(tmp_path: Path) -> None:
    transa.load("nations").save(tmp_path / "saved")
    with pytest.raises(InputError, match="has no column of confidence"):
        load(tmp_path / "saved", minimum_confidence=("score", 0.5))


def test_a_frame_is_taken_by_usual_names() -> None:
    frame = pd.DataFrame({"id": [7], "tail": ["b"], "relation": ["r"], "head": ["a"]})
    graph = KnowledgeGraph.from_triples(frame)
    assert graph.named("train").to_pylist() == [{"head": "a", "relation": "r", "tail": "b"}]
    assert graph.notes == ("not used: the column 'id'",)
