"""The bodies of questions: predict, check, discover, explain, neighbours."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from transa.choices import Side
from transa.inference.answers import Prediction
from transa.inference.check import Checked
from transa.inference.explain import About, Rank, Support, Without
from transa.inference.neighbours import Neighbour
from transa.inference.reasons import Against, Fact, Similar
from transa.inference.texts import WordEffect
from transa.server.limits import ANSWERS, BATCH, TOP
from transa.server.schemas.common import Got, Name, Sent, TripleSent

Place = Literal["head", "relation", "tail"]


class QuestionSent(Sent):
    """Two of the three, by key, by name, or by its beginning; the third is asked for."""

    head: Name | None = None
    relation: Name | None = None
    tail: Name | None = None

    @model_validator(mode="after")
    def _two_are_given(self) -> QuestionSent:
        if sum(each is None for each in (self.head, self.relation, self.tail)) != 1:
            raise ValueError("expected two of head, relation and tail, the third being asked for")
        return self


class PredictSent(Sent):
    """Questions, and how to answer them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"questions": [{"head": "virus", "relation": "causes"}], "top": 3}]},
    )

    questions: Annotated[list[QuestionSent], Field(min_length=1, max_length=BATCH)]
    top: Annotated[int, Field(ge=1, le=TOP)] = 10
    new_only: bool = False
    in_range: bool = False
    loop_prior: bool = True

    @model_validator(mode="after")
    def _few_answers(self) -> PredictSent:
        if len(self.questions) * self.top > ANSWERS:
            raise ValueError(f"expected at most {ANSWERS:,} answers in all: questions x top")
        return self


class QuestionGot(Got):
    """A question with keys; the one that is null was asked for."""

    head: str | None
    relation: str | None
    tail: str | None


class AnswersGot(Got):
    """The answers to a question, the most plausible first."""

    question: QuestionGot
    asked: Place
    answers: list[Prediction]


class SkippedGot(Got):
    """A row that was left out."""

    row: int
    reason: str
    line: int | None


class PredictGot(Got):
    """What `transa predict --json` prints."""

    run: str
    notes: list[str]
    skipped: list[SkippedGot]
    questions: list[AnswersGot]


class CheckSent(Sent):
    """Triples."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"triples": [{"head": "virus", "relation": "causes", "tail": "disease_or_syndrome"}]}]
        },
    )

    triples: Annotated[list[TripleSent], Field(min_length=1, max_length=BATCH)]


class CheckGot(Got):
    """What `transa check --json` prints."""

    run: str
    notes: list[str]
    skipped: list[SkippedGot]
    below: int
    triples: list[Checked]


class DiscoverGot(Got):
    """A line of the stream: how many (head, relation, ?) have been searched, and at last what `transa discover --json` prints."""

    searched: int | None = None
    of: int | None = None
    run: str | None = None
    notes: list[str] | None = None
    triples: list[Checked] | None = None
    error: str | None = None


class PathGot(Got):
    """Training triples that lead from head to tail."""

    text: str
    facts: list[Fact]
    forward: list[bool]


class RuleGot(Got):
    """A rule that speaks for a triple."""

    text: str
    rule: str
    holds: int
    cases: int
    confidence: float
    path: dict[str, Any]


class Dimension(Got):
    """What a dimension adds to the score."""

    dimension: int
    value: float
    part: float
    weight: float | None = None


class ExplainGot(Got):
    """What `transa explain --json` prints."""

    run: str
    notes: list[str]
    sentence: str
    head: str
    relation: str
    tail: str
    score: float
    threshold: float | None
    decision: bool | None
    probability: float | None
    known: bool
    note: str | None
    head_name: str
    relation_name: str
    tail_name: str
    splits: list[str]
    asked: Side
    like_head: list[Similar]
    like_tail: list[Similar]
    paths: list[PathGot]
    against: list[Against]
    rules: list[RuleGot]
    about_head: About
    about_tail: About
    words: list[WordEffect]
    support: list[Support]
    head_rank: Rank
    tail_rank: Rank
    answers: list[Prediction]
    without_metric: Without | None
    dimensions_of: str
    dimensions: list[Dimension]
    residual_of: str
    residual: list[Dimension]
    total: float


class NeighboursGot(Got):
    """What `transa neighbours --json` prints."""

    run: str
    entity: str
    relation: str | None
    measure: str
    neighbours: list[Neighbour]
