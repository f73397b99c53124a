"""Entities and relations as people type them: by key, by name, in upper or lower case, or by the first letters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from transa.data import KnowledgeGraph, Vocabulary
from transa.errors import InputError, quote, suggest
from transa.models import Model

#: How many candidates a message lists.
LISTED = 8


def relation_rows(model: Model, graph: KnowledgeGraph) -> Vocabulary:
    """Return the names of the rows of relation tables: the relations, and if the model is directional their inverses."""
    return graph.relations.with_inverses() if model.directional else graph.relations


class Names:
    """Finds entities or relations by what a person types.

    Parameters
    ----------
    vocabulary
        The keys and readable names.
    kind
        ``"entity"`` or ``"relation"``: how messages call them.
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
        """Ids by key and by readable name, both in lower case."""
        found: dict[str, list[int]] = {}
        for position, key in enumerate(self.vocabulary):
            found.setdefault(key.casefold(), []).append(position)
        for name, positions in self._named.items():
            known = found.setdefault(name.casefold(), [])
            known += [position for position in positions if position not in known]
        return found

    def id(self, text: str) -> int:
        """Return the id whose key is `text`; or else the only one of this name, of this name in any case, or with these first letters.

        Raises
        ------
        InputError
            If no name fits, or more than one; the message lists candidates.
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
        """Return the id whose key is `text`, or the only one of this readable name, or None."""
        if text in self.vocabulary:
            return self.vocabulary.id(text)
        found = self._named.get(text, [])
        return found[0] if len(found) == 1 else None

    def _called(self, text: str) -> Iterator[list[int]]:
        """Yield the ids of exactly this name, of this name in any case, and of names that begin with it."""
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
        """Return all names, if there are only a few."""
        return (
            f"; there are {self._listed(list(range(len(self.vocabulary))))}" if len(self.vocabulary) <= LISTED else ""
        )

    def shown(self, position: int) -> str:
        """Return the key, followed by the readable name if there is another."""
        key, name = self.vocabulary[position], self.vocabulary.name(position)
        return repr(key) if key == name else f"{key!r} ({name})"
