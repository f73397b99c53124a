from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transa.data.formats import ReadOptions, delimited, read_file
from transa.data.text_files import MAX_NAME
from transa.data.triple_table import TripleTable
from transa.errors import InputError

PLAIN = [("ada", "knows", "bob"), ("bob", "knows", "eve")]


def rows(table: TripleTable) -> list[tuple[str, str, str]]:
    columns = (table.heads.to_pylist(), table.relations.to_pylist(), table.tails.to_pylist())
    return list(zip(*columns, strict=True))


def labels(table: TripleTable) -> list[int] | None:
    return None if table.labels is None else table.labels.tolist()


@pytest.fixture
def read(tmp_path):
    """Write a text to a file and read it; keyword arguments are `ReadOptions`."""

    def read(text: str | bytes, name: str = "graph.txt", **options) -> TripleTable:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return read_file(tmp_path / name, ReadOptions(**options))

    return read


# ---------------------------------------------------------------------- delimiters


@pytest.mark.parametrize("delimiter", "\t,;| ")
def test_usual_delimiters_are_found_out(read, delimiter):
    assert rows(read("".join(delimiter.join(row) + "\n" for row in PLAIN))) == PLAIN


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|", " ", ":", "x", "§", "🦉"])
@pytest.mark.parametrize("name", ["graph.txt", "graph.tsv", "graph.csv", "graph"])
def test_any_delimiter_can_be_given(read, delimiter, name):
    text = "".join(delimiter.join(row) + "\n" for row in PLAIN)
    assert rows(read(text, name, delimiter=delimiter)) == PLAIN


def test_names_in_tsv_may_hold_other_delimiters(read):
    assert rows(read("a, b; c|d\tlikes it\te f\n", "graph.tsv")) == [("a, b; c|d", "likes it", "e f")]


def test_tab_wins_over_other_delimiters(read):
    assert rows(read("a, b, c, d\tr\te f\n")) == [("a, b, c, d", "r", "e f")]


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "\r", "\0"])
def test_an_impossible_delimiter_is_refused(delimiter):
    with pytest.raises(InputError, match="delimiter must be one character"):
        ReadOptions(delimiter=delimiter)


# ---------------------------------------------------------------------- headers and columns


@pytest.mark.parametrize(
    "header",
    [
        "head,relation,tail",
        "Subject,Predicate,Object",
        "h,r,t",
        "s,p,o",
        "source,type,target",
        "from,edge,to",
        " head ,RELATION,tail",
    ],
)
def test_usual_headers_are_recognised_and_noted(read, header):
    table = read(f"{header}\na,r,b\n", "graph.csv")
    assert rows(table) == [("a", "r", "b")]
    assert len(table.notes) == 1
    assert table.notes[0].endswith("graph.csv: the first line was taken as a header")


def test_a_usual_header_tells_the_order_and_the_label(read):
    table = read("id,label,tail,relation,head\n7,-1,b,r,a\n8,1,d,s,c\n", "graph.csv")
    assert rows(table) == [("a", "r", "b"), ("c", "s", "d")]
    assert labels(table) == [-1, 1]


def test_a_first_line_that_is_no_usual_header_is_a_triple(read):
    table = read("Head of state\trelation\ttail\na\tr\tb\n")
    assert rows(table)[0] == ("Head of state", "relation", "tail")
    assert table.notes == ()


def test_no_header_takes_the_first_line_as_a_triple(read):
    assert rows(read("head\trelation\ttail\na\tr\tb\n", header=False)) == [
        ("head", "relation", "tail"),
        ("a", "r", "b"),
    ]


def test_header_skips_any_first_line(read):
    table = read("x\ty\tz\na\tr\tb\n", header=True)
    assert rows(table) == [("a", "r", "b")]
    assert table.notes == ()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("who", "does", "whom"), ("a", "r", "b")),
        (("whom", "does", "who"), ("b", "r", "a")),
        ((3, 1, 0), ("b", "r", "a")),
        (("whom", 2, 0), ("b", "7", "a")),
    ],
)
def test_columns_are_taken_by_name_and_position_in_any_order(read, columns, expected):
    table = read("who,does,when,whom\na,r,7,b\n", "graph.csv", columns=columns, header=True)
    assert rows(table) == [expected]


def test_columns_by_name_imply_a_header(read):
    table = read("who,does,whom\na,r,b\n", "graph.csv", columns=("whom", "does", "who"))
    assert rows(table) == [("b", "r", "a")]
    assert table.notes == ()


