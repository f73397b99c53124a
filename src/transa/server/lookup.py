"""Search as one types: entities or relations whose name or key begins with a text, contains it, or is spelled like it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transa.data import Vocabulary

#: Names are compared letter by letter up to this length, and if there are no more than so many.
LENGTH, COMPARED = 40, 200_000

Ids = npt.NDArray[np.int64]


class Lookup:
    """Finds entities or relations by a part of their names.

    Parameters
    ----------
    vocabulary
        Keys and names.
    degrees
        In how many triples each stands; those in more come first.
    """

    def __init__(self, vocabulary: Vocabulary, degrees: npt.NDArray[np.int64]) -> None:
        self.vocabulary = vocabulary
        self.degrees = degrees

    def find(self, text: str) -> Ids:
        """Return the ids that fit a text, the best first; a blank text fits all."""
        wanted = text.casefold().strip()
        if not wanted:
            return self._order
        grade = np.full(len(self.vocabulary), 4, np.int8)
        for column in self._folded:
            for better, fits in enumerate((pc.equal(column, wanted), pc.starts_with(column, wanted))):
                grade[np.asarray(fits) & (grade > better)] = better
            grade[np.asarray(pc.match_substring(column, wanted)) & (grade > 2)] = 2
        if not (grade < 4).any() and len(grade) <= COMPARED:
            grade[self._alike(wanted)] = 3
        found = np.flatnonzero(grade < 4)
        return found[np.lexsort((found, -self.degrees[found], grade[found]))]

    @cached_property
    def _order(self) -> Ids:
        return np.argsort(-self.degrees, kind="stable")

    @cached_property
    def _folded(self) -> list[pa.Array]:
        """Keys and readable names in lower case."""
        keys = [key.casefold() for key in self.vocabulary]
        names = [self.vocabulary.name(each).casefold() for each in range(len(self.vocabulary))]
        return [pa.array(column, pa.large_string()) for column in ([keys] if keys == names else [keys, names])]

    @cached_property
    def _letters(self) -> npt.NDArray[np.uint32]:
        """The names as numbers of letters, a row for each, filled up with 0."""
        names = np.array(self._folded[-1].to_pylist(), dtype=f"U{LENGTH}")
        return names.view(np.uint32).reshape(len(names), LENGTH)

    def _alike(self, text: str) -> Ids:
        """Return the ids whose name is the fewest edits away from a text, if these are no more than a third of its letters."""
        away = edits(text[:LENGTH], self._letters)
        nearest = int(away.min(initial=LENGTH))
        return np.flatnonzero(away == nearest) if nearest <= max(1, (len(text) + 1) // 3) else np.empty(0, np.int64)


def edits(text: str, names: npt.NDArray[np.uint32]) -> npt.NDArray[np.int16]:
    """Return how many letters must be put in, taken out or replaced to turn a text into each of the names (Levenshtein).

    This is the usual table, made for all names at once. What is put in goes along its rows, where a running minimum takes the place
    of a loop: min over k <= j of (best[k] + j - k).
    """
    lengths = np.count_nonzero(names, axis=1)
    steps = np.arange(names.shape[1] + 1, dtype=np.int16)
    row = np.broadcast_to(steps, (len(names), len(steps)))
    for place, letter in enumerate(text, start=1):
        best = np.empty_like(row, order="C")
        best[:, 0] = place
        best[:, 1:] = np.minimum(row[:, :-1] + (names != ord(letter)), row[:, 1:] + 1)
        row = np.minimum.accumulate(best - steps, axis=1) + steps
    found: npt.NDArray[np.int16] = row[np.arange(len(names)), lengths]
    return found
