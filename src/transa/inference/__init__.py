"""Inference: questions to a trained model."""

from transa.inference.answers import Answers, Prediction, Question
from transa.inference.check import Checked, Checks, check
from transa.inference.confidence import Confidence
from transa.inference.discover import discover, doubtful
from transa.inference.explain import Explanation, explain
from transa.inference.export import export
from transa.inference.extend import Extended, extend
from transa.inference.neighbours import Neighbour, Neighbours, neighbours
from transa.inference.predict import answer
from transa.inference.trained import Trained

__all__ = [
    "Answers",
    "Checked",
    "Checks",
    "Confidence",
    "Explanation",
    "Extended",
    "Neighbour",
    "Neighbours",
    "Prediction",
    "Question",
    "Trained",
    "answer",
    "check",
    "discover",
    "doubtful",
    "explain",
    "export",
    "extend",
    "neighbours",
]
