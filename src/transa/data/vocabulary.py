"""The names of entities or relations, and their ids, with what is said about them: descriptions and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
#: The columns beside the keys, as tables on disk call them: texts, and lists of types.
TEXTS = {"name": "names", "description": "descriptions"}
LISTS = {"types": "types", "domain": "domains", "range": "ranges"}


class Vocabulary:
    """The entities or the relations of a graph: position `i` holds the key of id `i`.

    A key identifies an entity or relation (``/m/027rn``). Beside it there may be a readable name (``Dominican Republic``), a
    description, and types: those that an entity has, or those of the heads (domain) and tails (range) of a relation. All are Arrow
    arrays, which are several times smaller than Python strings. The dictionary for look-ups is built when it is first needed.

    Parameters
    ----------
    keys
        Distinct, not blank.
    names, descriptions
        One for each key; None for a key without one.
    types, domains, ranges
        A list for each key, empty for a key without one. An entity may stand on a side of a relation if it has one of the types there.
    """

    def __init__(
        self,
        keys: Iterable[str] | pa.Array,
        names: Sequence[str | None] | pa.Array | None = None,
        descriptions: Sequence[str | None] | pa.Array | None = None,
        types: Sequence[Sequence[str]] | pa.Array | None = None,
        domains: Sequence[Sequence[str]] | pa.Array | None = None,
        ranges: Sequence[Sequence[str]] | pa.Array | None = None,
    ) -> None:
        self.keys = _strings(keys)
        self.names = None if names is None else _strings(names)
        self.descriptions = None if descriptions is None else _strings(descriptions)
        self.types, self.domains, self.ranges = (
            None if given is None else _lists(given) for given in (types, domains, ranges)
        )
        for kind, column in self._columns().items():
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
        columns = zip(self._columns().values(), other._columns().values(), strict=True)
        return bool(self.keys.equals(other.keys)) and all(_same(mine, yours) for mine, yours in columns)

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

    def types_of(self, position: int) -> list[str]:
        """Return the types of an entity."""
        found: list[str] = [] if self.types is None else self.types[position].as_py()
        return found

    def _columns(self) -> dict[str, pa.Array | None]:
        """Return what stands beside the keys, by the names of attributes."""
        return {name: getattr(self, name) for name in (*TEXTS.values(), *LISTS.values())}

    def to_table(self) -> pa.Table:
        """Return the keys, and what there is beside them, as an Arrow table."""
        beside = {column: getattr(self, name) for column, name in (TEXTS | LISTS).items()}
        return pa.table({"key": self.keys} | {name: column for name, column in beside.items() if column is not None})

    @classmethod
    def from_table(cls, table: pa.Table) -> Vocabulary:
        """Return the vocabulary of a table that `to_table` made."""
        given = {name: table[column] for column, name in (TEXTS | LISTS).items() if column in table.column_names}
        return cls(table["key"], **given)

    def take(self, positions: npt.ArrayLike) -> Vocabulary:
        """Return the vocabulary of some of the keys, in the order given."""
        rows = pa.array(np.asarray(positions, dtype=np.int64))
        beside = {name: None if column is None else column.take(rows) for name, column in self._columns().items()}
        return Vocabulary(self.keys.take(rows), **beside)

    def followed_by(self, other: Vocabulary) -> Vocabulary:
        """Return these keys and after them those of another vocabulary, each with what it has beside it."""
        beside: dict[str, pa.Array | None] = {}
        for name, column in self._columns().items():
            parts = [(column, self), (getattr(other, name), other)]
            if all(part is None for part, _ in parts):
                continue
            nothing: list[str] | None = [] if name in LISTS.values() else None
            beside[name] = [
                *(
                    each
                    for part, whole in parts
                    for each in ([nothing] * len(whole) if part is None else part.to_pylist())
                )
            ]
        return Vocabulary([*self, *other], **beside)

    def with_inverses(self) -> Vocabulary:
        """Return the same names, and after them those of the inverses: ``r⁻¹`` for ``r``. The domain of an inverse is the range."""
        mark = INVERSE
        while any(f"{key}{mark}" in self for key in self):  # the graph itself has a relation of this name
            mark += INVERSE

        def doubled(column: pa.Array) -> list[str | None]:
            texts = column.to_pylist()
            return [*texts, *(None if text is None else f"{text}{mark}" for text in texts)]

        domains, ranges = (
            [[]] * len(self) if column is None else column.to_pylist() for column in (self.domains, self.ranges)
        )
        typed = self.domains is not None or self.ranges is not None
        return Vocabulary(
            pa.array(doubled(self.keys)),
            None if self.names is None else doubled(self.names),
            domains=[*domains, *ranges] if typed else None,
            ranges=[*ranges, *domains] if typed else None,
        )

    def described(self, names: Mapping[str, str] | None, descriptions: Mapping[str, str] | None) -> Vocabulary:
        """Return the same vocabulary with the readable names and descriptions given for its keys."""
        columns: list[list[str | None] | None] = []
        for given in (names, descriptions):
            column = [given.get(key) for key in self] if given else []
            columns.append(column if any(text is not None for text in column) else None)
        return Vocabulary(self.keys, columns[0], columns[1], self.types, self.domains, self.ranges)

    def untyped(self) -> Vocabulary:
        """Return the same vocabulary without types."""
        return Vocabulary(self.keys, self.names, self.descriptions)

    def typed(self, **given: Mapping[str, Iterable[str]] | None) -> Vocabulary:
        """Return the same vocabulary with types, domains or ranges given for its keys; each list is sorted."""
        columns: dict[str, Any] = self._columns()
        for name, lists in given.items():
            column = [sorted(set(lists.get(key, ()))) for key in self] if lists else []
            columns[name] = column if any(column) else columns[name]
        return Vocabulary(self.keys, **columns)


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


def _lists(values: Iterable[Sequence[str]] | pa.Array) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind = pa.list_(pa.large_string())
    found = values.cast(kind) if isinstance(values, pa.Array) else pa.array(list(values), kind)
    if found.null_count or found.flatten().null_count:
        raise InputError("a type is missing (null)")
    return found


def _same(left: Any, right: Any) -> bool:
    return left is right or (left is not None and right is not None and bool(left.equals(right)))
