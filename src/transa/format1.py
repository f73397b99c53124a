"""What version 0.1 called things, so that its runs and records are still read.

Format 2 of run folders and records differs from format 1 in names alone.
"""

from __future__ import annotations

from typing import Any

#: Settings of a recipe that have another name since format 2.
SETTINGS = {
    "batch": "batch_size",
    "metric_rate": "metric_learning_rate",
    "rate": "learning_rate",
    "rounds": "epochs",
    "spread": "init_range",
    "table_rate": "table_learning_rate",
    "warm_rate": "warm_learning_rate",
    "warm_rounds": "warm_epochs",
}
_KEYS = SETTINGS | {
    "best_round": "best_epoch",
    "round": "epoch",
    "seconds_per_round": "seconds_per_epoch",
}


def upgrade(value: Any) -> Any:
    """Return what was read from a JSON file of format 1 with the names of format 2."""
    if isinstance(value, list):
        return [upgrade(each) for each in value]
    if not isinstance(value, dict):
        return value
    renamed = {_KEYS.get(key, key): upgrade(each) for key, each in value.items()}
    if renamed.get("metric_update") == "round":
        renamed["metric_update"] = "epoch"
    return renamed
