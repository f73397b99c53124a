"""Relations and literals that are left out of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from transa.data import KnowledgeGraph, load
from transa.data.selecting import select
from transa.errors import InputError

FILMS = [
    ("vertigo", "directed_by", "hitchcock"),
    ("vertigo", "year", "1958"),
    ("vertigo", "rating", "8.3"),
    ("vertigo", "released", "1958-05-09"),
    ("psycho", "directed_by", "hitchcock"),
    ("psycho", "year", "1960"),
    ("1960", "decade", "sixties"),
    ("psycho", "cost", "-1.5e3"),
    ("psycho", "sequel", "Psycho 2"),
]


@pytest.fixture
def graph() -> KnowledgeGraph:
    valid = [("psycho", "year", "1958", 1), ("vertigo", "directed_by", "wilder", -1)]
    return KnowledgeGraph.from_triples(FILMS, valid)


def named(graph: KnowledgeGraph, split: str = "train") -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in graph.named(split).to_pylist()]  # type: ignore[arg-type]


def test_a_relation_is_dropped_with_what_only_it_leads_to(graph: KnowledgeGraph) -> None:
    found = select(graph, ["year", "rating"])
    assert named(found) == [row for row in FILMS if row[1] not in ("year", "rating")]
    assert named(found, "valid") == [("vertigo", "directed_by", "wilder", -1)]
    assert "1958" not in found.entities and "1960" in found.entities and "year" not in found.relations
    assert found.notes == ("4 triples of year, rating left out",)


def test_literals_are_left_out_but_not_entities_that_look_like_them(graph: KnowledgeGraph) -> None:
    found = select(graph, literals=False)
    kept = [FILMS[0], FILMS[4], FILMS[5], FILMS[6], FILMS[8]]  # 1960 is a head, Psycho 2 is no number
    assert named(found) == kept
    assert found.notes == ("5 triples whose tail is a number or a date left out",)
    assert not {"1958", "8.3", "1958-05-09", "-1.5e3"} & set(found.entities)


def test_names_and_listed_entities_stay(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tr\tb\na\tage\t7\n")
    (tmp_path / "entities.txt").write_text("alone\n")
    (tmp_path / "entity_names.tsv").write_text("a\tAda\n7\tseven\n")
    found = load(tmp_path, drop_relations=["age"])
    assert list(found.entities) == ["a", "alone", "b"] and found.entities.name(0) == "Ada"


def test_datasets_and_repeated_lines_are_no_exception() -> None:
    found = load("nations", drop_relations=["embassy"])
    assert "embassy" not in found.relations
    whole = select(KnowledgeGraph.from_triples(FILMS * 3), ["year"])
    assert len(whole.train) == 21


@pytest.mark.parametrize(
    ("dropped", "message"),
    [(["yaer"], "unknown name 'yaer'; did you mean 'year'"), ("year", "expected a list of relations")],
)
def test_what_cannot_be_dropped(graph: KnowledgeGraph, dropped: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(graph, dropped)


def test_something_must_be_left() -> None:
    with pytest.raises(InputError, match="no training triple is left"):
        select(KnowledgeGraph.from_triples([("a", "year", "1999")]), literals=False)
