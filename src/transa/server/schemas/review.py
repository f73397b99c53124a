"""The bodies of facts to review and of what people said of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from transa.inference.check import Checked
from transa.inference.verdicts import Said
from transa.server.schemas.common import Got, TripleSent


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
