"""Inference: what a trained model predicts."""

from transa.inference.predict import Prediction, predict

__all__ = ["Prediction", "predict"]
