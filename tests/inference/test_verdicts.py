"""Verdicts of people: kept line by line, whatever happens to the process."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.inference.runs import kept
from transa.errors import InputError
from transa.inference.verdicts import FILE, Verdict, Verdicts, as_file
from transa.training import RunFolder


def verdict(tail: str = "e3", said: str = "accept", **more: object) -> Verdict:
    return Verdict("e2", "next", tail, said, **more)  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return kept(tmp_path / "run", named=True)


def test_the_last_verdict_counts_and_a_withdrawn_one_does_not(run: Path) -> None:
    verdicts = Verdicts(RunFolder(run))
    assert verdicts.all() == []
    for each in (verdict(), verdict("e4"), verdict("e4", "reject"), verdict("e5"), verdict("e5", "withdraw")):
        verdicts.add(each)
    expected = [("e3", "accept"), ("e4", "reject")]
    assert [(each.tail, each.verdict) for each in verdicts.all()] == expected
    assert [(each.tail, each.verdict) for each in Verdicts(RunFolder(run)).all()] == expected
    assert len((run / FILE).read_text().splitlines()) == 5  # nothing is ever taken out


def test_two_processes_see_each_other(run: Path) -> None:
    one, two = Verdicts(RunFolder(run)), Verdicts(RunFolder(run))
    one.add(verdict("e3"))
    assert two.judged() == {("e2", "next", "e3")}
    two.add(verdict("e4"))
    assert one.judged() == two.judged() == {("e2", "next", "e3"), ("e2", "next", "e4")}


@pytest.mark.parametrize("cut", range(1, 100, 9))
def test_a_line_that_was_cut_short_loses_no_other(run: Path, cut: int) -> None:
    verdicts = Verdicts(RunFolder(run))
    verdicts.add(verdict("e3"))
    whole = (run / FILE).read_bytes()
    verdicts.add(verdict("e4"))
    (run / FILE).write_bytes((run / FILE).read_bytes()[: len(whole) + cut])
    again = Verdicts(RunFolder(run))
    assert again.judged() == {("e2", "next", "e3")}
    again.add(verdict("e5"))
    assert again.judged() == Verdicts(RunFolder(run)).judged() == {("e2", "next", "e3"), ("e2", "next", "e5")}


PERHAPS = '{"head": "a", "relation": "b", "tail": "c", "verdict": "perhaps"}'


@pytest.mark.parametrize("line", ["", "null", "[]", "{}", '{"head": 1}', PERHAPS, "[" * 10_000, "\xff"])
def test_lines_without_a_verdict_are_passed_over(run: Path, line: str) -> None:
    whole = json.dumps({"head": "e2", "relation": "next", "tail": "e3", "verdict": "accept"})
    (run / FILE).write_bytes(f"{line}\n{whole}\n".encode("latin-1"))
    assert Verdicts(RunFolder(run)).judged() == {("e2", "next", "e3")}


def test_files_hold_what_was_said(run: Path) -> None:
    said = [verdict("e3", by='=1+1 "Ada"', note="a\nb"), verdict("e4", "reject", probability=0.25)]
    rows = list(csv.DictReader(as_file(said, ".csv").decode().splitlines(keepends=True)))
    assert [(row["tail"], row["verdict"]) for row in rows] == [("e3", "accept"), ("e4", "reject")]
    assert rows[0]["by"] == '=1+1 "Ada"' and rows[0]["note"] == "a\nb" and float(rows[1]["probability"]) == 0.25
    assert as_file(said[:1], ".nt") == b"<urn:transa:e2> <urn:transa:next> <urn:transa:e3> .\n"
    with pytest.raises(InputError, match="accepted"):
        as_file(said, ".ttl")


def test_the_command_lists_and_writes_them_and_extend_takes_the_accepted_ones(
    command, run: Path, tmp_path: Path
) -> None:
    assert "0 verdicts" in command("verdicts", run).out
    verdicts = Verdicts(RunFolder(run))
    verdicts.add(Verdict("e0", "far", "e6", "accept", 0.5, by="Ada"))
    verdicts.add(Verdict("e0", "far", "e7", "reject"))
    assert "Ada" in command("verdicts", run).out
    found = json.loads(command("verdicts", run, "--only", "reject", "--json").out)["verdicts"]
    assert [each["tail"] for each in found] == ["e7"]
    for name in ("accepted.csv", "accepted.nt"):
        assert command("verdicts", run, "--only", "accept", "--out", tmp_path / name).code == 0
        grown = command("extend", run, tmp_path / name, "--out", tmp_path / f"grown-{name}")
        assert grown.code == 0, grown.err
        (checked,) = json.loads(command("check", tmp_path / f"grown-{name}", tmp_path / name, "--json").out)["triples"]
        assert checked["known"] and (checked["head"], checked["tail"]) == ("e0", "e6")
    assert command("verdicts", run, "--out", tmp_path / "accepted.csv").code == 2
    assert command("verdicts", run, "--out", tmp_path / "all.ttl").code == 2
    assert command("verdicts", tmp_path, "--json").code == 2
