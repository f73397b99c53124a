"""One rule of names for questions, checks and growth; and what is no name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import transa
from tests.inference.runs import kept, line, on_a_line, trained
from transa.data import KnowledgeGraph, Vocabulary
from transa.errors import InputError, TransaWarning
from transa.inference import Question, Trained, answer, check, explain, extend
from transa.inference.names import Names

CLAIMS = [("e0", "next", "e1"), ("e0", "next", "e6")]
FRAMES = {
    "pandas": pd.DataFrame(CLAIMS, columns=["head", "relation", "tail"]),
    "polars": pl.DataFrame(CLAIMS, schema=["h", "r", "t"], orient="row"),
    "arrow": pa.table({"a": ["e0", "e0"], "b": ["next", "next"], "c": ["e1", "e6"]}),
    "numpy": np.array(CLAIMS),
    "generator": (claim for claim in CLAIMS),
}


def test_a_whole_name_is_found_by_key_name_and_case_but_not_by_its_beginning() -> None:
    names = Names(line(named=True).entities, "entity")
    assert [names.whole(text) for text in ("e0", "Ada", "ADA", " ada ", "bob", "Bob", "E7")] == [0, 0, 0, 0, 2, 1, 7]
    assert names.id("Cl") == 3
    with pytest.raises(InputError, match=r"unknown entity 'Cl', only the beginning of 'e3' \(Cleo\)"):
        names.whole("Cl")
    with pytest.raises(InputError, match="unknown entity 'Cl', only the beginning"):
        check(trained(named=True), [("Cl", "next", "e1")])


def test_blanks_at_the_ends_count_only_where_names_differ_by_nothing_else() -> None:
    names = Names(Vocabulary([" Ada", "Bob", "Bob ", " Cleo", "Cleo "]), "entity")
    assert [names.whole(text) for text in ("Ada", "ada ", "Bob", "Bob ")] == [0, 0, 1, 2]
    with pytest.raises(InputError, match="entity 'Cleo' is ambiguous: ' Cleo', 'Cleo '"):
        names.whole("Cleo")


@pytest.mark.parametrize("key", [3, np.int64(3), np.str_("3"), pa.scalar("3"), pa.scalar(3)], ids=repr)
def test_numbers_and_the_keys_of_a_vocabulary_are_names(key: Any) -> None:
    graph = line()
    numbered = KnowledgeGraph.from_ids(graph.train, graph.valid)
    one = Trained(on_a_line(numbered), numbered)
    assert answer(one, [Question(key, 0)], top=1)[0][0].key == "4"  # type: ignore[arg-type]
    assert answer(one, [Question(key, one.graph.relations.keys[0])], top=1)[0].question.head == "3"
    assert check(one, [(key, 0, 4)]).checked[0].decision
    assert explain(one, key, 0, 4).tail_rank.raw == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, ""], ids=repr)
def test_what_is_missing_is_no_name(missing: Any) -> None:
    one = trained()
    if missing is not None:  # which leaves a place open
        with pytest.raises(InputError, match=r"a (blank|missing) name"):
            Question(missing, "next")
    with pytest.raises(InputError, match=r"row 2: a (blank|missing) name"):
        check(one, [("e0", "next", "e1"), ("e0", "next", missing)])
    with pytest.raises(InputError, match=r"row 2: a (blank|missing) name"):
        extend(one, [("e7", "next", "e8"), (missing, "next", "e9")])


@pytest.mark.parametrize("source", FRAMES.values(), ids=FRAMES)
def test_frames_and_arrays_are_checked_like_rows(source: Any) -> None:
    assert [each.decision for each in check(trained(), source).checked] == [True, False]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_let_a_model_grow(kind: Any) -> None:
    frame = kind({"head": ["e7", "e6"], "relation": ["next", "far"], "tail": ["e8", "e8"]})
    assert extend(trained(), frame, steps=0).new_entities == ("e8",)


@pytest.mark.parametrize("wrong", ["e0", 5, None, [3]], ids=repr)
def test_what_holds_no_triples_is_refused(wrong: Any) -> None:
    for ask in (check, extend):
        with pytest.raises(InputError, match="expected"):
            ask(trained(), wrong)


def test_a_false_triple_is_not_added() -> None:
    with pytest.raises(InputError, match="row 1: a triple labelled -1"):
        extend(trained(), [("e7", "next", "e8", -1)])


def test_growth_takes_a_name_in_another_case_for_the_known_entity_and_says_so(tmp_path: Path) -> None:
    found = extend(trained(named=True), [("E7", "NEXT", "e8"), ("ada", "far", "e8"), ("Cleo", "far", "e8")], steps=0)
    assert found.new_entities == ("e8",)
    assert found.notes == ("names in another case were taken for known entities: 'E7' for 'e7', 'ada' for 'e0' (Ada)",)
    assert extend(trained(named=True), [("e7", "next", "e8")], steps=0).notes == ()
    model = transa.load_model(kept(tmp_path / "run"))
    with pytest.warns(TransaWarning, match="'E7' for 'e7'"):
        model.extend([("E7", "next", "e8")], steps=0)


def test_growth_refuses_a_name_that_fits_two_entities() -> None:
    with pytest.raises(InputError, match="row 2: entity 'BOB' is ambiguous"):
        extend(trained(named=True), [("e7", "next", "e8"), ("BOB", "next", "e8")])


def test_growth_warns_of_new_entities_that_look_like_others() -> None:
    found = extend(
        trained(), [("e7", "next", "E-8"), ("e7", "far", "e 8"), ("e_8", "next", "e9"), ("e7.", "far", "x")], steps=0
    )
    assert found.new_entities == ("E-8", "e 8", "e7.", "e9", "e_8", "x")
    assert found.notes == (
        "new entities look like others, and are kept apart from them: 'e 8' like 'E-8', 'e_8' like 'E-8', 'e7.' like 'e7'",
    )
