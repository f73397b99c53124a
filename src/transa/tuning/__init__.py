"""The search for settings that suit a graph, by Optuna (extra ``transa[tune]``)."""

from transa.tuning.outcome import Attempt, Tuned
from transa.tuning.search import tune

__all__ = ["Attempt", "Tuned", "tune"]
