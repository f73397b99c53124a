"""Questions with one of head, relation and tail missing, and their answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import pyarrow as pa

from transa.data.vocabulary import as_name
from transa.errors import InputError
from transa.inference.results import Results
from transa.inference.trained import state_of
from transa.readable import called
from transa.table import Table, figure

Asked = Literal["head", "relation", "tail"]
PLACES: tuple[Asked, ...] = ("head", "relation", "tail")


@dataclass(frozen=True)
class Prediction:
    """An answer to (head, relation, ?), (?, relation, tail) or (head, ?, tail).

    Attributes
    ----------
    key, name
        The entity or relation that is the answer.
    score
        The dissimilarity of the triple: lower is more plausible. That of a directional model belongs to the side that is asked for.
    known
        Whether the graph holds the triple, in any split.
    probability
        The probability that the triple is true as an answer to this question (`transa.inference.answer_chances`), of a known fact as
        if it were new; None if the graph has no validation triples, or for the reason in `note`.
    note
        That the graph labels the triple false, or why there is no probability; otherwise None.
    place
        Its place among the answers, from 1.
    """

    key: str
    name: str
    score: float
    known: bool
    probability: float | None = None
    note: str | None = None
    place: int = 1


@dataclass(frozen=True)
class Question:
    """Two of head, relation and tail; the one that is None is asked for."""

    head: str | None = None
    relation: str | None = None
    tail: str | None = None

    def __post_init__(self) -> None:
        missing = [place for place in PLACES if getattr(self, place) is None]
        if len(missing) != 1:
            found = ", ".join(place for place in PLACES if place not in missing) or "none of them"
            raise InputError(f"expected two of head, relation and tail, the third being asked for; found {found}")
        for place in PLACES:
            if place not in missing:
                object.__setattr__(self, place, as_name(getattr(self, place)))

    @property
    def asked(self) -> Asked:
        """Which of the three is asked for."""
        return next(place for place in PLACES if getattr(self, place) is None)

    def __str__(self) -> str:
        return f"({self.head or '?'}, {self.relation or '?'}, {self.tail or '?'})"


SCHEMA = pa.schema(
    [
        *((place, pa.string()) for place in (*PLACES, "asked")),
        ("place", pa.int64()),
        ("name", pa.string()),
        ("score", pa.float64()),
        ("probability", pa.float64()),
        ("known", pa.bool_()),
        ("note", pa.string()),
    ]
)


@dataclass(frozen=True, repr=False)
class Answers(Results[Prediction]):
    """The answers to one question, the most plausible first.

    Attributes
    ----------
    question
        The question, with keys in the place of names.
    predictions
        The answers.
    named
        The question with readable names.
    """

    field_of_rows: ClassVar[str] = "predictions"
    schema: ClassVar[pa.Schema] = SCHEMA

    question: Question
    predictions: tuple[Prediction, ...]
    named: Question | None = None

    def rows(self) -> list[dict[str, Any]]:
        """Return every answer as a full triple: head, relation, tail (keys), asked, place, name, score, probability, known, note."""
        question = self.question
        return [
            {
                **{place: getattr(question, place) or found.key for place in PLACES},
                "asked": question.asked,
                "place": found.place,
                "name": found.name,
                "score": found.score,
                "probability": found.probability,
                "known": found.known,
                "note": found.note,
            }
            for found in self.predictions
        ]

    def table(self, *, full: bool = False) -> Table:
        """Return the answers as people read them; `full` shows IRIs in full."""
        rows = [
            (
                f"{found.place:,}",
                called(found.key, found.name, full=full),
                *(figure(found.score), figure(found.probability)),
                state_of(found),
            )
            for found in self.predictions
        ]
        question = self.question if full or self.named is None else self.named
        return Table(
            str(question), ("", question.asked, "score", "probability", ""), tuple(rows), self.order_note or ""
        )

    @property
    def order_note(self) -> str | None:
        """A note that the probabilities stand in another order than the answers; None where they do not."""
        chances = [float(figure(each.probability)) for each in self.predictions if each.probability is not None]
        if all(one >= two for one, two in pairwise(chances)):
            return None
        order = "margins (threshold - score)" if self.question.asked == "relation" else "scores"
        return f"In the order of {order}; probabilities also weigh what is known, and order the answers differently."


def frame_of(answers: Iterable[Answers]) -> pa.Table:
    """Return the answers to many questions as one Arrow table."""
    return pa.Table.from_pylist([row for each in answers for row in each.rows()], SCHEMA)
