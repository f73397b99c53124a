"""What clients send and get, as OpenAPI describes it.

The server sends the reports of `transa.inference.reports`, the same as `--json` of the commands, and makes no other form of them.
These classes describe them; tests hold every answer of the server to its description.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from transa.choices import Side
from transa.inference.answers import Prediction
from transa.inference.check import Checked
from transa.inference.explain import About, Rank, Support, Without
from transa.inference.neighbours import Neighbour
from transa.inference.reasons import Against, Fact, Similar
from transa.inference.texts import WordEffect
from transa.inference.verdicts import Said
from transa.server.limits import ANSWERS, BATCH, NAME, TOP

Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME)]
Place = Literal["head", "relation", "tail"]


class Sent(BaseModel):
    """What a client sends: nothing but the fields."""

    model_config = ConfigDict(extra="forbid")


class Got(BaseModel):
    """What a client gets: nothing but the fields."""

    model_config = ConfigDict(extra="forbid")


class Error(Got):
    """Why a request was not served."""

    error: str


# ---------------------------------------------------------------------- questions


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


class TripleSent(Sent):
    """A triple by keys or whole names."""

    head: Name
    relation: Name
    tail: Name


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


# ---------------------------------------------------------------------- the graph


class Item(Got):
    """An entity or a relation, and in how many training triples it stands."""

    id: int
    key: str
    name: str
    triples: int


class Items(Got):
    """A page of a search."""

    run: str
    total: int
    items: list[Item]


class Facts(Got):
    """A page of known facts, of all splits."""

    total: int
    facts: list[Fact]


class EntityGot(Item):
    """An entity with its facts."""

    run: str
    description: str | None
    types: list[str]
    out: Facts
    in_: Annotated[Facts, Field(alias="in")]


class RelationGot(Item):
    """A relation with its counts in train, its threshold and some of its training triples."""

    run: str
    description: str | None
    category: Literal["1-1", "1-N", "N-1", "N-N"]
    tails_per_head: float
    heads_per_tail: float
    loops: float
    threshold: float | None
    domain: list[str]
    range: list[str]
    examples: list[Fact]


class MapGot(Got):
    """All entities in the plane, in the order of their ids; `type` holds positions in `types`, -1 for none."""

    run: str
    explained: list[float] | None
    x: list[float]
    y: list[float]
    degree: list[int]
    type: list[int] | None
    types: list[str] | None


class MetricGot(Got):
    """What `transa weights --relation NAME --json` prints."""

    run: str
    model: str
    dim: int
    n: int
    positive_definite: int
    non_negative: int
    median_weight_difference: float | None
    relations: list[dict[str, Any]]


# ---------------------------------------------------------------------- runs and verdicts


class RunGot(Got):
    """A run."""

    run: str
    model: str
    label: str
    dim: int
    entities: int
    relations: int
    train: int
    valid: int
    test: int
    probabilities: bool
    metric: bool
    vectors: bool
    types: bool


class RunsGot(Got):
    """All runs."""

    version: str
    runs: list[RunGot]


class Epoch(Got):
    """A line of the training log."""

    epoch: int
    loss: float
    validation: float | None


class FiguresGot(RunGot):
    """A run with its settings and its training."""

    recipe: dict[str, Any]
    training: dict[str, Any] | None
    curve: list[Epoch]


class EvaluationGot(BaseModel):
    """What `transa evaluate --no-rules --json` or `transa classify --json` prints, without the time it took."""

    run: str


class ReviewGot(Got):
    """Facts without a verdict: the most probable new ones, or the least probable known ones."""

    run: str
    kind: Literal["new", "doubtful"]
    total: int
    triples: list[Checked]


class VerdictSent(TripleSent):
    """What somebody says of a triple."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"head": "virus", "relation": "causes", "tail": "disease_or_syndrome", "verdict": "accept", "by": "Ada"}
            ]
        },
    )

    verdict: Said
    by: Annotated[str, Field(max_length=200)] | None = None
    note: Annotated[str, Field(max_length=2_000)] | None = None


class VerdictGot(Got):
    """A verdict as it is kept."""

    head: str
    relation: str
    tail: str
    verdict: Said
    probability: float | None
    known: bool
    by: str | None
    note: str | None
    time: str


class VerdictsGot(Got):
    """The verdicts that count."""

    run: str
    accepted: int
    rejected: int
    verdicts: list[VerdictGot]


class Health(Got):
    """Whether the server runs."""

    status: Literal["ok"]


class Ready(Got):
    """Whether every run can be asked."""

    ready: bool
    runs: dict[str, bool]
