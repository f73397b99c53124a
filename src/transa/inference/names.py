"""Entities and relations as people write them: by key, name or local name, in any case; in a question also by the first letters."""

from __future__ import annotations

from functools import cached_property

from transa.data import KnowledgeGraph, Vocabulary
from transa.data.vocabulary import as_name
from transa.errors import InputError, fold, quote, suggest
from transa.models import Model
from transa.readable import is_iri, short

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
    def _short(self) -> dict[str, list[int]]:
        """Ids of IRIs by short form, such as ``rdf:type`` or the local name."""
        found: dict[str, list[int]] = {}
        for position, key in enumerate(self.vocabulary):
            if is_iri(key):
                found.setdefault(short(key), []).append(position)
        return found

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """Ids by key, by readable name and by the short form of an IRI, all without case and blanks at the ends."""
        found: dict[str, list[int]] = {}
        for position, key in enumerate(self.vocabulary):
            found.setdefault(fold(key), []).append(position)
        for name, positions in (*self._named.items(), *self._short.items()):
            known = found.setdefault(fold(name), [])
            known += [position for position in positions if position not in known]
        return found

    def find(self, name: object) -> int | None:
        """Return the id whose key is `name`; or else the only one of this readable name, or with either in any case; or None.

        Blanks at the ends do not count, unless names differ only by them. An IRI also has its short form for a name
        (`transa.readable.short`).

        Raises
        ------
        InputError
            If more than one is called so, or if the name is blank.
        """
        text = as_name(name)
        if text in self.vocabulary:
            return self.vocabulary.id(text)
        called = self._named.get(text) or self._short.get(text) or self._folded.get(fold(text)) or []
        return self._only(text, called) if called else None

    def id(self, name: object) -> int:
        """Return the id that `find` returns; or else the only one whose key or name begins so, as in a question that a person types.

        Raises
        ------
        InputError
            If no name fits, or more than one; the message lists candidates.
        """
        return self._known(name)[0]

    def whole(self, name: object) -> int:
        """Return the id that `find` returns, as for the rows of a file, where nobody sees what a beginning was taken for.

        Raises
        ------
        InputError
            If no name fits, or more than one; the message lists candidates.
        """
        found, by_beginning = self._known(name)
        if by_beginning:
            raise InputError(f"unknown {self.kind} {quote(as_name(name))}, only the beginning of {self.shown(found)}")
        return found

    def _known(self, name: object) -> tuple[int, bool]:
        """Return the only id that a name or a beginning fits, and whether it is no more than a beginning."""
        found, text = self.find(name), as_name(name)
        if found is not None:
            return found, False
        beginning = self._beginning(text)
        if not beginning:
            raise InputError(self._unknown(text))
        return self._only(text, beginning), True

    def _only(self, text: str, found: list[int]) -> int:
        if len(found) > 1:
            raise InputError(f"{self.kind} {quote(text)} is ambiguous: {self._listed(found)}")
        return found[0]

    def _unknown(self, text: str) -> str:
        near = suggest(text, [*self._named, *self._short, *self.vocabulary]) if len(self._folded) <= 200_000 else ""
        return f"unknown {self.kind} {quote(text)}{near or self._few()}"

    def _beginning(self, text: str) -> list[int]:
        """Return the ids whose key or name begins with a text, in any case."""
        folded = fold(text)
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
