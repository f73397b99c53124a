"""IRIs and odd names as people read them."""

from __future__ import annotations

import pytest

from transa.data.vocabulary import Vocabulary
from transa.readable import called, listed, one_line, short


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "rdf:type"),
        ("http://dbpedia.org/resource/Berlin", "dbr:Berlin"),
        ("https://schema.org/Person", "schema:Person"),
        ("http://example.org/films/Film%201", "Film 1"),
        ("http://example.org/films#", "films"),
        ("http://example.org/films/", "films"),
        ("http://example.org", "example.org"),
        ("urn:isbn:0451450523", "0451450523"),
        ("http://example.org/knows⁻¹", "knows⁻¹"),
        ("GO:0008150", "GO:0008150"),
        ("Film 1: the return", "Film 1: the return"),
        ("/people/person/profession", "/people/person/profession"),
        ("see http://example.org/a b", "see http://example.org/a b"),
        ("_:b0", "_:b0"),
    ],
)
def test_iris_are_shortened_and_other_names_are_not(key: str, expected: str) -> None:
    assert short(key) == expected


def test_a_vocabulary_names_iris_by_their_short_form_unless_two_share_it() -> None:
    keys = ["http://a.org/x#Person", "http://b.org/y#Person", "http://a.org/x#City", "http://a.org/x#Q1", "Plain"]
    found = Vocabulary(keys, [None, None, None, "Berlin", None])
    assert [found.name(each) for each in range(5)] == [keys[0], keys[1], "City", "Berlin", "Plain"]
    assert list(found) == keys


def test_a_name_is_followed_by_a_key_that_says_more() -> None:
    iri = "http://dbpedia.org/resource/Paris"
    assert called("e1", "Bob") == "Bob (e1)" and called("e1", "e1") == "e1"
    assert called(iri, "Paris") == "Paris (dbr:Paris)" and called(iri, "dbr:Paris") == "dbr:Paris"
    assert called(iri, "Paris", full=True) == f"Paris ({iri})" and called(iri, iri) == iri


def test_lines_and_lists() -> None:
    assert one_line("a\nb\x1b[2J") == "a\\nb\\x1b[2J"
    assert [listed(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
