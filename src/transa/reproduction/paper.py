"""The figures that the paper prints, from `paper.toml`. None of them was measured here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

#: The test triples of FB15K by category that we assume for the paper: from train, valid and test, with N above 1.5.
PAPER_CATEGORY_COUNTS = {"1-1": 846, "1-N": 5275, "N-1": 8641, "N-N": 44309}

#: The same as this software counts them: from train alone, with N at least 1.5.
OUR_CATEGORY_COUNTS = {"1-1": 963, "1-N": 5645, "N-1": 9332, "N-N": 43131}


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((resources.files("transa.reproduction") / "paper.toml").read_text("utf-8"))


def printed(table: str, dataset: str, system: str | None = None) -> Any:
    """Return what a table of the paper prints for a dataset, or for a system on it; None where it prints nothing."""
    found = _tables().get(table, {}).get(dataset)
    return found if system is None or found is None else found.get(system)


def implied_sides(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the Hits@10 of TransA on FB15K by side: the mean of the categories of Table 3, weighted by their test triples."""
    row = printed("table3", "fb15k", "transa")

    def mean(values: list[float]) -> float:
        return sum(value * count for value, count in zip(values, counts.values(), strict=True)) / sum(counts.values())

    head, tail = mean(row[:4]), mean(row[4:])
    return {"head": head, "tail": tail, "both": (head + tail) / 2}
