"""Names, probabilities, answers, checks and discoveries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.inference.runs import kept, line, on_a_line, trained
from transa.errors import InputError
from transa.inference import Question, Trained, answer, check, discover, doubtful
from transa.inference.answers import frame_of
from transa.inference.confidence import FILE, Confidence
from transa.inference.names import Names
from transa.training import RunFolder


def test_names_are_found_by_key_name_case_and_beginning() -> None:
    names = Names(line(named=True).entities, "entity")
    assert [names.id(text) for text in ("e3", "Ada", "ADA", "Bob", "bob", "cle", "Dora", "E7")] == [
        3,
        0,
        0,
        1,
        2,
        3,
        4,
        7,
    ]
    for text, message in (
        ("BOB", "ambiguous: 'e1' .Bob., 'e2' .bob."),
        ("Dor", "ambiguous"),
        ("Zoe", "unknown entity 'Zoe'"),
    ):
        with pytest.raises(InputError, match=message):
            names.id(text)


def test_answers_for_each_place_new_ones_and_those_in_range() -> None:
    one = trained()
    tails, heads, relations = answer(
        one, [Question("e2", "next"), Question(None, "far", "e5"), Question("e2", None, "e4")], top=3
    )
    assert (tails[0].key, tails[0].score, tails[0].known) == ("e3", 0.0, True)
    assert heads[0].key == "e3"
    assert relations[0].key == "far" and len(relations) == 2
    new = answer(one, [Question("e2", "next")], top=20, new_only=True)[0]
    assert "e3" not in {found.key for found in new} and len(new) == 6
    inside = answer(one, [Question("e2", "next")], top=20, in_range=True)[0]
    assert {one.graph.entities.id(found.key) for found in inside} == set(one.range_of(0, "tail").tolist()) - {2}
    assert not {"e3"} & {
        found.key for found in answer(one, [Question("e2", "next")], top=20, in_range=True, new_only=True)[0]
    }


def test_answers_are_the_lowest_scores_of_all() -> None:
    one = trained()
    for head in range(8):
        triples = np.array([[head, 0, tail] for tail in range(8)], np.int32)
        scores = one.scores(triples)
        found = answer(one, [Question(f"e{head}", "next")], top=8)[0]
        assert np.allclose([each.score for each in found], np.sort(np.delete(scores, head)))
        assert all(each.known == bool(one.facts.contains(triples[[int(each.key[1])]])[0]) for each in found)


def test_many_questions_at_once_are_those_one_by_one() -> None:
    one = trained()
    questions = [Question(f"e{i}", ("next", "far")[i % 2]) for i in range(8)]
    together = answer(one, questions, top=4, new_only=True, in_range=True)
    alone = [answer(one, [question], top=4, new_only=True, in_range=True)[0] for question in questions]
    assert together == alone
    assert frame_of(together).num_rows == sum(map(len, alone))
    assert frame_of(together).column_names[:3] == ["head", "relation", "tail"]


@pytest.mark.parametrize("given", [(), ("e1",), ("e1", "next", "e2")])
def test_a_question_leaves_one_thing_open(given: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="two of head, relation and tail"):
        Question(*given)


def test_probabilities_rise_as_scores_fall_and_are_missing_without_valid() -> None:
    found = answer(trained(), [Question("e2", "next")], top=8)[0]
    chances = [each.probability for each in found]
    assert chances == sorted(chances, reverse=True) and 0 <= min(chances) <= max(chances) <= 1  # type: ignore[type-var]
    assert chances[0] > chances[-1]  # type: ignore[operator]
    without = trained(valid=False)
    assert answer(without, [Question("e2", "next")])[0][0].probability is None
    assert "no validation triples" in without.notes[0]
    assert answer(without, [Question("e2", "next")])[0][0].key == "e3"


def test_the_calibration_is_kept_in_the_run_and_made_anew_where_it_does_not_fit(tmp_path: Path) -> None:
    run = kept(tmp_path / "run")
    first = Trained.open(run).confidence
    kept_there = json.loads((run / FILE).read_text())
    assert first is not None and Confidence.from_dict(kept_there) == first
    kept_there["global_threshold"] = 77.0
    (run / FILE).write_text(json.dumps(kept_there))
    assert Trained.open(run).confidence.global_threshold == 77.0  # type: ignore[union-attr]
    (run / FILE).write_text("{")
    assert Trained.open(run).confidence == first
    moved = on_a_line(line())
    moved.entity["vector"] = moved.entity["vector"] * 2
    RunFolder(run).write_tensors("weights.safetensors", moved.tensors())
    assert Trained.open(run).confidence != first


def test_checks_tell_true_from_false() -> None:
    found = check(trained(), [("e0", "next", "e1"), ("e0", "next", "e6"), ("E1", "FAR", "e3")])
    assert [each.decision for each in found.checked] == [True, False, True]
    assert [each.head for each in found.below(0.5)] == ["e0"]
    assert found.frame().num_rows == 3
    assert all((each.score < each.threshold) is each.decision for each in found.checked)  # type: ignore[operator]
    with pytest.raises(InputError, match="row 2: unknown entity"):
        check(trained(), [("e0", "next", "e1"), ("zzz", "next", "e1")])
    with pytest.raises(InputError, match="no probabilities"):
        check(trained(valid=False), [("e0", "next", "e1")]).below(0.5)


def plausibility(one: Trained, triple: np.ndarray) -> float:
    """The probability, or without validation triples the margin."""
    chance = one.probabilities("tail", triple)[0]
    return float(one.margins(triple, one.scores(triple))[0]) if chance is None else chance


def best_new(one: Trained) -> dict[tuple[int, int, int], float]:
    """All candidates, by brute force: heads with the relation in train, tails in range, not known, no loops."""
    train = one.graph.train
    scores = {}
    for relation in range(2):
        rows = train[train[:, 1] == relation]
        for head in np.unique(rows[:, 0]):
            for tail in np.unique(rows[:, 2]):
                triple = np.array([[head, relation, tail]], np.int32)
                if head != tail and not one.facts.contains(triple)[0]:
                    scores[int(head), relation, int(tail)] = plausibility(one, triple)
    return scores


@pytest.mark.parametrize("valid", [True, False])
def test_discoveries_are_the_most_plausible_candidates(valid: bool, tmp_path: Path) -> None:
    one = trained(valid)
    everything = best_new(one)
    found = discover(one, top=10, each=8)
    triples = [one.triple(each.head, each.relation, each.tail) for each in found.checked]
    plausible = [plausibility(one, triple) for triple in triples]
    assert np.allclose(plausible, sorted(everything.values(), reverse=True)[:10])
    assert not any(each.known for each in found.checked)
    assert len(discover(one, top=1000, each=8)) == len(everything)
    assert {each.relation for each in discover(one, top=1000, relations=["far"]).checked} == {"far"}


def test_discovery_goes_on_from_finished_parts(tmp_path: Path) -> None:
    one, parts = trained(), tmp_path / "parts.jsonl"
    whole = discover(one, top=10, parts=parts)
    lines = parts.read_text().splitlines(keepends=True)
    assert len(lines) == 3
    parts.write_text("".join(lines[:2]) + lines[2][:9])  # the last line was cut short
    assert discover(one, top=10, parts=parts) == whole == discover(one, top=10)
    assert parts.read_text() == "".join(lines)
    parts.write_text(lines[0] + json.dumps({"part": json.loads(lines[1])["part"], "found": []}) + "\n" + lines[2])
    assert {each.relation for each in discover(one, top=10, parts=parts).checked} == {
        "far"
    }  # what is done is not done again
    with pytest.raises(InputError, match="other settings"):
        discover(one, top=11, parts=parts)


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Let the system refuse to write further, as it does where a disk is full."""
    resource = pytest.importorskip("resource", reason="limits are those of Unix")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("left", [1, 2])
