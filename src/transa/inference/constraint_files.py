"""Read constraints that a person wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from transa.data.constraints import Constraints, Implication
from transa.data.streams import check_exists
from transa.data.text_files import text_lines
from transa.errors import InputError, quote, suggest
from transa.inference.names import Names

#: What a line may say, and the names of its further fields. A confidence may follow where there are no types.
FIELDS = {
    "functional": ("RELATION",),
    "inverse_functional": ("RELATION",),
    "implies": ("RELATION", "RELATION"),
    "implies_inverse": ("RELATION", "RELATION"),
    "domain": ("RELATION", "TYPE"),
    "range": ("RELATION", "TYPE"),
    "type": ("ENTITY", "TYPE"),
}
#: Those that may be rules with exceptions.
SOFT = ("functional", "inverse_functional", "implies", "implies_inverse")


def read_constraints(path: str | Path, entities: Names, relations: Names) -> Constraints:
    """Read a text file with one constraint in each line, its fields separated by tabs.

    The first field is ``functional``, ``inverse_functional``, ``implies``, ``implies_inverse``, ``domain``, ``range`` or ``type``.
    A confidence may follow the relations; without it, the constraint is a law. Empty lines and lines that begin with # are skipped.

    Parameters
    ----------
    path
        The file.
    entities, relations
        The names of the graph.

    Raises
    ------
    InputError
        If a line is none of these, or a name is unknown; the message names file, line and value.
    """
    path = Path(path)
    check_exists(path)
    found = _Found()
    for number, line in enumerate(text_lines(path), start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                found.add([field.strip() for field in text.split("\t")], entities.whole, relations.whole)
            except InputError as error:
                raise InputError(str(error), path=path, line=number) from None
    if not found.lines:
        raise InputError("the file holds no constraint", path=path)
    return found.constraints()


class _Found:
    """What the lines so far have said."""

    def __init__(self) -> None:
        self.lines = 0
        self.single: dict[str, dict[int, float]] = {"functional": {}, "inverse_functional": {}}
        self.rules: dict[tuple[int, int, bool], float] = {}
        self.kinds: dict[str, dict[int, set[str]]] = {"domain": {}, "range": {}, "type": {}}

    def add(self, fields: list[str], entity: Callable[[object], int], relation: Callable[[object], int]) -> None:
        kind, values = fields[0], fields[1:]
        if kind not in FIELDS:
            near = suggest(kind, FIELDS) or f"; one of {', '.join(FIELDS)}, then a tab"
            raise InputError(f"unknown constraint {quote(kind)}{near}")
        wanted = FIELDS[kind]
        if len(values) != len(wanted) and not (kind in SOFT and len(values) == len(wanted) + 1):
            form = " ".join((kind, *wanted, *(["[CONFIDENCE]"] if kind in SOFT else [])))
            raise InputError(f"expected {form}, separated by tabs; found {quote(' '.join(fields))}")
        confidence = _confidence(values[len(wanted)]) if len(values) > len(wanted) else 1.0
        self.lines += 1
        if kind in self.kinds:
            of = entity(values[0]) if kind == "type" else relation(values[0])
            self.kinds[kind].setdefault(of, set()).add(values[1])
        elif kind in self.single:
            self.single[kind][relation(values[0])] = confidence
        else:
            body, head, inverse = relation(values[0]), relation(values[1]), kind == "implies_inverse"
            if body == head and not inverse:
                raise InputError(f"{quote(values[0])} implies itself")
            self.rules[body, head, inverse] = confidence

    def constraints(self) -> Constraints:
        domains, ranges, types = (
            {of: frozenset(names) for of, names in self.kinds[kind].items()} for kind in ("domain", "range", "type")
        )
        rules = tuple(Implication(*rule, confidence) for rule, confidence in self.rules.items())
        return Constraints(self.single["functional"], self.single["inverse_functional"], rules, domains, ranges, types)


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.5 <= value <= 1:
        raise InputError(f"expected a confidence from 0.5 to 1, found {quote(text)}")
    return value
