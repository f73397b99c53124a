"""The short form of reliability/fuzz.py, and broken files that hypothesis thinks of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reliability.fuzz import inputs_of
from reliability.mutation import dumps
from reliability.soak import judge
from reliability.targets import SHARES, Target, targets
from transa.errors import InputError

#: Inputs for a target of share 1.
INPUTS = 150

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_every_target_has_its_share() -> None:
    assert set(targets()) == set(SHARES)


@pytest.mark.parametrize("name", SHARES)
def test_broken_files_end_in_errors_of_the_package(name: str) -> None:
    report = inputs_of(targets()[name], seed=20, first=0, stop=max(20, int(INPUTS * SHARES[name])))
    assert report["failures"] == []
    assert (report["inputs"] > 0 and report["taken"] < report["inputs"]) or name == "run: calibration"


def test_inputs_are_known_by_seed_and_number() -> None:
    target = targets()["train.csv"]
    assert target.input(3, 7) == target.input(3, 7) != target.input(3, 8)


def test_a_target_whose_whole_files_are_not_read_fails_once() -> None:
    def refused(folder: Path) -> None:
        raise InputError("an old setting")

    report = inputs_of(Target("old", {"t": b""}, refused, {"t": lambda random, data: data}), seed=0, first=0, stop=9)
    assert report["inputs"] == 0
    assert [line.partition(" (")[0] for line in report["failures"]] == [
        "the whole files are not read: InputError: an old setting"
    ]


def test_what_is_wrong_in_a_reader_is_found(tmp_path: Path) -> None:
    def wrong(folder: Path) -> None:
        if (folder / "t").read_bytes() != b"whole":
            raise KeyError("t")

    target = Target("wrong", {"t": b"whole"}, wrong, {"t": lambda random, data: data + b"!"})
    report = inputs_of(target, seed=0, first=0, stop=3)
    assert [line.partition(" (")[0] for line in report["failures"]] == [
        f"input {number}: t: KeyError: 't'" for number in range(3)
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=200), name=st.sampled_from(["train.tsv", "train.csv", "train.nt", "train.ttl", "train.rdf"])
)
def test_any_bytes_are_a_graph_or_an_error(tmp_path: Path, data: bytes, name: str) -> None:
    targets()[name].accepts(tmp_path, name, data)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_any_json_is_a_configuration_or_an_error(tmp_path: Path, value: Any) -> None:
    target = targets()["run: config"]
    if not (tmp_path / "config.json").exists():
        target.prepare(tmp_path)
    assert not target.accepts(tmp_path, "config.json", dumps(value))


def test_a_soak_is_flat_or_not() -> None:
    flat = [{"megabytes": 500.0 + i % 3, "files": 9, "threads": 4} for i in range(40)]
    assert judge(flat)["flat"]
    assert not judge([{**sample, "megabytes": 500.0 + 5 * i} for i, sample in enumerate(flat)])["flat"]
    assert not judge([{**sample, "files": 9 + i} for i, sample in enumerate(flat)])["flat"]
    assert not judge([{**sample, "threads": 4 + i // 20} for i, sample in enumerate(flat)])["flat"]
    assert not judge(flat[:2])["flat"]


def test_an_error_without_a_message_is_no_answer(tmp_path: Path) -> None:
    def silent(folder: Path) -> None:
        raise InputError("")

    target = Target("silent", {"t": b""}, silent, {"t": lambda random, data: data})
    with pytest.raises(AssertionError, match="without a message"):
        target.accepts(tmp_path, "t", b"")
