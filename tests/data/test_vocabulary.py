from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from transa.data import Vocabulary
from transa.errors import InputError


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(["/m/1", "/m/2", "/m/3", "/m/4"], ["Ada", None, "Eve", ""], [None, "a person", None, None])


def test_ids_and_keys_both_ways(vocabulary):
    assert len(vocabulary) == 4
    assert [vocabulary[i] for i in range(4)] == list(vocabulary) == ["/m/1", "/m/2", "/m/3", "/m/4"]
    assert vocabulary[np.int32(2)] == "/m/3"
    assert [vocabulary.id(key) for key in vocabulary] == [0, 1, 2, 3]
    assert vocabulary.ids(["/m/3", "/m/1"]).tolist() == [2, 0]
    assert "/m/1" in vocabulary
    assert "Ada" not in vocabulary
    assert 1 not in vocabulary


def test_a_readable_name_or_else_the_key(vocabulary):
    assert [vocabulary.name(i) for i in range(3)] == ["Ada", "/m/2", "Eve"]
    assert Vocabulary(["a"]).name(0) == "a"


def test_an_unknown_key_is_told_with_near_ones():
    with pytest.raises(InputError, match=r"unknown name 'Virginia Wolf'; did you mean 'Virginia Woolf'\?"):
        Vocabulary(["Virginia Woolf", "Ada Lovelace"]).id("Virginia Wolf")
    with pytest.raises(InputError, match=r"unknown name 'zzz'$"):
        Vocabulary(["Virginia Woolf"]).ids(["Virginia Woolf", "zzz"])
    with pytest.raises(InputError, match="unknown name '7'"):
        Vocabulary(["a"]).id(7)


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a"],
        ("b", "a"),
        iter("ba"),
        pa.array(["b", "a"]),
        pa.chunked_array([["b"], ["a"]]),
        pa.array(["b", "a"]).dictionary_encode(),
    ],
)
def test_keys_come_from_anything(keys):
    assert Vocabulary(keys) == Vocabulary(["b", "a"])


def test_equality_looks_at_order_names_and_descriptions(vocabulary):
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary(["a"], ["x"]) != Vocabulary(["a"])
    assert Vocabulary(["a"], None, ["x"]) != Vocabulary(["a"], None, ["y"])
    assert Vocabulary(["a"], ["x"], ["y"]) == Vocabulary(["a"], ["x"], ["y"])
    assert vocabulary != list(vocabulary)


def test_repr_shows_the_first_keys(vocabulary):
    assert repr(vocabulary) == "Vocabulary(4: '/m/1', '/m/2', '/m/3', …)"
    assert repr(Vocabulary(["a"])) == "Vocabulary(1: 'a')"


def test_described_adds_names_for_its_keys(vocabulary):
    named = Vocabulary(["a", "b"]).described({"b": "Bob", "c": "Cleo"}, {})
    assert named == Vocabulary(["a", "b"], [None, "Bob"])
    assert Vocabulary(["a"]).described({"x": "y"}, None) == Vocabulary(["a"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b", "a"],), "the key 'a' occurs twice"),
        ((["a", None],), "a key is missing"),
        ((["a", ""],), "the key of id 1 is blank: ''"),
        (([" \n"],), r"the key of id 0 is blank: ' \\n'"),
        ((["a", "b"], ["Ada"]), "1 names for 2 keys"),
        ((["a"], None, ["x", "y"]), "2 descriptions for 1 keys"),
    ],
)
def test_wrong_vocabularies_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Vocabulary(*arguments)