def test_discovery_without_room_for_its_parts_is_an_error_and_loses_none(tmp_path: Path, left: int) -> None:
    one, parts = trained(), tmp_path / "parts.jsonl"
    whole = discover(one, top=10, parts=parts)
    lines = parts.read_text().splitlines(keepends=True)
    before = "".join(lines[:left]) + ("half a li" if left == 2 else "")  # which is to be dropped, or nothing is
    parts.write_text(before)
    with (
        no_file_longer_than(len(before) - 10 if left == 2 else len(before) + 10),
        pytest.raises(InputError, match=r"parts\.jsonl: cannot be written: File too large; it needs .* free in"),
    ):
        discover(one, top=10, parts=parts)
    assert parts.read_text().startswith(before)
    assert [path.name for path in tmp_path.iterdir()] == ["parts.jsonl"]
    assert discover(one, top=10, parts=parts) == whole
    assert parts.read_text() == "".join(lines)


def test_a_part_whose_line_lost_its_end_is_kept(tmp_path: Path) -> None:
    one, parts = trained(), tmp_path / "parts.jsonl"
    whole = discover(one, top=10, parts=parts)
    text = parts.read_text()
    parts.write_text("".join(text.splitlines(keepends=True)[:2]).rstrip("\n"))
    assert discover(one, top=10, parts=parts) == whole
    assert parts.read_text() == text


def test_doubtful_facts_are_the_least_plausible_of_train() -> None:
    one = trained()
    one.model.entity["vector"][7] = 50.0
    found = doubtful(one, top=1)
    assert all("e7" in (each.head, each.tail) and each.known for each in found.checked)
