"""What clients send and get, as OpenAPI describes it.

The server sends the reports of `transa.inference.reports`, the same as `--json` of the commands, and makes no other form of them.
These classes describe them; tests hold every answer of the server to its description.
"""

from transa.server.schemas.common import Error, Got, Sent, TripleSent
from transa.server.schemas.graph import EntityGot, Facts, Item, Items, MapGot, MetricGot, RelationGot
from transa.server.schemas.questions import (
    AnswersGot,
    CheckGot,
    CheckSent,
    Dimension,
    DiscoverGot,
    ExplainGot,
    NeighboursGot,
    PathGot,
    PredictGot,
    PredictSent,
    QuestionGot,
    QuestionSent,
    RuleGot,
    SkippedGot,
)
from transa.server.schemas.review import ReviewGot, VerdictGot, VerdictSent, VerdictsGot
from transa.server.schemas.runs import Epoch, EvaluationGot, FiguresGot, Health, Ready, RunGot, RunsGot

__all__ = [
    "AnswersGot",
    "CheckGot",
    "CheckSent",
    "Dimension",
    "DiscoverGot",
    "EntityGot",
    "Epoch",
    "Error",
    "EvaluationGot",
    "ExplainGot",
    "Facts",
    "FiguresGot",
    "Got",
    "Health",
    "Item",
    "Items",
    "MapGot",
    "MetricGot",
    "NeighboursGot",
    "PathGot",
    "PredictGot",
    "PredictSent",
    "QuestionGot",
    "QuestionSent",
    "Ready",
    "RelationGot",
    "ReviewGot",
    "RuleGot",
    "RunGot",
    "RunsGot",
    "Sent",
    "SkippedGot",
    "TripleSent",
    "VerdictGot",
    "VerdictSent",
    "VerdictsGot",
]
