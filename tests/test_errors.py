from __future__ import annotations

from pathlib import Path

import pytest

import transa
from transa.errors import InputError, TransaError, quote, suggest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "wrong"),
        ({"path": "x.tsv"}, "x.tsv: wrong"),
        ({"path": Path("a") / "x.tsv", "line": 1234}, f"{Path('a') / 'x.tsv'}, line 1,234: wrong"),
        ({"line": 2, "unit": "row"}, "row 2: wrong"),
    ],
)
def test_the_message_starts_with_the_place(arguments, message):
    error = InputError("wrong", **arguments)
    assert str(error) == message
    assert (error.path, error.line) == (arguments.get("path"), arguments.get("line"))


def test_input_errors_are_value_errors_of_the_package():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, TransaError)
    assert transa.InputError is InputError


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("a\tb\x1b", r"'a\tb\x1b'"),
        (7, "'7'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 1081, f"'{'x' * 80}'… (1,081 characters)"),
    ],
)
def test_quoted_values_are_escaped_and_cut(value, quoted):
    assert quote(value) == quoted


def test_suggestions_are_near_and_few():
    assert suggest("UMSL", ["umls", "nations"]) == "; did you mean 'umls'?"
    assert suggest("abcd", ["abce", "abcf", "abcg", "abch"]).count("'abc") == 3
    assert suggest("abc", ["ABC", "abc"]) == "; did you mean 'ABC'?"
    assert suggest("zzz", ["umls", "nations"]) == ""
    assert suggest("zzz", []) == ""


def test_a_name_that_differs_only_by_case_or_blanks_is_suggested_among_any_number_of_names():
    many = [f"entity {place}" for place in range(20_000)]
    assert suggest("Ada ", [*many, " ada"]) == "; did you mean ' ada'?"
    assert suggest(" ENTITY 7", many) == "; did you mean 'entity 7'?"


def test_the_package_offers_what_it_lists_and_nothing_else():
    assert all(getattr(transa, name) is not None for name in transa.__all__)
    assert set(transa.__all__) <= set(dir(transa))
    assert all(isinstance(getattr(transa, name), type) for name in set(dir(transa)) - set(transa.__all__))
    with pytest.raises(AttributeError, match="module 'transa' has no attribute 'laod'"):
        _ = transa.laod
