"""The missing head, tail or relation of a triple, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data import Vocabulary
from transa.data.places import Places
from transa.data.vocabulary import as_name
from transa.errors import InputError
from transa.evaluation.queries import Side
from transa.inference.results import Results, Table, figure
from transa.inference.rows import Skipped, understood
from transa.inference.search import best, outside_of
from transa.inference.trained import Trained, state_of
from transa.models.loop_prior import barred_triples
from transa.readable import called

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


def answer(
    trained: Trained,
    questions: Sequence[Question],
    *,
    top: int = 10,
    new_only: bool = False,
    in_range: bool = False,
    loop_prior: bool = True,
) -> list[Answers]:
    """Answer many questions at once.

    An entity is no answer to a question about itself where the model's loop prior bars it, nor where the relation has hardly any
    triples from an entity to itself in train (`Trained.answers_itself`), unless the graph holds this very triple.

    Parameters
    ----------
    trained
        The model that answers.
    questions
        Names are found as `transa.inference.names.Names` says.
    top
        How many answers to each question, at most.
    new_only
        Leave out triples that the graph holds.
    in_range
        Only entities that train has on that side of the relation.
    loop_prior
        Whether to rule out answers from an entity to itself at all.
    """
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    trained = trained if loop_prior else trained.without_loop_prior
    many = len(questions) > 1
    ids = np.array([_ids(trained, question, number * many) for number, question in enumerate(questions, start=1)])
    found: list[Answers | None] = [None] * len(questions)
    for asked in PLACES:
        rows = [row for row, question in enumerate(questions) if question.asked == asked]
        if rows and asked == "relation":
            for row in rows:
                found[row] = _relations(trained, ids[row], top, new_only)
        elif rows:
            side: Side = "head" if asked == "head" else "tail"
            for row, answers in zip(rows, _entities(trained, side, ids[rows], top, new_only, in_range), strict=True):
                found[row] = answers
    return [answers for answers in found if answers is not None]


def _ids(trained: Trained, question: Question, number: int) -> list[int]:
    names = (trained.entities, trained.relations, trained.entities)
    given = (question.head, question.relation, question.tail)
    try:
        return [0 if text is None else found.id(text) for found, text in zip(names, given, strict=True)]
    except InputError as error:
        raise InputError(f"question {number}: {error}" if number else str(error)) from None


def _entities(
    trained: Trained, side: Side, ids: npt.NDArray[Any], top: int, new_only: bool, in_range: bool
) -> list[Answers]:
    fixed, relations = ids[:, 2 if side == "head" else 0], ids[:, 1]
    every = np.arange(trained.model.num_entities, dtype=np.int32)
    known, denied = (
        [
            facts.heads_of(relation, entity) if side == "head" else facts.tails_of(entity, relation)
            for entity, relation in zip(fixed.tolist(), relations.tolist(), strict=True)
        ]
        for facts in (trained.facts, trained.denied)
    )
    outside = {
        each: outside_of(trained, side, each) if in_range else every[:0] for each in np.unique(relations).tolist()
    }
    left_out = []
    for entity, relation, held, false in zip(fixed.tolist(), relations.tolist(), known, denied, strict=True):
        itself = every[:0] if trained.answers_itself(relation) or entity in held else every[entity : entity + 1]
        old = [held, false] if new_only else []
        left_out.append(np.unique(np.concatenate([outside[relation], *old, itself])))
    answers, scores = best(trained.ranker, side, fixed, relations, min(top, len(every)), left_out)
    row_of, place = np.nonzero(answers >= 0)
    triples = ids[row_of].astype(np.int32)
    triples[:, 0 if side == "head" else 2] = answers[row_of, place]
    probabilities, notes = trained.probabilities(side, triples), trained.note_on(triples)
    found = []
    for row, entities in enumerate(answers):
        kept, mine = entities >= 0, slice(*np.searchsorted(row_of, (row, row + 1)).tolist())
        triple = [None if column == {"head": 0, "tail": 2}[side] else int(ids[row, column]) for column in range(3)]
        found.append(
            _answers(
                trained,
                triple,
                trained.graph.entities,
                entities[kept],
                scores[row, kept],
                list(zip(probabilities[mine], notes[mine], strict=True)),
                set(known[row].tolist()),
            )
        )
    return found


def _relations(trained: Trained, ids: npt.NDArray[Any], top: int, new_only: bool) -> Answers:
    """Answer (head, ?, tail) in the order of margins, since scores of two relations do not compare."""
    triples = np.repeat(ids[None].astype(np.int32), trained.model.graph_relations, axis=0)
    triples[:, 1] = np.arange(len(triples))
    known = trained.facts.contains(triples)
    scores = trained.scores(triples)
    order = np.argsort(-trained.margins(triples, scores), kind="stable")
    old = known | trained.denied.contains(triples)
    barred = barred_triples(trained.model, triples)
    if ids[0] == ids[2]:
        barred |= ~known & ~np.array([trained.answers_itself(relation) for relation in range(len(triples))])
    order = order[~(old[order] & new_only) & ~barred[order]]
    chosen = order[:top]
    said = list(zip(trained.probabilities("tail", triples[chosen]), trained.note_on(triples[chosen]), strict=True))
    held = set(np.flatnonzero(known).tolist())
    triple = [int(ids[0]), None, int(ids[2])]
    return _answers(trained, triple, trained.graph.relations, chosen, scores[chosen], said, held)


def _answers(
    trained: Trained,
    triple: Sequence[int | None],
    names: Vocabulary,
    ids: npt.NDArray[Any],
    scores: npt.NDArray[np.float64],
    said: list[tuple[float | None, str | None]],
    known: set[int],
) -> Answers:
    vocabularies = (trained.graph.entities, trained.graph.relations, trained.graph.entities)
    given = list(zip(vocabularies, triple, strict=True))
    keys = [None if each is None else vocabulary[each] for vocabulary, each in given]
    readable = [None if each is None else vocabulary.name(each) for vocabulary, each in given]
    rows = zip(ids.tolist(), scores.tolist(), said, strict=True)
    return Answers(
        Question(*keys),
        tuple(
            Prediction(names[each], names.name(each), score, each in known, *both, place)
            for place, (each, score, both) in enumerate(rows, start=1)
        ),
        Question(*readable),
    )


def whole_questions(
    trained: Trained, questions: Iterable[Question], *, skip_unknown: bool = False
) -> tuple[list[Question], list[Skipped]]:
    """Return questions with keys in the place of names, as a file has them: whole. Skip those with unknown names, if asked to."""
    entities, relations = trained.entities, trained.relations

    def with_keys(question: Question) -> Question:
        head, relation, tail = (
            None if text is None else names.vocabulary[names.whole(text)]
            for names, text in ((entities, question.head), (relations, question.relation), (entities, question.tail))
        )
        return Question(head, relation, tail)

    return understood(questions, with_keys, Places(unit="question"), skip=skip_unknown)


def read_questions(path: Path) -> list[Question]:
    """Read questions from a .csv, .tsv or .parquet file with columns head, relation and tail, one of which is empty in each row.

    Raises
    ------
    InputError
        If a column is missing, or a row does not leave exactly one of them empty.
    """
    from transa.data.name_files import read_columns

    questions = []
    for line, row in read_columns(path, PLACES):
        try:
            questions.append(Question(*(row[place] or None for place in PLACES)))
        except InputError as error:
            raise InputError(str(error), path=path, line=line, unit="row") from None
    return questions
