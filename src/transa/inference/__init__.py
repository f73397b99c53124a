"""Inference: what a trained model predicts."""

from transa.inference.check import Checked, Checks, check
from transa.inference.confidence import Confidence
from transa.inference.discover import discover, doubtful
from transa.inference.predict import Answers, Prediction, Question, answer, predict
from transa.inference.trained import Trained

__all__ = [
    "Answers",
    "Checked",
    "Checks",
    "Confidence",
    "Prediction",
    "Question",
    "Trained",
    "answer",
    "check",
    "discover",
    "doubtful",
    "predict",
]