def test_columns_by_position_of_a_file_without_header(read):
    assert rows(read("7\ta\tr\tb\tx\n", columns=(3, 2, 1))) == [("b", "r", "a")]


def test_columns_by_position_do_not_turn_a_usual_header_into_a_triple(read):
    table = read("head,relation,tail\na,r,b\n", "graph.csv", columns=(2, 1, 0))
    assert rows(table) == [("b", "r", "a")]
    assert "taken as a header" in table.notes[0]


def test_the_label_column_can_be_chosen(read):
    table = read("a,0.3,r,b,-1\nc,0.4,r,d,1\n", "graph.csv", columns=(0, 2, 3, 4))
    assert rows(table) == [("a", "r", "b"), ("c", "r", "d")]
    assert labels(table) == [-1, 1]


@pytest.mark.parametrize("columns", [(0, 1), (0, 1, 2, 3, 4)])
def test_a_wrong_number_of_columns_is_refused(columns):
    with pytest.raises(InputError, match="expected 3 or 4 columns"):
        ReadOptions(columns=columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("who", "dose", "whom"), "line 1: no column 'dose' among 'who', 'does', 'when', 'whom'; did you mean 'does'"),
        ((0, 1, 4), "line 1: no column 4: there are columns 0 to 3"),
        ((0, 1, -1), "line 1: no column -1: there are columns 0 to 3"),
        ((0, 1, 0), "line 1: column '0' is asked for twice"),
        (("who", "does", 0), "line 1: column '0' is asked for twice"),
    ],
)
def test_columns_that_are_not_there_are_refused(read, columns, message):
    with pytest.raises(InputError, match=message):
        read("who,does,when,whom\na,r,7,b\n", "graph.csv", columns=columns)


def test_a_column_name_that_occurs_twice_is_refused(read):
    with pytest.raises(InputError, match="line 1: 2 columns are called 'name'"):
        read("name,does,name\na,r,b\n", "graph.csv", columns=("name", "does", "name"))


def test_columns_by_name_without_a_header_are_refused():
    with pytest.raises(InputError, match=r"columns by name \(who, does, whom\) need a header"):
        ReadOptions(columns=("who", "does", "whom"), header=False)


# ---------------------------------------------------------------------- quotes


def test_quoted_fields_may_hold_delimiters_quotes_and_line_ends(read):
    text = 'a,"likes, a lot","she said ""no"""\n"line\r\nbreak",r,"x\ny"\n'
    expected = [("a", "likes, a lot", 'she said "no"'), ("line\r\nbreak", "r", "x\ny")]
    assert rows(read(text, "graph.csv")) == expected


def test_quotes_inside_a_field_are_literal(read):
    assert rows(read('a"b\tr"\tit"s\n')) == [('a"b', 'r"', 'it"s')]


def test_quotes_can_be_taken_literally(read):
    assert rows(read('"a\tr\tb"\n', quotes=False)) == [('"a', "r", 'b"')]


def test_the_header_may_be_quoted(read):
    assert rows(read('"head","relation","tail"\na,r,b\n', "graph.csv")) == [("a", "r", "b")]


def test_a_quoted_line_end_in_an_unused_column_is_no_end_of_a_record(read):
    text = 'a,r,b,c\nd,r,e,"one\nx,y,z,two"\n'
    assert rows(read(text, "graph.csv", columns=(0, 1, 2))) == [("a", "r", "b"), ("d", "r", "e")]


def test_a_quoted_header_may_hold_a_line_end(read):
    assert rows(read('head,relation,tail,"note\non it"\na,r,b,c\n', "graph.csv")) == [("a", "r", "b")]


# ---------------------------------------------------------------------- lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("last", [True, False], ids=["with last end", "without"])
def test_all_line_ends_are_taken(read, end, last):
    text = end.join("\t".join(row) for row in PLAIN) + (end if last else "")
    assert rows(read(text)) == PLAIN


@pytest.mark.parametrize("name", ["graph.tsv", "graph.csv"])
def test_a_byte_order_mark_is_dropped(read, name):
    assert rows(read("\ufeffhead,relation,tail\na,r,b\n", name, delimiter=",")) == [("a", "r", "b")]
    assert rows(read("\ufeffa,r,b\n", name, delimiter=",")) == [("a", "r", "b")]


@pytest.mark.parametrize("text", ["", "\n\r\n\r", "\ufeff", "\ufeff\n"])
def test_a_file_without_a_record_is_empty(read, text):
    with pytest.raises(InputError, match=r"graph.txt: the file is empty"):
        read(text)


