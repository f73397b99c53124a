"""The search for settings that suit a graph, by Optuna (extra ``transa[tune]``)."""

from transa.tuning.search import tune
from transa.tuning.study import Attempt, Tuned

__all__ = ["Attempt", "Tuned", "tune"]
