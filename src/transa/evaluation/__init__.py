"""Evaluation: link prediction, triple classification and calibration."""

from transa.evaluation.calibration import Calibrator
from transa.evaluation.classification import Classification, classify
from transa.evaluation.evaluation import Evaluation, evaluate
from transa.evaluation.link_prediction import LinkPrediction, link_prediction
from transa.evaluation.thresholds import accuracy

__all__ = [
    "Calibrator",
    "Classification",
    "Evaluation",
    "LinkPrediction",
    "accuracy",
    "classify",
    "evaluate",
    "link_prediction",
]
