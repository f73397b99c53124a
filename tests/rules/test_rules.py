"""Mined rules, the evidence they give and the ranks that follow, beside enumeration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transa
from tests.rules.brute import Graph, counted, evidence
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.models import build
from transa.rules import Evidence, Mining, mine, read_rules, write_rules

EVERYTHING = {"confidence": 0.0, "constant_confidence": 0.0, "for_constant": 10**6, "for_relation": 10**6}


def random_graph(seed: int, entities: int = 9, relations: int = 3, triples: int = 40) -> KnowledgeGraph:
    draw = np.random.default_rng(seed)
    rows = np.stack([draw.integers(0, size, triples) for size in (entities, relations, entities)], axis=1)
    named = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows.tolist()]
    return KnowledgeGraph.from_triples([*named, *((f"e{i}", "r0", f"e{i}") for i in range(entities))])


FAMILY = KnowledgeGraph.from_triples(
    [(f"p{i}", "lives in", f"town{i % 3}") for i in range(9)]
    + [(f"town{i}", "speaks", f"language{i % 2}") for i in range(3)]
    + [(f"p{i}", "talks", f"language{i % 3 % 2}") for i in range(7)]
)


@pytest.mark.parametrize("seed", range(4))
def test_every_count_is_that_of_enumeration(seed: int) -> None:
    graph = random_graph(seed)
    length = 3 + seed % 2
    rules = mine(graph, Mining(length=length, support=1, constant_support=1, **EVERYTHING)).rules
    chains, constants = counted(rules)
    facts = Graph(graph)
    assert chains == facts.chains(length, 1)
    assert constants == facts.constants(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nations", "umls"])
def test_every_count_on_a_real_graph(name: str) -> None:
    graph = transa.load(name)
    first = np.unique(graph.train[:, 1])[:3]
    rows = graph.train[np.isin(graph.train[:, 1], first)]
    part = replace(graph, train=rows)
    chains, constants = counted(mine(part, Mining(length=2, **EVERYTHING)).rules)
    facts = Graph(part)
    assert chains == facts.chains(2, 2)
    assert constants == facts.constants(2)


def test_threads_change_nothing_and_limits_leave_out_what_is_below_them() -> None:
    graph = transa.load("nations")
    one, two = (mine(graph, Mining(support=3, confidence=0.2), threads=threads).rules for threads in (1, 2))
    for name in ("head", "constant", "body", "body_constant", "support", "body_size", "pca_size"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    chains = one.take(one.constant < 0)
    assert len(chains)
    assert chains.support.min() >= 3
    assert chains.confidence.min() >= 0.2
    few = mine(graph, Mining(for_constant=2, for_relation=3)).rules
    best = few.take(few.constant < 0)
    assert np.bincount(best.head).max() == 3
    assert best.confidence[best.head == 0].min() >= np.sort(one.confidence[(one.constant < 0) & (one.head == 0)])[-3]
    of_constant = few.take(few.constant >= 0)
    places = of_constant.head * len(graph.entities) + of_constant.constant
    assert np.unique(places, return_counts=True)[1].max() == 2


def test_more_walks_than_are_counted_are_drawn_by_the_seed() -> None:
    graph = transa.load("nations")
    drawn = [mine(graph, Mining(walks=2000, seed=seed, constants=False)) for seed in (0, 0, 1)]
    assert drawn[0].sampled > 0
    assert np.array_equal(drawn[0].rules.support, drawn[1].rules.support)
    assert len(drawn[0].rules) != len(drawn[2].rules) or not np.array_equal(
        drawn[0].rules.support, drawn[2].rules.support
    )


def test_when_time_is_up_the_rules_so_far_are_there() -> None:
    graph = transa.load("nations")
    whole = mine(graph, Mining(**EVERYTHING))
    part = mine(graph, Mining(minutes=1e-9, **EVERYTHING))
    assert whole.done == whole.tasks > part.done > 0
    known, some = (
        set(map(tuple, np.column_stack([m.rules.head, m.rules.body, m.rules.constant]).tolist())) for m in (whole, part)
    )
    assert some <= known


@pytest.mark.parametrize(("aggregation", "strongest"), [("maximum", 0), ("noisy_or", 0), ("noisy_or", 2)])
@pytest.mark.parametrize("seed", range(2))
def test_evidence_and_ranks_are_those_of_enumeration(aggregation, strongest: int, seed: int) -> None:
    graph = random_graph(seed, entities=7, triples=25)
    rules = mine(graph, Mining(length=3 + 2 * seed, support=1, constant_support=1)).rules
    found = Evidence(rules, graph.train, 7, 3, aggregation, strongest)
    facts = Graph(graph)
    triples = np.array([(h, r, t) for h in range(7) for r in range(3) for t in range(7) if h != t], np.int32)
    expected = [evidence(facts, rules, triple, aggregation == "maximum", strongest) for triple in triples.tolist()]
    assert found.of(triples) == pytest.approx(expected, abs=1e-9)

    model = build("rules", 7, 3, 1)
    model.evidence = found
    ours = link_prediction(model, triples, graph.known())
    tails, heads = np.zeros((7, 3, 7)), np.zeros((7, 3, 7))
    tails[tuple(triples.T)], heads[tuple(triples.T)] = found.of(triples), found.of(triples, "head")
    for (head, relation, tail), ranks in zip(triples.tolist(), ours.ranks(filtered=False), strict=True):
        for own, every, rank in ((head, heads[:, relation, tail], ranks[0]), (tail, tails[head, relation], ranks[1])):
            better, equal = (every > every[own]).sum(), (every == every[own]).sum() - 1
            assert rank == 1 + better + equal / 2


def test_answers_of_both_sides_agree_with_the_evidence_of_triples() -> None:
    graph = transa.load("nations")
    found = Evidence(mine(graph).rules, graph.train, len(graph.entities), len(graph.relations), "noisy_or", 5)
    sample = graph.test[:30]
    back = sample[:, 1] + len(graph.relations)
    for side, given, steps, column in (("tail", 0, sample[:, 1], 2), ("head", 2, back, 0)):
        answers = found.answers(sample[:, given], steps)
        for row, triple in enumerate(sample):
            part = slice(answers.first[row], answers.first[row + 1])
            every = np.repeat(triple[None], part.stop - part.start, axis=0)
            every[:, column] = answers.entities[part]
            assert answers.evidence[part] == pytest.approx(found.of(every, side), abs=1e-12)


def test_a_rule_that_speaks_is_named_the_strongest_first() -> None:
    names = FAMILY.entities
    rules = mine(FAMILY, Mining(constants=False)).rules
    found = Evidence(rules, FAMILY.train, len(names), len(FAMILY.relations))
    relation = FAMILY.relations.id("talks")
    speaking = found.speaking(names.id("p7"), relation, names.id("language1"))
    assert next(rules.take(speaking).texts(names, FAMILY.relations)) == "talks(X,Y) <= lives in(X,A), speaks(A,Y)"
    assert np.all(np.diff(rules.confidence[speaking]) <= 0)
    assert len(found.speaking(names.id("p7"), relation, names.id("town0"))) == 0


@pytest.mark.parametrize("suffix", [".parquet", ".txt"])
def test_files_give_the_rules_back(tmp_path: Path, suffix: str) -> None:
    graph = transa.load("nations")
    rules = mine(graph, Mining(support=10, constant_support=5)).rules
    path = write_rules(rules, graph, tmp_path / f"rules{suffix}")
    back = read_rules(path, graph)
    assert len(back) == len(rules)
    assert np.array_equal(back.body, rules.body)
    assert np.array_equal(back.support, rules.support)
    with pytest.raises(InputError, match="exists already"):
        write_rules(rules, graph, path)


def test_rules_of_amie_are_read(tmp_path: Path) -> None:
    path = tmp_path / "amie.tsv"
    path.write_text(
        "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\n"
        "?a <lives_in> ?c  ?c <speaks> ?b   => ?a <talks> ?b\t0.5\t0.7\t0.9\t7\t10\t8\n"
    )
    graph = KnowledgeGraph.from_triples([("a", "lives_in", "b"), ("b", "speaks", "c"), ("a", "talks", "c")])
    rules = read_rules(path, graph)
    assert list(rules.texts(graph.entities, graph.relations)) == ["talks(X,Y) <= lives_in(X,A), speaks(A,Y)"]
    assert (rules.support[0], rules.body_size[0], rules.pca_size[0]) == (7, 10, 8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3\t2\t0.5\ttalks(X,Y) <= sings(X,Y)", "line 1: the graph has no relation 'sings'"),
        ("3\t2\t0.5\ttalks(X,Y) <= talks(X,A)", "line 1: the body is no chain from X to Y"),
        ("3\t2\t0.5\ttalks X Y <= speaks(X,Y)", r"line 1: expected an atom such as r\(X,Y\)"),
        ("many\t2\t0.5\ttalks(X,Y) <= speaks(X,Y)", "line 1: expected a rule of AnyBURL"),
        ("nonsense", "line 1: expected a rule of AnyBURL"),
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "rules.txt"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        read_rules(path, FAMILY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 6}, "length: expected 1 to 5"),
        ({"support": 0}, "support: expected at least 1"),
        ({"confidence": 1.5}, "confidence: expected a number from 0 to 1"),
        ({"minutes": 0.0}, "minutes: expected more than 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mining(**settings)


def test_arrays_of_someone_else_are_checked() -> None:
    graph = transa.load("nations")
    found = Evidence(mine(graph).rules, graph.train, len(graph.entities), len(graph.relations))
    arrays = found.arrays()
    sizes = len(graph.entities), len(graph.relations)
    back = Evidence.of_arrays(arrays, *sizes)
    assert np.array_equal(back.of(graph.test), found.of(graph.test))
    with pytest.raises(InputError, match="support is missing"):
        Evidence.of_arrays({name: array for name, array in arrays.items() if name != "support"}, *sizes)
    with pytest.raises(InputError, match="expected ids from 0"):
        Evidence.of_arrays(arrays | {"head": arrays["head"] + 1000}, *sizes)