@pytest.mark.parametrize("delimiter", "\t,; ")
@pytest.mark.parametrize("blank", ["  ", "\t", "\t\t", " \t ", "\u2003"])
def test_lines_of_blanks_are_skipped_by_both_ways_of_reading(read, delimiter, blank):
    lines = [delimiter.join(row) for row in PLAIN]
    text = "\n".join([blank, lines[0], blank, blank, lines[1], blank])
    for options in ({}, {"lines": True}):
        table = read(text, "graph.txt", delimiter=delimiter, **options)
        assert rows(table) == PLAIN
    assert list(table.places.numbers) == [2, 5]
    with pytest.raises(InputError, match="the file is empty"):
        read(f"{blank}\n{blank}\n", delimiter=delimiter)


def test_blank_lines_are_skipped(read):
    assert rows(read("\n\na\tr\tb\n\n\r\nb\tr\tc\n\n\n")) == [("a", "r", "b"), ("b", "r", "c")]


def test_spaces_around_names_and_unicode_line_separators_are_part_of_them(read):
    assert rows(read(" a\u2028\tr \tb\x85c\n")) == [(" a\u2028", "r ", "b\x85c")]


def test_words_that_mean_nothing_elsewhere_are_names_here(read):
    assert rows(read("NA\tnull\tNaN\n1\ttrue\t\\N\n")) == [("NA", "null", "NaN"), ("1", "true", "\\N")]


def test_a_text_of_many_lines_that_end_in_cr_is_taken(read):
    many = [(f"entity number {i}", "r", "b" * 20) for i in range(40_000)]
    table = read("\r".join("\t".join(row) for row in many) + '\r"quoted"\tr\tb')
    assert rows(table) == [*many, ("quoted", "r", "b")]


# ---------------------------------------------------------------------- labels


def test_a_fourth_column_is_the_label(read):
    assert labels(read("a\tr\tb\t1\nb\tr\tc\t-1\n")) == [1, -1]
    assert labels(read('"a"\tr\tb\t1\nb\tr\tc\t-1\n')) == [1, -1]


def test_without_a_fourth_column_there_are_no_labels(read):
    assert labels(read("a\tr\tb\n")) is None


@pytest.mark.parametrize("label", ["0", "true", "+1", "1.0", " 1", "", "2"])
@pytest.mark.parametrize("quote", ["", '"'], ids=["fast", "careful"])
def test_other_labels_are_refused(read, label, quote):
    with pytest.raises(InputError, match=rf"line 2: expected the label 1 or -1, found '{label.replace('+', '.')}'"):
        read(f"{quote}a{quote}\tr\tb\t1\na\tr\tb\t{label}\n")


# ---------------------------------------------------------------------- compression


def test_gzip_and_zstandard_are_unpacked(tmp_path):
    text = b"a\tr\tb\nb\tr\tc\n"
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(text))
    with pa.output_stream(str(tmp_path / "x.tsv.zst"), compression="zstd") as file:
        file.write(text)
    for name in ("x.tsv.gz", "x.tsv.zst"):
        assert rows(read_file(tmp_path / name)) == [("a", "r", "b"), ("b", "r", "c")]


def test_a_gzip_file_of_several_members_is_read_to_the_end(read):
    text = gzip.compress(b"a\tr\tb\nb\t") + gzip.compress(b'r\tc\n"q"\tr\tc\n')
    assert rows(read(text, "x.tsv.gz")) == [("a", "r", "b"), ("b", "r", "c"), ("q", "r", "c")]


def test_suffixes_may_be_in_capitals(read):
    assert rows(read(gzip.compress(b"a,r,b\n"), "X.CSV.GZ")) == [("a", "r", "b")]


@pytest.mark.parametrize("keep", [0.5, 0.9], ids=["half", "most"])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path, codec, keep):
    path = tmp_path / ("x.tsv.gz" if codec == "gzip" else "x.tsv.zst")
    rng = np.random.default_rng(0)
    with pa.output_stream(str(path), compression=codec) as file:
        file.write("".join(f"{head}\tr\t{tail}\n" for head, tail in rng.integers(0, 1 << 40, (5000, 2))).encode())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(InputError, match="cut short or damaged") as caught:
        read_file(path)
    assert str(path) in str(caught.value)


# ---------------------------------------------------------------------- two ways, one meaning


