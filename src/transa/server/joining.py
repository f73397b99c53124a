"""Questions that several clients ask at the same time are answered in one pass of the ranking kernel.

While a pass runs, new questions wait; the next pass takes all that were asked in the same manner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from transa.errors import InputError
from transa.inference import Answers, Question, Trained, answer
from transa.server.limits import Limits
from transa.server.work import Lane, RefusedError


@dataclass(frozen=True)
class Manner:
    """How questions are answered; see `transa.inference.answer`."""

    new_only: bool = False
    in_range: bool = False
    loop_prior: bool = True


@dataclass(eq=False)
class Waiting:
    """The questions of one request, and where their answers go."""

    trained: Trained
    manner: Manner
    questions: Sequence[Question]
    top: int
    answers: asyncio.Future[list[Answers]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Joiner:
    """Collects questions, and answers as many as possible at once.

    Parameters
    ----------
    lane
        Where they are answered.
    limits
        How many may wait, and how many are joined.

    Attributes
    ----------
    passes, answered
        How many passes have been made, and how many questions were answered by them.
    """

    def __init__(self, lane: Lane, limits: Limits) -> None:
        self.passes = self.answered = 0
        self._lane, self._limits = lane, limits
        self._waiting: list[Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, trained: Trained, manner: Manner, questions: Sequence[Question], top: int) -> list[Answers]:
        """Return the answers to questions, as `transa.inference.answer` gives them."""
        asked = sum(len(each.questions) for each in self._waiting)
        if len(self._waiting) >= self._limits.waiting or asked + len(questions) > self._limits.questions:
            raise RefusedError(429, "too many questions wait already; ask again")
        mine = Waiting(trained, manner, questions, top)
        self._waiting.append(mine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer_all())
        try:
            return await asyncio.wait_for(mine.answers, self._limits.seconds)
        except TimeoutError:
            raise RefusedError(503, f"not done within {self._limits.seconds:g} seconds; ask again", 5) from None
        finally:
            if mine in self._waiting:  # the client has gone
                self._waiting.remove(mine)

    async def _answer_all(self) -> None:
        while self._waiting:
            batch = self._next()
            try:
                found = await self._lane.run(10 * self._limits.seconds, answer_jointly, batch)
            except Exception as error:
                found = [error] * len(batch)
            self.passes += 1
            self.answered += sum(len(each.questions) for each in batch)
            for each, answers in zip(batch, found, strict=True):
                if each.answers.done():
                    continue
                if isinstance(answers, Exception):
                    each.answers.set_exception(answers)
                else:
                    each.answers.set_result(answers)

    def _next(self) -> list[Waiting]:
        """Take the request that has waited longest, and others of its manner as far as there is room."""
        first = self._waiting[0]
        room, batch, left = self._limits.joined, [], []
        for each in self._waiting:
            alike = each.trained is first.trained and each.manner == first.manner
            if each is first or (alike and len(each.questions) <= room):
                batch.append(each)
                room -= len(each.questions)
            else:
                left.append(each)
        self._waiting = left
        return batch


def answer_jointly(batch: Sequence[Waiting]) -> list[list[Answers] | Exception]:
    """Answer the questions of several requests in one pass; a request with an unknown name gets its error, and spoils no other."""
    trained, manner = batch[0].trained, batch[0].manner
    found: list[list[Answers] | Exception] = []
    questions: list[Question] = []
    for each in batch:
        try:
            known = [_with_keys(trained, question) for question in each.questions]
        except InputError as error:
            found.append(error)
        else:
            found.append([])
            questions += known
    if not questions:
        return found
    answers = iter(answer(trained, questions, top=max(each.top for each in batch), **vars(manner)))
    for each, mine in zip(batch, found, strict=True):
        if isinstance(mine, list):
            mine += [next(answers)[: each.top] for _ in each.questions]
    return found


def _with_keys(trained: Trained, question: Question) -> Question:
    """Return a question with the keys of what its names mean."""
    graph, ids = trained.graph, (trained.entities, trained.relations, trained.entities)
    places = zip(ids, (graph.entities, graph.relations, graph.entities), vars(question).values(), strict=True)
    return Question(*(None if text is None else keys[names.id(text)] for names, keys, text in places))
