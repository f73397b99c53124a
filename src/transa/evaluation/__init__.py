"""Evaluation: link prediction and triple classification."""

from transa.evaluation.classification import accuracy
from transa.evaluation.link_prediction import LinkPrediction, link_prediction

__all__ = ["LinkPrediction", "accuracy", "link_prediction"]
