"""A model put to another graph than its own: ids follow names, and what is missing is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import transa
from tests.inference.runs import line, trained
from transa.data import KnowledgeGraph
from transa.errors import InputError


@pytest.fixture
def model() -> transa.TransE:
    found = transa.TransE()
    found._trained = trained()
    return found


def renumbered(graph: KnowledgeGraph, rename: dict[str, str] | None = None) -> KnowledgeGraph:
    """The same facts from names, read in another order and so that ids differ."""
    names = {**{key: key for key in graph.entities}, **(rename or {})}
    order = [names[key] for key in reversed(list(graph.entities))]
    place = {key: order.index(names[key]) for key in graph.entities}

    def moved(rows: np.ndarray) -> np.ndarray:
        ids = np.array([place[key] for key in graph.entities])
        return np.stack([ids[rows[:, 0]], 1 - rows[:, 1], ids[rows[:, 2]]], axis=1)

    return KnowledgeGraph.from_ids(
        moved(graph.train), moved(graph.valid), entities=order, relations=list(graph.relations)[::-1]
    )


def test_ids_are_aligned_by_name(model: transa.TransE) -> None:
    other = renumbered(line())
    assert other.train.tolist() != line().train.tolist()
    found, own = model.evaluate(other, "valid"), model.evaluate(split="valid")
    assert found.summary() == own.summary()
    assert found.frame(answers=1).to_pylist() == own.frame(answers=1).to_pylist()
    assert model.classify(other, "valid", calibration=None).frame().to_pylist() == (
        model.classify(split="valid", calibration=None).frame().to_pylist()
    )


def test_a_graph_may_hold_fewer_entities_than_the_model_knows(model: transa.TransE) -> None:
    few = KnowledgeGraph.from_triples([("e5", "far", "e7")], test=[("e6", "next", "e7"), ("e5", "next", "e6")])
    found = model.evaluate(few)
    assert found.summary()["tail"]["mrr"] == 1.0
    assert found.report()["entities"] == 8  # all that the model knows are ranked


@pytest.mark.parametrize("ask", ["evaluate", "classify"])
def test_what_the_model_does_not_know_is_named(model: transa.TransE, ask: str) -> None:
    with pytest.raises(InputError, match=r"1 entity \('E-three'\) that the model does not know"):
        getattr(model, ask)(renumbered(line(), {"e3": "E-three"}), "valid")
    strange = KnowledgeGraph.from_triples(line().named("train"), [(f"x{i}", "above", "e1") for i in range(9)])
    with pytest.raises(InputError, match=r"9 entities \('x0', .*'x4', …\) and 1 relation \('above'\)"):
        getattr(model, ask)(strange, "valid")


def test_entities_that_stand_in_no_triple_do_not_matter(model: transa.TransE) -> None:
    graph = line()
    more = KnowledgeGraph.from_ids(
        graph.train, graph.valid, entities=[*graph.entities, "nobody"], relations=graph.relations
    )
    assert model.evaluate(more, "valid").summary() == model.evaluate(split="valid").summary()


@pytest.mark.parametrize("ask", ["fit", "evaluate", "classify"])
def test_what_is_no_graph_is_refused_with_the_way_to_make_one(model: transa.TransE, ask: str) -> None:
    with pytest.raises(InputError, match=r"found DataFrame; transa.KnowledgeGraph.from_triples makes one"):
        getattr(model, ask)(pd.DataFrame([("e0", "next", "e1")]))
    with pytest.raises(InputError, match=r"found str; transa.load reads one"):
        getattr(model, ask)("umls")
