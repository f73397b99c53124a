"""Questions that are asked at the same time are answered together, and as if they had been asked alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from transa.errors import InputError
from transa.inference import Question, Trained, answer
from transa.server.joining import Joiner, Manner
from transa.server.limits import Limits
from transa.server.work import Lane, RefusedError


@pytest.fixture(scope="module")
def trained(umls: Path) -> Trained:
    return Trained.open(umls)


def questions(trained: Trained, number: int) -> list[Question]:
    rows = trained.graph.train[:: len(trained.graph.train) // number][:number].tolist()
    entities, relations = trained.graph.entities, trained.graph.relations
    return [
        Question(entities[h], relations[r]) if place % 2 else Question(None, relations[r], entities[t])
        for place, (h, r, t) in enumerate(rows)
    ]


def joined(trained: Trained, limits: Limits, asked: list[tuple[Manner, list[Question], int]]) -> tuple[Joiner, list]:
    async def all_at_once() -> tuple[Joiner, list]:
        lane = Lane("test", limits.waiting)
        joiner = Joiner(lane, limits)
        found = await asyncio.gather(*(joiner.ask(trained, *each) for each in asked), return_exceptions=True)
        lane.close()
        return joiner, found

    return asyncio.run(all_at_once())


def test_answers_are_those_to_each_question_alone(trained: Trained) -> None:
    asked = [
        (Manner(new_only=place % 3 == 0), [question], 1 + place % 7)
        for place, question in enumerate(questions(trained, 60))
    ]
    joiner, found = joined(trained, Limits(), asked)
    assert joiner.answered == 60 and joiner.passes < 10
    for (manner, (question,), top), (answers,) in zip(asked, found, strict=True):
        (alone,) = answer(trained, [question], top=top, **vars(manner))
        assert [each.key for each in answers] == [each.key for each in alone]
        assert [each.score for each in answers] == pytest.approx([each.score for each in alone], rel=1e-9)
        assert [each.probability for each in answers] == pytest.approx([each.probability for each in alone], rel=1e-6)


def test_an_unknown_name_spoils_no_other_question(trained: Trained) -> None:
    asked = [
        (Manner(), [each], 3)
        for each in (Question("virus", "causes"), Question("no one", "causes"), Question("cell", "causes"))
    ]
    _, (virus, nobody, cell) = joined(trained, Limits(), asked)
    assert len(virus[0]) == len(cell[0]) == 3 and isinstance(nobody, InputError) and "no one" in str(nobody)


def test_no_more_are_joined_and_no_more_wait_than_the_limits_say(trained: Trained) -> None:
    asked = [(Manner(), [each], 1) for each in questions(trained, 12)]
    joiner, _ = joined(trained, Limits(joined=1), asked)
    assert joiner.passes == 12
    _, found = joined(trained, Limits(waiting=5), asked)
    assert sum(isinstance(each, RefusedError) and each.status == 429 for each in found) == 7
    _, found = joined(trained, Limits(questions=3), [(Manner(), questions(trained, 4), 1)])
    assert isinstance(found[0], RefusedError)


def test_an_error_of_the_program_reaches_all_who_wait(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transa.server.joining.answer", lambda *_, **__: 1 / 0)
    _, found = joined(trained, Limits(), [(Manner(), [each], 1) for each in questions(trained, 3)])
    assert all(isinstance(each, ZeroDivisionError) for each in found)
