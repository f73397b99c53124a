"""Close spellings by edit distance, against the plain table."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transa.data import Vocabulary
from transa.server.lookup import LENGTH, Lookup, edits


def plain(one: str, two: str) -> int:
    row = list(range(len(two) + 1))
    for place, letter in enumerate(one, start=1):
        before, row = row, [place]
        for column, other in enumerate(two, start=1):
            row.append(min(before[column - 1] + (letter != other), before[column] + 1, row[-1] + 1))
    return row[-1]


@given(st.text("abcä🦠", max_size=8), st.lists(st.text("abcä🦠", min_size=1, max_size=8), min_size=1, max_size=5))
def test_edits_are_those_of_the_plain_table(text: str, names: list[str]) -> None:
    letters = np.array(names, dtype=f"U{LENGTH}").view(np.uint32).reshape(len(names), LENGTH)
    assert edits(text, letters).tolist() == [plain(text, name) for name in names]


def test_order_and_names() -> None:
    names = Vocabulary(["k0", "k1", "k2", "k3"], ["New York", "York", "Duke of York", None])
    found = Lookup(names, np.array([5, 1, 9, 100]))
    assert found.find("york").tolist() == [1, 2, 0]  # whole name first, then by the number of triples
    assert found.find("K3").tolist() == [3] and found.find("yorc").tolist() == [1]
    assert found.find(" ").tolist() == [3, 2, 0, 1] and found.find("zzzzzzzz").tolist() == []
