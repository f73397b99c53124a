"""`complete` and `audit`: sets of facts that break no constraint, and known facts that do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.inference.runs import SIZE, blurred, line, on_a_line, trained
from transa.data import KnowledgeGraph
from transa.data.constraints import Constraints, Implication
from transa.errors import InputError
from transa.inference import Trained, audit, check, complete, discover
from transa.inference.claims import claims_of
from transa.inference.consistent import Rival
from transa.inference.plausibility import said_by_rules
from transa.rules import Evidence, Mining, mine

NEXT, FAR = 0, 1
LAWS = Constraints({NEXT: 1.0, FAR: 1.0}, {NEXT: 1.0, FAR: 1.0})


def on_line(train: list[tuple[int, int, int]], valid: list[tuple[int, int, int]] | None = None) -> Trained:
    """A model that knows where the entities stand, whatever train says."""
    graph = KnowledgeGraph.from_ids(train, valid, entities=line().entities, relations=line().relations)
    return Trained(on_a_line(graph), graph)


def right() -> list[tuple[int, int, int]]:
    return [(i, NEXT, i + 1) for i in range(SIZE - 1)] + [(i, FAR, i + 2) for i in range(SIZE - 2)]


def ids(one: Trained, found: object) -> set[tuple[int, int, int]]:
    return {
        (one.graph.entities.id(each.head), one.graph.relations.id(each.relation), one.graph.entities.id(each.tail))
        for each in found  # type: ignore[attr-defined]
    }


@pytest.mark.parametrize("valid", [True, False])
def test_at_most_one_answer_is_taken_where_the_relation_is_functional(valid: bool) -> None:
    one = blurred(valid)
    free = complete(one, Constraints(), each=8)
    bound = complete(one, LAWS, each=8, trust=100.0)
    assert bound.solved.proved and bound.solved.slack == 0 and bound.solved.known == len(one.facts)
    every = [*ids(one, bound), *map(tuple, np.concatenate([one.graph.train, one.graph.valid]).tolist())]
    assert max(Counter((head, relation) for head, relation, _ in every).values()) == 1
    assert max(Counter((relation, tail) for _, relation, tail in every).values()) == 1
    assert len(bound) < len(free)
    assert not ids(one, free) & {tuple(row) for row in one.graph.train.tolist()}


def test_new_facts_have_the_score_and_probability_of_check_and_come_in_order() -> None:
    one = blurred()
    found = complete(one, Constraints(), each=8)
    assert len(found) and found.solved.constraints == 0
    said = {(each.head, each.relation, each.tail): each for each in discover(one, top=1000, each=8)}
    for each in found:
        same = said[each.head, each.relation, each.tail]
        assert (each.score, each.probability) == (same.score, same.probability)
        assert each.weight > 0 and each.rival is None and each.removed == 0
    chances = [each.probability for each in found]
    assert chances == sorted(chances, reverse=True)


def test_what_follows_is_taken_and_says_from_what() -> None:
    train = [fact for fact in right() if fact != (2, FAR, 4)] + [(i, NEXT, i + 1) for i in range(SIZE - 1)]
    one = on_line(train)
    rules = Constraints(implications=(Implication(FAR, NEXT, inverse=True),))
    found = complete(one, rules, candidates=1, trust=1000.0)  # so sure of what is known that all of it follows
    follows = {(t, NEXT, h) for h, r, t in one.graph.train.tolist() if r == FAR}
    assert follows <= ids(one, found)
    first = next(each for each in found if (each.head, each.relation, each.tail) == ("e3", "next", "e1"))
    assert first.follows_from == "(e1, far, e3)"


def test_a_rival_is_named_with_the_constraint_that_removed_it() -> None:
    one = blurred()
    rules = Constraints({FAR: 1.0, NEXT: 1.0})
    free, bound = complete(one, Constraints(), each=8), complete(one, rules, each=8, trust=0.0)
    weights = {(each.head, each.relation, each.tail): each.weight for each in free}
    chosen = [each for each in bound if each.rival is not None and not one.facts.contains(_ids(one, each.rival))[0]]
    assert chosen
    for each in chosen:
        assert each.rival is not None
        others = {key: value for key, value in weights.items() if key[:2] == (each.head, each.relation)}
        assert (each.rival.head, each.rival.relation, each.rival.tail) in others and each.removed >= 1
        assert each.weight == max(others.values()) and each.rival.constraint == f"functional: {each.relation}"
    row = bound.to_dicts()[list(bound).index(chosen[0])]
    assert (row["rival_head"], row["rival_relation"]) == (chosen[0].head, chosen[0].relation)
    assert bound.frame().to_pylist() == bound.to_dicts() and "excludes e" in str(bound)


def test_types_of_a_schema_are_a_law_for_new_facts_and_accuse_known_ones() -> None:
    one = trained()
    some = frozenset({"even"})
    types = {i: some if i % 2 == 0 else frozenset({"odd"}) for i in range(SIZE)}
    rules = Constraints(ranges={FAR: some}, types=types)
    assert {tail % 2 for _, relation, tail in ids(one, complete(one, rules, each=8)) if relation == FAR} <= {0}
    found = audit(one, rules, top=100)
    wrong = {(h, r, t) for h, r, t in one.graph.train.tolist() if r == FAR and t % 2}
    assert wrong and ids(one, [each for each in found if each.given_up]) == wrong
    assert ids(one, found[: len(wrong)]) == wrong
    assert {each.rival.constraint for each in found[: len(wrong)] if each.rival} == {"type: an argument of far"}


def test_a_second_answer_to_a_functional_relation_is_found() -> None:
    wrong = (2, NEXT, 7)
    one = on_line([*right(), wrong])
    found = audit(one, Constraints({NEXT: 1.0}), top=100)
    first = found[0]
    assert (first.head, first.relation, first.tail) == ("e2", "next", "e7")
    assert first.given_up and first.doubt > 0 and first.conflicts >= 1
    assert first.rival is not None and first.rival.constraint == "functional: next"
    assert (first.rival.head, first.rival.relation, first.rival.tail) == ("e2", "next", "e3")
    assert not any(each.given_up for each in found[1:]) and found.solved.slack == 1 and found.solved.proved
    assert found.frame().to_pylist() == found.to_dicts() and "functional: next" in str(found)


def test_without_constraints_the_least_probable_come_first_with_the_better_answer() -> None:
    wrong = (1, FAR, 7)
    one = on_line([*right(), wrong])
    found = audit(one, Constraints(), top=100, trust=1000.0)
    assert ids(one, found[:1]) == {wrong} and not found[0].given_up
    assert found[0].rival is not None and found[0].rival.constraint == "better new answer"
    doubts = [each.doubt for each in found]
    assert doubts == sorted(doubts, reverse=True) and len(found) == len(right()) + 1
    assert {each.relation for each in audit(one, Constraints(), relations=["far"])} == {"far"}


def test_rules_speak_for_facts_that_follow_from_others_and_no_fact_for_itself() -> None:
    lives = [(f"p{i}", "lives in", f"town{i % 4}") for i in range(12)]
    speaks = [(f"town{i}", "speaks", f"language{i}") for i in range(4)]
    talks = [(f"p{i}", "talks", f"language{i % 4}") for i in range(11)]
    graph = KnowledgeGraph.from_triples([*lives, *speaks, *talks, ("p11", "talks", "language0")])  # p11 lives in town3
    said = said_by_rules(graph, graph.train[-12:])
    assert said[:-1].min() > 2 * said[-1]
    # two likes that repeat two loves: for each, one other case speaks, which the discount makes little of
    pair = KnowledgeGraph.from_triples(
        [(f"{a}{i}", r, f"{b}{i}") for i in range(2) for a, r, b in (("x", "likes", "y"), ("x", "loves", "y"))]
    )
    rules = mine(pair, Mining(constants=False, length=1)).rules
    alone = Evidence(rules.less_one_case(), pair.train, len(pair.entities), len(pair.relations))
    assert rules.support.tolist() == [2, 2]
    assert -np.expm1(-alone.of(pair.train)) == pytest.approx(1 / (1 + 5), abs=1e-3)


def test_a_fact_that_needs_one_that_the_graph_denies_is_accused() -> None:
    graph = KnowledgeGraph.from_ids(
        right(),
        [(3, FAR, 5), (4, NEXT, 2), (0, NEXT, 1)],
        entities=line().entities,
        relations=line().relations,
        valid_labels=[1, -1, 1],
    )
    one = Trained(on_a_line(graph), graph)
    rules = Constraints(implications=(Implication(FAR, NEXT, inverse=True),))
    found = audit(one, rules, top=100, trust=50.0)
    accused = next(each for each in found if (each.head, each.tail) == ("e2", "e4"))
    assert accused.given_up and accused.rival is not None
    assert accused.rival.constraint == "far implies next inverted" and accused.rival.head is None


def test_a_mined_rule_has_exceptions_that_a_law_has_not() -> None:
    one = on_line([*right(), (2, NEXT, 4)])
    soft, law = (audit(one, Constraints({NEXT: share}), trust=3.0).solved for share in (0.6, 1.0))
    assert soft.slack == 0 and law.slack == 1


def test_claims_are_all_known_facts_and_what_follows() -> None:
    one = trained()
    rules = Constraints(implications=(Implication(NEXT, FAR), Implication(FAR, NEXT, inverse=True)))
    found = claims_of(one, rules)
    claims = {tuple(row) for row in found.triples.tolist()}
    assert int(found.known.sum()) == len(one.facts)
    for head, relation, tail in claims:
        follow = (head, FAR, tail) if relation == NEXT else (tail, NEXT, head)
        assert follow in claims
    assert len(found.reasons) == len(claims)


def test_the_best_set_is_that_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "laws.tsv").write_text(
        "functional\tnext\nfunctional\tfar\ninverse_functional\tnext\ninverse_functional\tfar\n"
    )
    one = trained()
    assert complete(one, tmp_path / "laws.tsv").facts == complete(one, LAWS).facts
    assert audit(one, str(tmp_path / "laws.tsv")).doubts == audit(one, LAWS).doubts
    assert audit(one).solved.constraints == 0  # too few heads to mine anything


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"each": 0}, "each: expected at least 1, found 0"),
        ({"candidates": 0}, "candidates"),
        ({"trust": -1.0}, "trust: expected a number of at least 0, found -1"),
        ({"trust": float("nan")}, "trust"),
        ({"seconds": 0.0}, "seconds: expected more than 0"),
    ],
)
def test_wrong_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        complete(trained(), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="top"):
        audit(trained(), top=0)


def test_nothing_that_was_labelled_false_or_known_is_new() -> None:
    graph = KnowledgeGraph.from_ids(
        right()[2:],
        [(3, FAR, 5), (0, NEXT, 2), (0, NEXT, 1)],
        entities=line().entities,
        relations=line().relations,
        valid_labels=[1, -1, 1],
    )
    one = Trained(on_a_line(graph), graph)
    new = ids(one, complete(one, Constraints(implications=(Implication(FAR, NEXT),)), each=8, trust=1000.0))
    assert (0, NEXT, 2) not in new and not any(each.known for each in check(one, list(_named(one, new))))


def _named(one: Trained, triples: set[tuple[int, int, int]]) -> list[tuple[str, str, str]]:
    return [(one.graph.entities[h], one.graph.relations[r], one.graph.entities[t]) for h, r, t in sorted(triples)]


def _ids(one: Trained, rival: Rival) -> np.ndarray:
    return one.triple(rival.head or "", rival.relation or "", rival.tail or "")
