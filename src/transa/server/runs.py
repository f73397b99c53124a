"""The runs that a server serves, each with what is computed once and kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from transa.analysis.entity_map import EntityMap, entity_map
from transa.errors import InputError, quote
from transa.evaluation import classify, evaluate
from transa.evaluation.ranking import are_few
from transa.inference import Checks, Question, Trained, answer, discover, doubtful
from transa.inference.neighbours import degrees_of
from transa.inference.verdicts import Verdicts
from transa.server.lookup import Lookup
from transa.training import RunFolder

#: How many facts a queue of review holds at first, and how many of one head.
QUEUE, EACH_HEAD = 500, 5
#: How many results of each kind are kept.
KEPT = 8

Found = TypeVar("Found")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ServedRun:
    """A run under a name.

    Parameters
    ----------
    name
        How clients call it.
    trained
        The model and its graph.
    folder
        Keeps the verdicts.
    """

    def __init__(self, name: str, trained: Trained, folder: RunFolder) -> None:
        self.name = name
        self.trained = trained
        self.folder = folder
        self.verdicts = Verdicts(folder)
        self.ready = False
        self._kept: dict[tuple[Any, ...], Any] = {}

    def warm_up(self) -> None:
        """Make what the first questions would wait for: probabilities, indices of names and of facts, and compiled kernels."""
        trained = self.trained
        _ = trained.confidence, trained.ranker, trained.answer_counts, trained.adjacency, trained.seen
        for names in (trained.entities, trained.relations):
            names.find("?")
        for lookup in (self.entities, self.relations):
            lookup.find("?")
        if not are_few(1, trained.model):  # a few questions to a small model need no kernel
            first = trained.graph.entities[0], trained.graph.relations[0]
            answer(trained, [Question(first[0], first[1]), Question(None, first[1], first[0])])
        self.ready = True

    @cached_property
    def entities(self) -> Lookup:
        """Finds entities by parts of their names."""
        return Lookup(self.trained.graph.entities, degrees_of(self.trained))

    @cached_property
    def relations(self) -> Lookup:
        """Finds relations by parts of their names."""
        return Lookup(self.trained.graph.relations, self.trained.relation_sizes)

    def map(self, colour: str) -> EntityMap:
        """Return the map of all entities."""
        return self._once(("map", colour), lambda: entity_map(self.trained, "pca", colour))

    def queue(self, kind: str) -> Checks:
        """Return the most probable new facts, or with ``"doubtful"`` the least probable known ones."""
        if kind == "doubtful":
            return self._once((kind,), lambda: doubtful(self.trained, top=QUEUE, each_head=EACH_HEAD))
        return self._once((kind,), lambda: discover(self.trained, top=QUEUE, each_head=EACH_HEAD))

    def evaluation(self, split: Any, limit: int) -> dict[str, Any]:
        """Return what `transa evaluate` reports."""
        model, graph = self.trained.model, self.trained.graph
        return self._once(("evaluate", split, limit), lambda: evaluate(model, graph, split, limit=limit).report())

    def classification(self, split: Any, limit: int) -> dict[str, Any]:
        """Return what `transa classify` reports."""
        model, graph = self.trained.model, self.trained.graph
        return self._once(("classify", split, limit), lambda: classify(model, graph, split, limit=limit).summary())

    def _once(self, key: tuple[Any, ...], make: Callable[[], Found]) -> Found:
        """Return what was made before under this key, or make it; of each kind, the last few are kept.

        One thread does all searches (`transa.server.work.Lane`), so nothing is made twice.
        """
        if key not in self._kept:
            alike = [other for other in self._kept if other[0] == key[0]]
            if len(alike) >= KEPT:
                del self._kept[alike[0]]
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found


class Runs:
    """The runs of a server, by name; nothing else can be reached through it."""

    def __init__(self, runs: Sequence[ServedRun]) -> None:
        self._by_name = {run.name: run for run in runs}

    def __iter__(self) -> Iterator[ServedRun]:
        return iter(self._by_name.values())

    def get(self, name: str) -> ServedRun | None:
        """Return the run of a name, None if there is none."""
        return self._by_name.get(name)


def open_runs(folders: Sequence[Path]) -> Runs:
    """Open finished runs. A run is called by the name of its folder, and a second one of the same name by a number after it.

    Raises
    ------
    InputError
        If a folder holds no finished run, or is given twice.
    """
    runs: list[ServedRun] = []
    places = [folder.resolve() for folder in folders]
    for position, place in enumerate(places):
        if place in places[:position]:
            raise InputError("is given twice", path=folders[position])
        stem = place.name if _NAME.fullmatch(place.name) else "run"
        taken = {run.name for run in runs}
        name = next(each for each in (stem, *(f"{stem}-{n}" for n in range(2, 1 << 20))) if each not in taken)
        folder = RunFolder(folders[position])
        runs.append(ServedRun(name, Trained.open(folder), folder))
    return Runs(runs)


def known(runs: Runs, name: str) -> ServedRun:
    """Return the run of a name.

    Raises
    ------
    LookupError
        If there is none; the message lists those there are.
    """
    run = runs.get(name)
    if run is None:
        raise LookupError(f"unknown run {quote(name)}; there are {', '.join(each.name for each in runs)}")
    return run
