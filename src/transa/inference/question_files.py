"""Files of questions: reading them, and what their names mean to a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transa.data.name_files import read_columns
from transa.data.places import Places
from transa.errors import InputError
from transa.inference.answers import PLACES, Question
from transa.inference.rows import Skipped, understood
from transa.inference.trained import Trained


def read_questions(path: Path) -> tuple[list[Question], Places]:
    """Read questions from a .csv, .tsv or .parquet file with columns head, relation and tail, one of which is empty in each row.

    Raises
    ------
    InputError
        If a column is missing, or a row does not leave exactly one of them empty.
    """
    rows, places = read_columns(path, PLACES)
    questions = []
    for number, row in enumerate(rows):
        try:
            questions.append(Question(*(row[place] or None for place in PLACES)))
        except InputError as error:
            raise places.error(error, number) from None
    return questions, places


def whole_questions(
    trained: Trained, questions: Sequence[Question], places: Places, *, skip_unknown: bool = False
) -> tuple[list[Question], list[Skipped]]:
    """Return questions with keys in the place of names, as a file has them: whole. Skip those with unknown names, if asked to."""
    entities, relations = trained.entities, trained.relations

    def with_keys(question: Question) -> Question:
        head, relation, tail = (
            None if text is None else names.vocabulary[names.whole(text)]
            for names, text in ((entities, question.head), (relations, question.relation), (entities, question.tail))
        )
        return Question(head, relation, tail)

    return understood(questions, with_keys, places, skip=skip_unknown)
