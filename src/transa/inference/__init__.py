"""Inference: questions to a trained model."""

from transa.inference.answers import Answers, Prediction, Question
from transa.inference.audit import Audit, Doubt, audit
from transa.inference.check import Checked, Checks, check
from transa.inference.complete import Completion, NewFact, complete
from transa.inference.confidence import Confidence
from transa.inference.constraint_files import read_constraints
from transa.inference.discover import discover, doubtful
from transa.inference.explain import Explanation, explain
from transa.inference.export import export
from transa.inference.extend import Extended, extend
from transa.inference.neighbours import Neighbour, Neighbours, neighbours
from transa.inference.predict import answer
from transa.inference.texts import NewTexts
from transa.inference.trained import Trained

__all__ = [
    "Answers",
    "Audit",
    "Checked",
    "Checks",
    "Completion",
    "Confidence",
    "Doubt",
    "Explanation",
    "Extended",
    "Neighbour",
    "Neighbours",
    "NewFact",
    "NewTexts",
    "Prediction",
    "Question",
    "Trained",
    "answer",
    "audit",
    "check",
    "complete",
    "discover",
    "doubtful",
    "explain",
    "export",
    "extend",
    "neighbours",
    "read_constraints",
]
