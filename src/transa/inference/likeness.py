"""Names that are nearly those of others: what to tell whoever adds entities to a graph."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from transa.data import Vocabulary
from transa.errors import quote
from transa.inference.names import Names

#: How many names a note lists.
LISTED = 3

_BETWEEN = re.compile(r"[\W_]+")


def notes_on_case(names: Names, called: dict[str, int]) -> Iterator[str]:
    """Say which names were taken for entities that are written in another case."""
    keys = names.vocabulary
    other = [
        f"{quote(text)} for {names.shown(found)}"
        for text, found in called.items()
        if text not in (keys[found], keys.name(found))
    ]
    if other:
        yield f"names in another case were taken for known entities: {_listed(other)}"


def notes_on_likeness(vocabulary: Vocabulary, new: Iterable[str]) -> Iterator[str]:
    """Say which new names differ from known ones, or from each other, in nothing but case, spaces and punctuation."""
    alike: dict[str, list[str]] = {}
    for name in sorted(new):
        form = plain_form(name)
        if form:
            alike.setdefault(form, []).append(name)
    if not alike:
        return
    known: dict[str, str] = {}
    for column in (vocabulary.keys, vocabulary.names):
        for text in [] if column is None else column.to_pylist():
            if text is not None and (form := plain_form(text)) in alike:
                known.setdefault(form, text)
    pairs = [
        f"{quote(name)} like {quote(known.get(form, names[0]))}"
        for form, names in alike.items()
        for name in (names if form in known else names[1:])
    ]
    if pairs:
        yield f"new entities look like others, and are kept apart from them: {_listed(pairs)}"


def plain_form(name: str) -> str:
    """Return a name in lower case, with a space wherever it has other characters than letters and digits."""
    return _BETWEEN.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def _listed(texts: list[str]) -> str:
    return ", ".join(texts[:LISTED]) + (f", … ({len(texts):,} in all)" if len(texts) > LISTED else "")
