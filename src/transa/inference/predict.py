"""The missing head, tail or relation of a triple, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import Vocabulary
from transa.errors import InputError
from transa.evaluation.queries import Side
from transa.inference.answers import PLACES, Answers, Prediction, Question
from transa.inference.search import best, outside_of
from transa.inference.trained import Trained
from transa.models.loop_prior import barred_triples


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
        Only entities whose types fit the relation, if the graph says which do; otherwise those that train has on that side.
    loop_prior
        Whether to rule out answers from an entity to itself at all.
    """
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    trained = trained if loop_prior else trained.without_loop_prior
    ids = ids_of(trained, questions)
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


def ids_of(trained: Trained, questions: Sequence[Question]) -> npt.NDArray[np.int64]:
    """Return the ids that questions name, with 0 in the place of what they ask for; `InputError` if there is no such name."""
    many = len(questions) > 1
    return np.array([_ids(trained, question, number * many) for number, question in enumerate(questions, start=1)])


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
    outside = {each: _unfit(trained, side, each) if in_range else every[:0] for each in np.unique(relations).tolist()}
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


def _unfit(trained: Trained, side: Side, relation: int) -> npt.NDArray[np.int32]:
    """Return the entities that do not belong on a side of a relation: by the graph's types, or else by train."""
    types = trained.graph.types
    if types is None or not len(types.allowed(relation, side)):
        return outside_of(trained, side, relation)
    return np.flatnonzero(~types.fitting(relation, side)).astype(np.int32)


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
