"""Constraints: mined from train, and read from files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.inference.runs import line
from transa.data import KnowledgeGraph
from transa.data.constraints import Constraints, Implication, cost_of, mine_constraints
from transa.errors import InputError
from transa.inference import read_constraints
from transa.inference.links import Links
from transa.inference.names import Names
from transa.inference.roles import LEAST, UNKNOWN, Roles


def read(path: Path, text: str, *, named: bool = False) -> Constraints:
    path.write_text(text)
    graph = line(named=named)
    return read_constraints(path, Names(graph.entities, "entity"), Names(graph.relations, "relation"))


def cities(size: int = 30, second: int = 0) -> KnowledgeGraph:
    """Each country has a capital, which lies in it; some have a second one; twins are named both ways."""
    rows = []
    for i in range(size):
        rows += [(f"city{i}", "capital_of", f"land{i}"), (f"city{i}", "lies_in", f"land{i}")]
        rows += [(f"town{i}", "lies_in", f"land{i}"), (f"land{i}", "has", f"city{i}")]
        rows += [(f"city{i}", "twin", f"town{i}"), (f"town{i}", "twin", f"city{i}")]
    rows += [(f"city{i}", "capital_of", f"land{i + 1}") for i in range(second)]
    return KnowledgeGraph.from_triples(rows)


def test_functional_relations_and_implications_are_mined() -> None:
    graph = cities()
    found = mine_constraints(graph)
    name = graph.relations.id
    assert set(found.functional) == {name("capital_of"), name("lies_in"), name("has"), name("twin")}
    assert set(found.inverse_functional) == {name("capital_of"), name("has"), name("twin")}
    rules = {(graph.relations[each.body], graph.relations[each.head], each.inverse) for each in found.implications}
    assert rules == {
        ("capital_of", "lies_in", False),
        ("capital_of", "has", True),
        ("has", "capital_of", True),
        ("has", "lies_in", True),
        ("twin", "twin", True),
    }
    assert all(
        each.confidence == pytest.approx((30 + 1) / (30 + 2))
        for each in found.implications
        if each.body != name("twin")
    )


@pytest.mark.parametrize(("second", "functional"), [(0, True), (1, True), (2, False)])
def test_limits_of_functional_relations(second: int, functional: bool) -> None:
    graph = cities(second=second)
    capital = graph.relations.id("capital_of")
    assert (capital in mine_constraints(graph).functional) == functional
    assert capital in mine_constraints(graph, one_answer=0.9).functional
    assert capital not in mine_constraints(graph, heads=31).functional


def test_limits_of_implications() -> None:
    graph = cities(second=15)
    assert (graph.relations.id("capital_of"), graph.relations.id("lies_in")) not in {
        (each.body, each.head) for each in mine_constraints(graph).implications
    }
    found = mine_constraints(graph, confidence=0.6).implications
    assert any(
        (each.body, each.head) == (graph.relations.id("capital_of"), graph.relations.id("lies_in")) for each in found
    )
    assert mine_constraints(graph, confidence=0.0, support=61).implications == ()
    with pytest.raises(InputError, match="confidence: expected a share from 0 to 1, found 2"):
        mine_constraints(graph, confidence=2)


def test_mined_implications_are_those_of_a_count() -> None:
    random = np.random.default_rng(0)
    graph = KnowledgeGraph.from_ids(
        np.stack([random.integers(0, 6, 120), random.integers(0, 4, 120), random.integers(0, 6, 120)], 1)
    )
    facts = set(map(tuple, graph.train.tolist()))
    expected = set()
    for body in range(4):
        pairs = {(h, t) for h, r, t in facts if r == body}
        for head in range(4):
            for inverse in (False, True):
                true = sum(((t, head, h) if inverse else (h, head, t)) in facts for h, t in pairs)
                if true >= 5 and true >= 0.5 * len(pairs) and (inverse or body != head):
                    expected.add((body, head, inverse, (true + 1) / (len(pairs) + 2)))
    found = mine_constraints(graph, confidence=0.5, support=5).implications
    assert {(each.body, each.head, each.inverse, each.confidence) for each in found} == expected and expected


def test_what_it_costs_to_break_a_rule() -> None:
    assert cost_of(1.0) == math.inf and cost_of(0.5) == 0 and cost_of(0.2) == 0
    assert cost_of(0.9) == pytest.approx(math.log(9))


def test_a_file_with_every_constraint(tmp_path: Path) -> None:
    text = (
        "# what I know\n\nfunctional\tnext\ninverse_functional\tNEXT\t0.9\nimplies\tnext\tfar\t0.75\n"
        "implies_inverse\tfar\tfar\ndomain\tnext\tperson\nrange\tnext\tperson\nrange\tnext\tplace\n"
        "type\tAda\tperson\ntype\te1\tthing\n"
    )
    found = read(tmp_path / "rules.tsv", text, named=True)
    assert found.functional == {0: 1.0} and found.inverse_functional == {0: 0.9}
    assert found.implications == (Implication(0, 1, False, 0.75), Implication(1, 1, True, 1.0))
    assert found.ranges == {0: {"person", "place"}} and found.types == {0: {"person"}, 1: {"thing"}}
    assert found.fits(0, 0, "head") and not found.fits(0, 1, "head")
    assert found.fits(0, 5, "head") and found.fits(1, 1, "tail")  # no type, and no domain
    both = Constraints(functional={0: 0.8, 1: 0.9}, implications=(Implication(0, 1, False, 0.6),)) | found
    assert both.functional == {0: 1.0, 1: 0.9} and Implication(0, 1, False, 0.75) in both.implications


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("functional\tnext\nfunctonal\tnext\n", "line 2: unknown constraint 'functonal'; did you mean 'functional'"),
        ("functional next\n", "line 1: unknown constraint 'functional next'"),
        ("\n# no\nfunctional\tnear\n", "line 3: unknown relation 'near'"),
        ("functional\n", "line 1: expected functional RELATION [CONFIDENCE], separated by tabs; found 'functional'"),
        ("implies\tnext\n", "line 1: expected implies RELATION RELATION [CONFIDENCE]"),
        ("implies\tnext\tfar\thigh\n", "line 1: expected a confidence from 0.5 to 1, found 'high'"),
        ("implies\tnext\tfar\t0.2\n", "line 1: expected a confidence from 0.5 to 1, found '0.2'"),
        ("functional\tnext\tnan\n", "line 1: expected a confidence"),
        ("implies\tnext\tnext\n", "line 1: 'next' implies itself"),
        ("domain\tnext\tperson\t0.9\n", "line 1: expected domain RELATION TYPE"),
        ("type\tZoe\tperson\n", "line 1: unknown entity 'Zoe'"),
        ("# nothing\n", "the file holds no constraint"),
    ],
)
def test_wrong_files_are_named_with_line_and_value(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path / "rules.tsv", text)
    assert message in str(error.value) and "rules.tsv" in str(error.value)


def test_a_file_that_is_not_there_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    graph = line()
    names = Names(graph.entities, "entity"), Names(graph.relations, "relation")
    with pytest.raises(InputError, match=r"nowhere\.tsv"):
        read_constraints(tmp_path / "nowhere.tsv", *names)
    (tmp_path / "bad.tsv").write_bytes(b"functional\tnext\nfunctional\t\xff\n")
    with pytest.raises(InputError, match="line 2: invalid UTF-8"):
        read_constraints(tmp_path / "bad.tsv", *names)


def test_roles_tell_what_fits_and_a_fact_is_no_witness_for_itself() -> None:
    rows = [(f"p{i}", "born_in", f"c{i % 3}") for i in range(12)] + [
        (f"p{i}", "works_as", f"job{i % 2}") for i in range(12)
    ]
    rows += [("p0", "born_in", "job1"), ("p1", "likes", "x")]
    graph = KnowledgeGraph.from_triples(rows)
    roles = Roles(graph)

    def fit(head: str, relation: str, tail: str) -> list[float]:
        ids = [[graph.entities.id(head), graph.relations.id(relation), graph.entities.id(tail)]]
        return roles.fit(np.array(ids, np.int32))[0].tolist()

    assert fit("p3", "born_in", "c0") == [11 / 13, 1.0]  # p3 has no other birthplace, but its like have one
    assert fit("p0", "born_in", "job1") == [1.0, LEAST]  # nothing that is a job is a place
    assert fit("p3", "born_in", "job0")[1] == pytest.approx(1 / 3)  # new: one of two jobs is a place, so train says
    assert fit("p1", "likes", "x")[1] == UNKNOWN
    assert roles.fit(np.empty((0, 3), np.int32)).shape == (0, 2)


def test_links_count_other_facts_and_shared_neighbours() -> None:
    graph = KnowledgeGraph.from_triples(
        [("a", "r", "b"), ("b", "s", "a"), ("a", "r", "c"), ("c", "r", "b"), ("d", "r", "e"), ("a", "r", "a")]
    )
    names = [("a", "r", "b"), ("d", "r", "e"), ("a", "s", "d"), ("a", "r", "a"), ("a", "s", "b")]
    ids = np.array([[graph.entities.id(h), graph.relations.id(r), graph.entities.id(t)] for h, r, t in names], np.int32)
    shared = 1 / math.log(2 + 2)  # c, in two facts
    found = Links(graph).between(ids)
    assert found[:3] == pytest.approx([1 + shared, 0, 0])
    assert found[4] == pytest.approx(2 + shared)
