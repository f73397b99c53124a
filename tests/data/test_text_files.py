from __future__ import annotations

import pytest

from transa.data.text_files import MAX_LINE, records, text_lines
from transa.errors import InputError


@pytest.fixture
def lines(tmp_path):
    def lines(content: bytes) -> list[str]:
        (tmp_path / "x.txt").write_bytes(content)
        return list(text_lines(tmp_path / "x.txt"))

    return lines


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\nb\n", ["a\n", "b\n"]),
        (b"a\rb\r\nc\n\rd", ["a\r", "b\r\n", "c\n", "\r", "d"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a\n", "\ufeffb"]),
        ("\u2028\x0b\x0c\x1c\x85\n".encode(), ["\u2028\x0b\x0c\x1c\x85\n"]),
    ],
)
def test_lines_end_in_lf_crlf_or_cr(lines, content, expected):
    assert lines(content) == expected


def test_only_single_lines_are_too_long(lines):
    longest = "x" * (MAX_LINE - 1)
    assert lines(f"a\r{longest}\rb\r{longest}\n".encode()) == ["a\r", f"{longest}\r", "b\r", f"{longest}\n"]


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n"], ids=["none", "LF", "CR", "CRLF"])
def test_a_line_that_is_too_long_is_named(lines, end):
    with pytest.raises(InputError, match="line 2: a line of more than 1,048,576 bytes, starting 'yyy"):
        lines(f"x\n{'y' * (MAX_LINE + 1)}{end}z\n".encode())


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_line_end_may_stand_where_a_block_is_cut(lines, end):
    for length in range(MAX_LINE - 4, MAX_LINE + 1 - len(end)):
        assert lines(f"{'x' * length}{end}y".encode()) == [f"{'x' * length}{end}", "y"]


def test_invalid_utf8_is_named_with_its_place(lines):
    with pytest.raises(InputError, match="line 2: invalid UTF-8: byte 0xff in column 3"):
        lines(b"ok\nab\xff\n")


def test_utf16_is_no_text(lines):
    with pytest.raises(InputError, match="line 1: "):
        lines("a\tr\tb\n".encode("utf-16"))


def test_nul_is_named_with_its_place(lines):
    with pytest.raises(InputError, match="line 1: a NUL byte in column 2"):
        lines(b"a\0b\n")


def test_records_come_with_the_number_of_their_first_line(tmp_path):
    (tmp_path / "x.csv").write_text('\na,b\n\n"c\n\nd",e\nf,g\n')
    assert list(records(tmp_path / "x.csv", ",", quoting=True)) == [
        (2, ["a", "b"]),
        (4, ["c\n\nd", "e"]),
        (7, ["f", "g"]),
    ]


def test_a_quote_that_is_never_closed_in_a_long_file_is_named_with_its_line(tmp_path):
    (tmp_path / "x.csv").write_text('a,b\n"c,d\n' + "e,f\n" * 50_000)
    with pytest.raises(InputError, match=r"line 2: a field longer than .* perhaps a quote that is never closed"):
        list(records(tmp_path / "x.csv", ",", quoting=True))
