"""Results print as tables, and iterate, index and convert alike."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.inference.runs import blurred, trained
from transa.data import load
from transa.errors import InputError
from transa.evaluation import classify, evaluate
from transa.inference import Question, Trained, answer, audit, check, complete, discover, explain, neighbours
from transa.inference.answers import Answers, Prediction
from transa.models import build
from transa.table import SHOWN, Table


def every() -> dict[str, Any]:
    one = trained(named=True)
    return {
        "predict": answer(one, [Question("e0", "next")], top=4)[0],
        "check": check(one, [("e0", "next", "e1"), ("e0", "next", "e6"), ("e6", "next", "e7")]),
        "discover": discover(one, top=4),
        "complete": complete(blurred()),
        "audit": audit(one, top=4),
        "neighbours": neighbours(one, "e3", top=4),
    }


@pytest.mark.parametrize("name", ["predict", "check", "discover", "complete", "audit", "neighbours"])
def test_results_are_sequences_that_convert(name: str) -> None:
    found = every()[name]
    assert isinstance(found, Sequence) and len(found) > 2
    assert list(found) == [found[place] for place in range(len(found))] and found[-1] in found
    part = found[1:3]
    assert type(part) is type(found) and list(part) == list(found)[1:3]
    dicts = found.to_dicts()
    assert part.to_dicts() == dicts[1:3]
    assert found.frame().to_pylist() == dicts
    pandas, polars = found.to_pandas(), found.to_polars()
    assert list(pandas.columns) == polars.columns == list(dicts[0])
    assert len(pandas) == polars.height == len(found)
    assert polars.to_dicts() == dicts


@pytest.mark.parametrize("name", ["predict", "check", "discover", "complete", "audit", "neighbours"])
def test_results_print_as_a_table(name: str) -> None:
    found = every()[name]
    for text in (str(found), repr(found)):
        lines = text.splitlines()
        assert len(lines) == 2 + len(found)  # title, header, rows
        assert "Checked(" not in text and "Prediction(" not in text
    assert any("Bob (e1)" in line or "e4" in line for line in str(found).splitlines())
    html = found._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 1 + len(found)


def test_answers_by_name_with_their_probability() -> None:
    lines = str(every()["predict"]).splitlines()
    assert lines[0] == "(Ada, next, ?)"
    assert lines[1].split() == ["tail", "score", "probability"]
    assert lines[2].split()[:4] == ["1", "Bob", "(e1)", "0"]
    assert every()["predict"][2:][0].place == 3


def test_a_line_says_where_probabilities_order_answers_differently() -> None:
    def answers(*chances: float | None) -> Answers:
        rows = [Prediction(f"e{i}", f"e{i}", float(i), False, chance, place=i + 1) for i, chance in enumerate(chances)]
        return Answers(Question("a", "r"), tuple(rows))

    assert answers(0.9, 0.5, None, 0.5, 0.1).order_note is None
    other = answers(0.9, None, 0.1, 0.2)
    assert str(other).splitlines()[-1] == other.order_note and "In the order of scores" in other._repr_html_()


def test_a_missing_text_is_none_in_pandas() -> None:
    one = trained()
    stranger = replace(one.graph, train=one.graph.train[(one.graph.train != 7).all(axis=1)], valid=one.graph.valid[:1])
    for rows in ([("e0", "next", "e1")], [("e0", "next", "e1"), ("e0", "next", "e7")]):
        found = check(Trained(one.model, stranger, one.recipe), rows)
        assert found.to_pandas()["note"].tolist() == [each.note for each in found]
        assert found[0].note is None


def test_an_explanation_prints_its_sentence_first() -> None:
    found = explain(trained(named=True), "e0", "next", "e1")
    assert repr(found).splitlines()[0] == found.sentence and "rank of the tail" in str(found)
    assert found._repr_html_().startswith("<p>Ada —next→ Bob")


def test_names_cannot_break_a_table() -> None:
    table = Table("a\nb", ("name", ""), (("<b>x</b>\ny", "1"), ("日本", "10")))
    lines = str(table).splitlines()
    assert (
        len(lines) == 4
        and lines[0] == "a\\nb"
        and lines[2] == "<b>x</b>\\ny   1"
        and lines[3] == "日本" + " " * 9 + "10"
    )
    html = table._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;x&lt;/b&gt;" in html


def test_long_results_are_cut_when_printed_and_whole_when_converted() -> None:
    table = Table("many", ("n", "name"), tuple((str(n), "x" * 200) for n in range(SHOWN + 7)))
    lines = str(table).splitlines()
    assert lines[-1] == "… 7 more" and len(lines) == 2 + SHOWN + 1 and max(map(len, lines)) < 80
    assert "… 7 more" in table._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"pip install {library}"):
        getattr(every()["neighbours"], f"to_{library}")()


def test_an_evaluation_and_a_classification_print_and_convert() -> None:
    graph = load("nations")
    model = build("sme_linear", len(graph.entities), len(graph.relations), 4).initialise(0)
    found, decided = evaluate(model, graph), classify(model, graph)
    lines = repr(found).splitlines()
    assert lines[0] == "SME (linear) on 201 test triples, filtered ranks"
    assert float(lines[2].split()[2]) == pytest.approx(found.summary()["both"]["mrr"], abs=1e-3)
    assert len(found.to_pandas()) == 2 * 201 and found.to_polars()["rank"].to_list() == found.ranks().ravel().tolist()
    rows = repr(decided).splitlines()
    assert rows[2].split()[:2] == ["all", "402"]
    assert float(rows[2].split()[2]) == pytest.approx(decided.summary()["accuracy"], abs=1e-3)
    assert len(decided.to_pandas()) == 402
    assert all(each._repr_html_().startswith("<table>") for each in (found, decided))
