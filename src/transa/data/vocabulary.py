"""The names of entities or relations, and their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transa.errors import InputError, quote, suggest
from transa.readable import short

#: What is added to the name of a relation to name its inverse.
INVERSE = "⁻¹"


class Vocabulary:
    """The entities or the relations of a graph: position `i` holds the key of id `i`.

    A key identifies an entity or relation (``/m/027rn``). Beside it there may be a readable name (``Dominican Republic``) and a
    description. All are Arrow arrays, which are several times smaller than Python strings. The dictionary for look-ups is built when
    it is first needed.

    Parameters
    ----------
    keys
        Distinct, not blank.
    names, descriptions
        One for each key; None for a key without one.
    """

    def __init__(
        self,
        keys: Iterable[str] | pa.Array,
        names: Sequence[str | None] | pa.Array | None = None,
        descriptions: Sequence[str | None] | pa.Array | None = None,
    ) -> None:
        self.keys = _strings(keys)
        self.names = None if names is None else _strings(names)
        self.descriptions = None if descriptions is None else _strings(descriptions)
        for kind, column in (("names", self.names), ("descriptions", self.descriptions)):
            if column is not None and len(column) != len(self.keys):
                raise InputError(f"{len(column):,} {kind} for {len(self.keys):,} keys")
        if self.keys.null_count:
            raise InputError("a key is missing (null)")
        lengths = pc.binary_length(pc.utf8_trim_whitespace(self.keys))
        if pc.min(lengths).as_py() == 0:
            blank = lengths.to_pylist().index(0)
            raise InputError(f"the key of id {blank:,} is blank: {quote(self[blank])}")
        if len(self.keys.unique()) != len(self.keys):
            counts = self.keys.value_counts().to_pylist()
            twice = next(entry["values"] for entry in counts if entry["counts"] > 1)
            raise InputError(f"the key {quote(twice)} occurs twice")

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, position: int) -> str:
        key: str = self.keys[position].as_py()
        return key

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys.to_pylist())

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (
            bool(self.keys.equals(other.keys))
            and _same(self.names, other.names)
            and _same(self.descriptions, other.descriptions)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(quote, self.keys[:3].to_pylist()))
        return f"Vocabulary({len(self):,}: {shown}{', …' if len(self) > 3 else ''})"

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {key: position for position, key in enumerate(self)}

    def id(self, key: str) -> int:
        """Return the id of `key`.

        Raises
        ------
        InputError
            If there is no such key; the message suggests similar ones.
        """
        name = as_name(key)
        try:
            return self._positions[name]
        except KeyError:
            raise InputError(f"unknown name {quote(name)}{suggest(name, self._positions)}") from None

    def ids(self, keys: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of many keys."""
        return np.fromiter((self.id(key) for key in keys), dtype=np.int32)

    def name(self, position: int) -> str:
        """Return the readable name of an id; without one its key, of which an IRI is shortened if no other key has this short form."""
        name = None if self.names is None else self.names[position].as_py()
        if name is not None:
            return str(name)
        key = self[position]
        shortened = short(key)
        return key if shortened == key or shortened in self._shared else shortened

    @cached_property
    def _shared(self) -> frozenset[str]:
        """The short forms that belong to more than one key."""
        return frozenset(form for form, times in Counter(map(short, self)).items() if times > 1)

    def to_table(self) -> pa.Table:
        """Return the keys, and the names and descriptions if there are any, as an Arrow table."""
        columns = {"key": self.keys, "name": self.names, "description": self.descriptions}
        return pa.table({name: column for name, column in columns.items() if column is not None})

    @classmethod
    def from_table(cls, table: pa.Table) -> Vocabulary:
        """Return the vocabulary of a table that `to_table` made."""
        names, descriptions = (
            table[column] if column in table.column_names else None for column in ("name", "description")
        )
        return cls(table["key"], names, descriptions)

    def with_inverses(self) -> Vocabulary:
        """Return the same names, and after them those of the inverses: ``r⁻¹`` for ``r``."""
        mark = INVERSE
        while any(f"{key}{mark}" in self for key in self):  # the graph itself has a relation of this name
            mark += INVERSE

        def doubled(column: pa.Array) -> list[str | None]:
            texts = column.to_pylist()
            return [*texts, *(None if text is None else f"{text}{mark}" for text in texts)]

        return Vocabulary(pa.array(doubled(self.keys)), None if self.names is None else doubled(self.names))

    def described(self, names: dict[str, str] | None, descriptions: dict[str, str] | None) -> Vocabulary:
        """Return the same vocabulary with the readable names and descriptions given for its keys."""
        columns: list[list[str | None] | None] = []
        for given in (names, descriptions):
            column = [given.get(key) for key in self] if given else []
            columns.append(column if any(text is not None for text in column) else None)
        return Vocabulary(self.keys, *columns)


def as_name(value: object) -> str:
    """Return as text what somebody gave as a name: a string, a number, a value of an Arrow array, or anything else with a text.

    Raises
    ------
    InputError
        If it is blank, missing (None, NaN, NA of pandas) or not valid Unicode.
    """
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if is_missing(value):
        raise InputError(f"a missing name: {value!r}")
    text = value if isinstance(value, str) else str(value)
    if not text.strip():
        raise InputError(f"a blank name: {value!r}")
    if not is_unicode(text):
        raise InputError(f"a name that is not valid Unicode: {quote(text)}")
    return str(text)


def is_unicode(text: str) -> bool:
    """Tell whether a text can be encoded; half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def is_missing(value: object) -> bool:
    """Tell whether a value stands for one that is not there: None, NaN, NA of pandas."""
    try:
        return value is None or bool(value != value)  # NaN differs from itself
    except (TypeError, ValueError):  # NA of pandas is neither the same nor another
        return True


def _strings(values: Iterable[str | None] | pa.Array) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.large_string())
    try:
        return pa.array(list(values), pa.large_string())
    except UnicodeEncodeError as error:
        raise InputError(f"a name that is not valid Unicode: {quote(error.object)}") from None


def _same(left: Any, right: Any) -> bool:
    return left is right or (left is not None and right is not None and bool(left.equals(right)))