def ways(text: bytes, options: ReadOptions) -> tuple[object, object] | None:
    """Return what the fast and the careful way make of a text, None meaning: refused; or None where it has no layout."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        path = Path(folder) / "graph.txt"
        path.write_bytes(text)
        try:
            layout = delimited._layout(path, options)
        except InputError:
            return None
        fast = delimited._read_fast(path, layout)
        try:
            careful = delimited._read_carefully(path, layout)
        except InputError:
            careful = None
    return tuple(table and (rows(table), labels(table)) for table in (fast, careful))


LABELS = st.sampled_from(["1", "-1"])
PLAIN_FIELDS = ["a", "b", "a b", 'a"', "\ufeff", "\u2028x", "\x85x"]
ODD_FIELDS = [
    '"a"',
    '"a\nb"',
    '"a\tb"',
    '"a,b"',
    '"',
    '"a',
    '""',
    '"a"b',
    "a\rb",
    "a\nb",
    "\n",
    " ",
    "",
    "\u2028",
    "a,b",
    "a\tb",
]
FIELDS = st.sampled_from(PLAIN_FIELDS * 30 + ODD_FIELDS)


@st.composite
def texts_and_columns(draw) -> tuple[str, tuple[int, ...] | None]:
    """A table, or nearly one, and which of its columns to take."""
    width = draw(st.integers(3, 5))
    order = draw(st.permutations(range(width)))
    columns = tuple(order[: draw(st.integers(3, min(width, 4)))])
    chosen = None if width < 5 and draw(st.booleans()) else columns
    label = 3 if width == 4 and chosen is None else columns[3] if len(columns) == 4 else None
    fields = [FIELDS if column != label else LABELS for column in range(width)]
    lines = draw(st.lists(st.tuples(*fields), min_size=2, max_size=4))
    delimiter, end = draw(st.sampled_from("\t,")), draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]))
    start, last = draw(st.sampled_from(["", "", "\ufeff", end])), draw(st.sampled_from(["", end]))
    return start + end.join(delimiter.join(line) for line in lines) + last, chosen


RAW_TEXTS = st.tuples(st.text('ab"\t,\n\r \ufeff', max_size=30), st.none())


@settings(max_examples=250)
@given(
    text_and_columns=st.one_of(texts_and_columns(), texts_and_columns(), texts_and_columns(), RAW_TEXTS),
    quotes=st.booleans(),
    header=st.sampled_from([None, True, False]),
)
@example(text_and_columns=('a,r,b,c\na,r,b,"one\nx,y,z,two"\n', (0, 1, 2)), quotes=True, header=None)
@example(text_and_columns=('a,r,b,c\na,r,b,"one\n', (0, 1, 2)), quotes=True, header=None)
@example(text_and_columns=("\ufeff\ufeffa,r,b\r\n\r\na,r,b", None), quotes=True, header=None)
def test_the_fast_way_gives_what_the_careful_one_gives_or_steps_back(text_and_columns, quotes, header):
    text, columns = text_and_columns
    found = ways(text.encode(), ReadOptions(columns=columns, header=header, quotes=quotes))
    if found is not None:
        fast, careful = found
        assert fast is None or fast == careful


@pytest.mark.parametrize("block", [16, 64])
def test_blocks_may_end_anywhere(read, monkeypatch, block):
    monkeypatch.setattr(delimited, "BLOCK", block)
    many = [(f"é{i % 7}", f"r{i % 3}", f"t{i}") for i in range(100)]
    for end in ("\n", "\r\n", "\r"):
        assert rows(read(end.join("\t".join(row) for row in many))) == many


def test_plain_text_goes_the_fast_way(read, monkeypatch):
    monkeypatch.setattr(delimited, "_read_carefully", lambda *_: pytest.fail("the slow way"))
    assert rows(read("\ufeffhead,relation,tail\r\na b,r,b\r\n", "graph.csv")) == [("a b", "r", "b")]
    assert labels(read("a\tr\tb\t1\na\tr\tb\t-1\n")) == [1, -1]


def test_both_ways_have_the_same_idea_of_blank():
    everything = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    blank = pc.equal(pc.utf8_trim_whitespace(pa.array(everything)), "").to_pylist()
    assert [c for c, is_blank in zip(everything, blank, strict=True) if is_blank] == [
        c for c in everything if not c.strip()
    ]


def test_the_longest_name_is_taken_and_a_longer_one_is_not(read):
    assert rows(read(f"{'é' * MAX_NAME}\tr\tb\n"))[0][0] == "é" * MAX_NAME
    with pytest.raises(InputError, match="line 2: a field longer than 65,536 characters: 'xxx"):
        read(f"a\tr\tb\na\tr\t{'x' * (MAX_NAME + 1)}\n")
