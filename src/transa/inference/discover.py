"""New facts of the whole graph, and old ones that look wrong.

What is searched, and why that is a small part of all triples, is in `transa.inference.new_tails`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data.facts import distinct
from transa.data.graph import Triples
from transa.errors import InputError
from transa.inference.answer_chances import candidates_of
from transa.inference.check import Checks, check_ids
from transa.inference.new_tails import new_tails, parts_of
from transa.inference.trained import Trained
from transa.storage import atomic_file, check_regular, writing

#: A triple and how plausible it is, by log-odds or else by margin: head, relation, tail (ids), plausibility.
Found = tuple[int, int, int, float]


@dataclass(frozen=True)
class Kept:
    """How many facts are kept: in all, of each (head, relation, ?), and of each head (None: any number)."""

    top: int
    each: int
    each_head: int | None = None


def discover(
    trained: Trained,
    *,
    top: int = 100,
    each: int = 10,
    each_head: int | None = None,
    relations: Sequence[str] | None = None,
    parts: Path | None = None,
    callback: Callable[[int], None] | None = None,
    loop_prior: bool = True,
) -> Checks:
    """Return the most probable facts that the graph neither holds nor labels false, the most probable first.

    Without validation triples, they are ordered by margin (`Trained.margins`). A triple from an entity to itself counts only if most
    training triples of the relation are such loops: an entity's vector is nearest to itself, so that a few loops in train would make
    all discoveries loops.

    Parameters
    ----------
    trained
        The model that predicts.
    top
        How many facts to return.
    each
        How many answers to each (head, relation, ?) to consider.
    each_head
        How many facts of one head to return, at most.
    relations
        Only these relations, by key or by name.
    parts
        A file that keeps finished parts. If it exists, the search takes its parts from it and adds the others.
    callback
        Called after each part with the number of (head, relation) pairs in it.
    loop_prior
        Whether to rule out triples from an entity to itself at all.
    """
    trained = trained if loop_prior else trained.without_loop_prior
    for name, value in (("top", top), ("each", each), ("each_head", 1 if each_head is None else each_head)):
        if value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    chosen = None if relations is None else {trained.relations.id(name) for name in relations}
    found = new_facts(trained, Kept(top, each, each_head), chosen, parts, callback)
    return check_ids(trained, found[:top], as_answers=True)


def new_facts(
    trained: Trained,
    kept: Kept,
    chosen: set[int] | None = None,
    parts: Path | None = None,
    callback: Callable[[int], None] | None = None,
) -> Triples:
    """Return the most plausible new facts by id, the most plausible first; `chosen` are the relations, and None is all of them."""
    finished = None if parts is None else FinishedParts(parts, trained, kept)
    found: list[Found] = []
    for relation, heads in parts_of(trained, chosen):
        part = f"{relation}:{heads[0]}"
        some = None if finished is None else finished.get(part)
        if some is None:
            some = _best_of_part(trained, relation, heads, kept)
            if finished is not None:
                finished.add(part, some)
        found = _best_of(found + some, kept)
        if callback is not None:
            callback(len(heads))
    return _triples(found)


def pairs(trained: Trained, relations: Sequence[str] | None = None) -> int:
    """Return the number of (head, relation) pairs that `discover` searches."""
    chosen = None if relations is None else {trained.relations.id(name) for name in relations}
    return sum(len(heads) for _, heads in parts_of(trained, chosen))


def doubtful(
    trained: Trained, *, top: int = 100, each_head: int | None = None, relations: Sequence[str] | None = None
) -> Checks:
    """Return the least probable training triples, the least probable first: where to look for errors."""
    for name, value in (("top", top), ("each_head", 1 if each_head is None else each_head)):
        if value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    triples = distinct(trained.graph.train, len(trained.graph.entities), len(trained.graph.relations))
    if relations is not None:
        triples = triples[np.isin(triples[:, 1], [trained.relations.id(name) for name in relations])]
    margins = trained.margins(triples, trained.scores(triples))
    triples = triples[np.argsort(margins, kind="stable")]
    return check_ids(trained, triples[_first_of_each(triples[:, 0], each_head)][:top], as_answers=True)


def _best_of_part(
    trained: Trained,
    relation: int,
    heads: npt.NDArray[np.int32],
    kept: Kept,
) -> list[Found]:
    found = new_tails(trained, relation, heads, (trained.facts, trained.denied), max(kept.each, 2))
    rows, columns = np.nonzero(found.answers[:, : kept.each] >= 0)
    if not len(rows):
        return []
    triples = found.triples(rows, columns)
    confidence = trained.confidence
    if confidence is None:
        plausible = trained.margins(triples, trained.scores(triples))
    else:
        rivals = found.answers[rows, :2], found.scores[rows, :2]
        candidates = candidates_of(trained, "tail", triples, found.scores[rows, columns], rivals, trained.facts)
        plausible = confidence.answers.logits(candidates)
        plausible[np.isnan(plausible)] = -1e300
        plausible[~trained.seen[0][triples[:, [0, 2]]].all(axis=1)] = -1e300
    listed = zip(*triples.T.tolist(), plausible.tolist(), strict=True)
    return _best_of([(h, r, t, value) for h, r, t, value in listed], kept)


def _best_of(found: list[Found], kept: Kept) -> list[Found]:
    """Return the best facts: `top` of them, or all that may still be among these once each head has only so many."""
    ordered = sorted(found, key=lambda row: -row[3])
    if kept.each_head is None or not ordered:
        return ordered[: kept.top]
    return [ordered[row] for row in _first_of_each(_triples(ordered)[:, 0], kept.each_head).tolist()]


def _first_of_each(heads: npt.NDArray[np.int32], number: int | None) -> npt.NDArray[np.int64]:
    """Return where the first so many of each head stand, in their order; with None, where all stand."""
    places = np.arange(len(heads))
    if number is None or not len(heads):
        return places
    order = np.argsort(heads, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(heads[order]) != 0]))
    nth = places - np.repeat(starts, np.diff(np.append(starts, len(heads))))
    return np.sort(order[nth < number])


def _triples(found: list[Found]) -> Triples:
    return np.array([row[:3] for row in found], dtype=np.int32).reshape(-1, 3)


class FinishedParts:
    """A file whose first line names the model and the settings, and whose other lines each hold a finished part.

    Parameters
    ----------
    path
        The file; a last line that was cut short is dropped.
    trained, kept
        The model, and how many facts are kept. A file of other ones is refused.
    """

    def __init__(self, path: Path, trained: Trained, kept: Kept) -> None:
        header: dict[str, Any] = {"discover": 2, "model": trained.fingerprint, "top": kept.top, "each": kept.each}
        if kept.each_head is not None:
            header["each_head"] = kept.each_head
        if not trained.loop_prior:
            header["loop_prior"] = False
        self._done: dict[str, list[Found]] = {}
        self.path = path
        try:
            check_regular(path)
            text = path.read_text("utf-8") if path.exists() else ""
            lines = text.splitlines()
            whole = [line for line in map(_line, lines) if line is not None]
            if lines and (not whole or whole[0] != header):
                raise InputError("holds parts of another model or of other settings; name another file", path=path)
            for line in whole[1:]:
                self._done[line["part"]] = found = [(int(h), int(r), int(t), float(s)) for h, r, t, s in line["found"]]
                sizes = (trained.model.num_entities, trained.model.graph_relations)
                if not all(min(h, t) >= 0 and max(h, t) < sizes[0] and 0 <= r < sizes[1] for h, r, t, _ in found):
                    raise ValueError("an id that is out of range")
        except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not a readable file of finished parts ({error})", path=path) from None
        content = b"".join(map(_encoded, [header, *whole[1:]]))
        if text.encode() != content:
            with atomic_file(path, overwrite=True, size=len(content)) as file:
                file.write(content)

    def get(self, part: str) -> list[Found] | None:
        """Return what was found in a part, or None if the part is not finished."""
        return self._done.get(part)

    def add(self, part: str, found: list[Found]) -> None:
        """Keep a finished part."""
        line = _encoded({"part": part, "found": found})
        with writing(self.path, len(line)) as place, place.open("ab") as file:
            file.write(line)


def _encoded(line: dict[str, Any]) -> bytes:
    return (json.dumps(line) + "\n").encode()


def _line(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
