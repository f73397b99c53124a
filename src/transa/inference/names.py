"""Names as people type them: by key, by readable name, in any case, or by their beginning."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from transa.data import Vocabulary
from transa.errors import InputError, quote, suggest

#: How many candidates a message lists.
LISTED = 8


class Names:
    """Finds entities or relations by what a person calls them.

    Parameters
    ----------
    vocabulary
        The keys and readable names.
    kind
        ``"entity"`` or ``"relation"``, for messages.
    """

    def __init__(self, vocabulary: Vocabulary, kind: str) -> None:
        self.vocabulary = vocabulary
        self.kind = kind

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """Ids by readable name."""
        found: dict[str, list[int]] = {}
        names = [] if self.vocabulary.names is None else self.vocabulary.names.to_pylist()
        for position, name in enumerate(names):
            if name is not None:
                found.setdefault(name, []).append(position)
        return found

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """Ids by key and by readable name, both without case."""
        found: dict[str, list[int]] = {}
        for position, key in enumerate(self.vocabulary):
            found.setdefault(key.casefold(), []).append(position)
        for name, positions in self._named.items():
            known = found.setdefault(name.casefold(), [])
            known += [position for position in positions if position not in known]
        return found

    def id(self, text: str) -> int:
        """Return the id of the key `text`, or else of the one thing that is called so, in any case, or whose name begins so.

        Raises
        ------
        InputError
            If nothing or more than one thing is called so; the message lists candidates.
        """
        if text in self.vocabulary:
            return self.vocabulary.id(text)
        for found in self._called(text):
            if len(found) == 1:
                return found[0]
            if found:
                raise InputError(f"{self.kind} {quote(text)} is ambiguous: {self._listed(found)}")
        near = suggest(text, [*self._named, *self.vocabulary]) if len(self._folded) <= 200_000 else ""
        raise InputError(f"unknown {self.kind} {quote(text)}{near or self._few()}")

    def exact(self, text: str) -> int | None:
        """Return the id of a key, or of the one thing of that readable name, or None."""
        if text in self.vocabulary:
            return self.vocabulary.id(text)
        found = self._named.get(text, [])
        return found[0] if len(found) == 1 else None

    def _called(self, text: str) -> Iterator[list[int]]:
        """Yield what is called so exactly, in any case, and what begins so."""
        folded = text.casefold().strip()
        yield self._named.get(text, [])
        yield self._folded.get(folded, [])
        yield self._starting(folded)

    def _starting(self, folded: str) -> list[int]:
        if not folded:
            return []
        return sorted({each for name, ids in self._folded.items() if name.startswith(folded) for each in ids})

    def _listed(self, found: list[int]) -> str:
        shown = ", ".join(self.shown(position) for position in found[:LISTED])
        return f"{shown}, … ({len(found):,} in all)" if len(found) > LISTED else shown

    def _few(self) -> str:
        """Return the names themselves where there are only a few."""
        return (
            f"; there are {self._listed(list(range(len(self.vocabulary))))}" if len(self.vocabulary) <= LISTED else ""
        )

    def shown(self, position: int) -> str:
        """Return the key, with the readable name beside it where there is one."""
        key, name = self.vocabulary[position], self.vocabulary.name(position)
        return repr(key) if key == name else f"{key!r} ({name})"
