"""Whether given triples are true: their scores, thresholds and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from transa.data.graph import Triples
from transa.data.places import Places
from transa.data.triple_table import rows_of
from transa.errors import InputError
from transa.inference.results import Results
from transa.inference.rows import Skipped, understood
from transa.inference.trained import Trained, state_of
from transa.models.loop_prior import barred_triples
from transa.readable import called
from transa.table import Table, figure


@dataclass(frozen=True)
class Checked:
    """What a model says about one triple.

    Attributes
    ----------
    head, relation, tail
        Keys.
    score, threshold
        The model says true if the score is below the threshold of the relation. The score of a directional model is the mean of both
        directions.
    decision
        What the model says; None, like threshold and probability, if the graph has no validation triples. A loop that the loop prior
        bars is false.
    probability
        If valid has labels, the probability that the triple is true where triples are mixed like these. Otherwise the probability
        of the tail as an answer to (head, relation, ?), see `transa.inference.answer_chances`; of a known fact, as if it were new.
    known
        Whether the graph holds the triple, in any split.
    note
        Why the triple is false whatever its score (it is a loop that the loop prior bars), that the graph labels it false, or why it
        has no probability. None for all other triples.
    head_name, relation_name, tail_name
        Readable names.
    """

    head: str
    relation: str
    tail: str
    score: float
    threshold: float | None
    decision: bool | None
    probability: float | None
    known: bool
    note: str | None = None
    head_name: str = ""
    relation_name: str = ""
    tail_name: str = ""

    def names(self, *, full: bool = False) -> tuple[str, str, str]:
        """Return head, relation and tail as people read them; `full` shows IRIs in full."""
        return (
            called(self.head, self.head_name or self.head, full=full),
            called(self.relation, self.relation_name or self.relation, full=full),
            called(self.tail, self.tail_name or self.tail, full=full),
        )


SCHEMA = pa.schema(
    [
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("score", pa.float64()),
        ("threshold", pa.float64()),
        ("decision", pa.bool_()),
        ("probability", pa.float64()),
        ("known", pa.bool_()),
        ("note", pa.string()),
        *((f"{place}_name", pa.string()) for place in ("head", "relation", "tail")),
    ]
)


@dataclass(frozen=True, repr=False)
class Checks(Results[Checked]):
    """What a model says about some triples, in their order."""

    field_of_rows: ClassVar[str] = "checked"
    schema: ClassVar[pa.Schema] = SCHEMA

    checked: tuple[Checked, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""
        return [asdict(each) for each in self.checked]

    def table(self, *, full: bool = False) -> Table:
        """Return the triples as people read them; `full` shows IRIs in full."""
        kinds = {state_of(each) for each in self.checked}
        rows = [
            (
                *each.names(full=full),
                figure(each.probability, ".3f"),
                figure(each.score),
                figure(each.threshold),
                "-" if each.decision is None else "true" if each.decision else "false",
                *([state_of(each)] if len(kinds) > 1 else []),
            )
            for each in self.checked
        ]
        states = [""] if len(kinds) > 1 else []
        header = ("head", "relation", "tail", "prob.", "score", "threshold", "by score", *states)
        title = f"{len(self):,} triple{'s' if len(self) != 1 else ''}{f', {kinds.pop()}' if len(kinds) == 1 else ''}"
        return Table(title, header, tuple(rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the triples, each once."""
        return tuple(dict.fromkeys(each.note for each in self.checked if each.note is not None))

    def below(self, probability: float) -> list[Checked]:
        """Return the triples whose probability is lower, and those that have none for a reason of their own (their note).

        Raises
        ------
        InputError
            If there are no probabilities at all, because the graph has no validation triples.
        """
        if not 0 <= probability <= 1:
            raise InputError(f"expected a probability from 0 to 1, found {probability}")
        if any(each.probability is None and each.note is None for each in self.checked):
            raise InputError("there are no probabilities: the graph has no validation triples")
        return [each for each in self.checked if each.probability is None or each.probability < probability]


def check(trained: Trained, triples: Any) -> Checks:
    """Score triples given by name, and decide which are true.

    Parameters
    ----------
    trained
        The model that decides.
    triples
        Heads, relations and tails by key or by name, as rows, an array or a frame. Labels are ignored.
    """
    return check_ids(trained, triple_ids(trained, *rows_of(triples))[0])


def triple_ids(
    trained: Trained, rows: Sequence[tuple[str, str, str]], places: Places, *, skip_unknown: bool = False
) -> tuple[Triples, list[Skipped]]:
    """Return the ids of triples given by whole names, and the rows that were skipped because the model does not know a name."""
    found, skipped = understood(rows, lambda row: trained.whole_triple(*row), places, skip=skip_unknown)
    return np.array(found, dtype=np.int32).reshape(-1, 3), skipped


def check_ids(trained: Trained, triples: Triples, *, as_answers: bool = False) -> Checks:
    """Score triples given by id, and decide which are true; with `as_answers`, their probabilities never come from labels."""
    scores = trained.scores(triples)
    notes = trained.note_on(triples)
    probabilities: list[float | None]
    if trained.confidence is None or trained.confidence.calibrator is None or as_answers:
        probabilities = trained.probabilities("tail", triples)
    else:
        classified = trained.confidence.classified(triples[:, 1], scores)
        probabilities = [None if note else chance for chance, note in zip(classified, notes, strict=True)]
    known = trained.facts.contains(triples).tolist() if len(triples) else []
    confidence = trained.confidence
    thresholds = [None] * len(triples) if confidence is None else confidence.threshold(triples[:, 1]).tolist()
    entities, relations = trained.graph.entities, trained.graph.relations
    checked = [
        Checked(
            *(entities[head], relations[relation], entities[tail], score, threshold),
            *(None if threshold is None else score < threshold, probability, held, note),
            *(entities.name(head), relations.name(relation), entities.name(tail)),
        )
        for (head, relation, tail), score, threshold, probability, held, note in zip(
            triples.tolist(), scores.tolist(), thresholds, probabilities, known, notes, strict=True
        )
    ]
    for row in np.flatnonzero(barred_triples(trained.model, triples)).tolist():
        why = trained.why_barred(int(triples[row, 1]))
        checked[row] = replace(checked[row], decision=False, probability=None, note=why)
    return Checks(tuple(checked))
