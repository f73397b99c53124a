"""Rules mined from the training triples, with exact counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.kernels.chain_rules import count_chains
from transa.kernels.constant_rules import count_constants
from transa.kernels.rule_index import RuleIndex
from transa.rules.index import rule_index
from transa.rules.rule_set import DISCOUNT, LONGEST, RuleSet

#: Walks of as many steps as a body has atoms, in all and for each pair of entities, beyond which such bodies are not looked for, unless
#: asked for: chains that reach everything from everywhere say nothing, and cost the most.
MANY_WALKS, MANY_WALKS_OF_A_PAIR = 1e10, 10.0
#: Rules without constants that are kept of a relation, and the same where bodies have more than three atoms.
FOR_RELATION, FOR_RELATION_LONG = 1000, 20_000

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Mining:
    """What to look for.

    Attributes
    ----------
    length
        The most atoms of a body without constants, 1 to 5; 0: as many as the graph has few enough walks of, from two.
    constants
        Whether to look for rules with a constant.
    support, confidence
        What a rule without constants must have at least.
    constant_support, constant_confidence
        The same for one with a constant.
    for_relation, for_constant
        How many rules without constants a relation has at most, and how many rules a constant has: the most confident ones. None:
        1,000, and 20,000 where bodies have more than three atoms.
    discount
        What the size of a body is increased by in confidences.
    walks
        Walks that are counted for one first step; where there are more, those from a part of its entities, drawn by `seed`.
    minutes
        Time after which no further step is begun; None: all are.
    seed
        Seed of what is drawn.
    """

    length: int = 0
    constants: bool = True
    support: int = 2
    confidence: float = 0.001
    constant_support: int = 2
    constant_confidence: float = 0.05
    for_relation: int | None = None
    for_constant: int = 100
    discount: float = DISCOUNT
    walks: float = 4e9
    minutes: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("support", "constant_support", "for_relation", "for_constant"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name}: expected at least 1, found {getattr(self, name)}")
        for name in ("confidence", "constant_confidence", "discount"):
            if not 0 <= getattr(self, name) < (np.inf if name == "discount" else 1):
                raise InputError(f"{name}: expected a number from 0 to 1, found {getattr(self, name)}")
        if not 0 <= self.length <= LONGEST:
            raise InputError(f"length: expected 1 to {LONGEST}, or 0 to choose by the graph, found {self.length}")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"minutes: expected more than 0, found {self.minutes}")


@dataclass(frozen=True, eq=False)
class Mined:
    """The rules that were found.

    Attributes
    ----------
    rules
        The rules, sorted.
    length
        The most atoms of a body that were looked for.
    done, tasks
        How many first steps of bodies and steps of heads were searched, and how many there are. Fewer were if time was up.
    sampled
        First steps of which only some entities were followed; counts of their rules are of these entities.
    seconds
        How long it took.
    """

    rules: RuleSet
    length: int
    done: int
    tasks: int
    sampled: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether all that there is was counted."""
        return self.done == self.tasks and not self.sampled


def mine(
    graph: KnowledgeGraph,
    mining: Mining | None = None,
    *,
    threads: int = 1,
    callback: Callable[[int, int], None] | None = None,
) -> Mined:
    """Mine rules from the training triples of a graph.

    What is found does not depend on `threads`; with a limit of time, it depends on how far it got.

    Parameters
    ----------
    graph
        The graph.
    mining
        What to look for.
    threads
        How many threads count.
    callback
        Called now and then with how many steps are done and how many there are.
    """
    mining = mining or Mining()
    if not len(graph.train):
        raise InputError("the graph has no training triples")
    _compile()  # takes no part of the time
    started = time.monotonic()
    index = rule_index(graph.train, len(graph.entities), len(graph.relations))
    walks = Walks(index)
    length = mining.length or walks.longest(min(MANY_WALKS, MANY_WALKS_OF_A_PAIR * len(graph.entities) ** 2))
    every = walks.of_rows(length)
    drawn = np.random.default_rng(mining.seed)
    jobs: list[tuple[float, Callable[[], Rows]]] = []
    sampled = 0
    for step in range(2 * index.relations):
        sources = index.order[index.borders[step] : index.borders[step + 1]]
        costs = every[sources]
        if costs.sum() > mining.walks:
            order = drawn.permutation(len(sources))
            fit = int(np.searchsorted(np.cumsum(costs[order]), mining.walks, side="right"))
            sources, costs = np.sort(sources[order[: max(fit, 1)]]), costs[order[: max(fit, 1)]]
            sampled += 1
        if len(sources):
            jobs.append((float(costs.sum()), _Chains(index, step, sources, length, mining)))
    jobs.sort(key=lambda job: job[0])
    tasks = [job for _, job in jobs]
    if mining.constants:
        tasks += [_Constants(index, step, length, mining) for step in range(2 * index.relations)]
    deadline = None if mining.minutes is None else started + 60 * mining.minutes
    found = list(_run(tasks, threads, deadline, callback))
    rules = RuleSet.of(np.concatenate(found) if found else np.empty((0, 6 + length), np.int64), mining.discount)
    most = mining.for_relation or (FOR_RELATION if length <= 3 else FOR_RELATION_LONG)
    rules = rules.take(_best_of_relations(rules, most))
    return Mined(rules, length, len(found), len(tasks), sampled, time.monotonic() - started)


def _compile() -> None:
    """Compile the kernels, or load them, by counting the rules of no facts."""
    nothing = rule_index(np.empty((0, 3), np.int32), 1, 1)
    count_chains(nothing, 0, nothing.order, 1, 1)
    count_constants(nothing, 0, 1, 0.0, 0.0, 1)


def _best_of_relations(rules: RuleSet, most: int) -> npt.NDArray[np.bool_]:
    """Tell which rules are kept: of those without constants, the most confident ones of each relation."""
    kept = np.ones(len(rules), bool)
    chains = np.flatnonzero(rules.constant < 0)
    order = chains[np.lexsort((-rules.support[chains], -rules.confidence[chains], rules.head[chains]))]
    place = np.arange(len(order)) - np.searchsorted(rules.head[order], rules.head[order])
    kept[order[place >= most]] = False
    return kept


class Walks:
    """How many walks there are: what it costs to count chains."""

    def __init__(self, index: RuleIndex) -> None:
        self._index = index
        self._sizes = np.diff(index.starts)
        entities = len(index.first) - 1
        #: Walks of one, two, … steps from each entity.
        self._from_entity: list[npt.NDArray[Any]] = [np.ones(entities)]
        for _ in range(LONGEST - 1):
            self._from_entity.append(np.bincount(index.owners, self._reached(self._from_entity[-1]), entities))

    def _reached(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the sum of the values of what each row reaches."""
        sums = np.concatenate([[0.0], np.cumsum(values[self._index.ends])])
        found: npt.NDArray[np.float64] = sums[self._index.starts[1:]] - sums[self._index.starts[:-1]]
        return found

    def of_rows(self, length: int) -> npt.NDArray[np.float64]:
        """Return the number of walks of so many steps that begin with each row."""
        return self._reached(self._from_entity[length - 1])

    def longest(self, most: float) -> int:
        """Return how many steps walks have, from two, of which there are at most so many."""
        length = 2
        while length < LONGEST and self.of_rows(length + 1).sum() <= most:
            length += 1
        return length


@dataclass(frozen=True, eq=False)
class _Chains:
    """Counts the chains that begin with a step."""

    index: RuleIndex
    step: int
    sources: Rows
    length: int
    mining: Mining

    def __call__(self) -> Rows:
        counts = count_chains(self.index, self.step, self.sources, self.length, self.mining.support)
        sure = counts[:, -3] >= self.mining.confidence * (counts[:, -2] + self.mining.discount)
        counts = counts[sure]
        rows = np.full((len(counts), 6 + self.length), -1, np.int64)
        rows[:, 0], rows[:, 2], rows[:, 3:-4], rows[:, -3:] = counts[:, -4], self.step, counts[:, :-4], counts[:, -3:]
        return rows


@dataclass(frozen=True, eq=False)
class _Constants:
    """Counts the rules with a constant whose head has a step."""

    index: RuleIndex
    step: int
    length: int
    mining: Mining

    def __call__(self) -> Rows:
        mining, index = self.mining, self.index
        settings = mining.constant_support, mining.constant_confidence, mining.discount, mining.for_constant
        counts = count_constants(index, self.step, *settings)
        rows = np.full((len(counts), 6 + self.length), -1, np.int64)
        rows[:, 0], rows[:, 1], rows[:, -3:] = self.step, index.owners[counts[:, 0]], counts[:, 2:]
        known = counts[:, 1] >= 0
        row = np.maximum(counts[:, 1], 0)
        rows[:, 2] = np.where(known, (index.steps[row] + index.relations) % (2 * index.relations), -1 - counts[:, 1])
        rows[:, -4] = np.where(known, index.owners[row], -1)
        return rows


def _run(
    tasks: Sequence[Callable[[], Rows]],
    threads: int,
    deadline: float | None,
    callback: Callable[[int, int], None] | None,
) -> Iterator[Rows]:
    """Yield what the tasks return, in their order, as long as there is time to begin them."""
    with ThreadPoolExecutor(max(1, threads)) as pool:
        waiting: list[Future[Rows]] = []
        left = iter(tasks)
        done = 0
        while True:
            late = deadline is not None and time.monotonic() > deadline and done > 0
            waiting += [pool.submit(task) for task in islice(left, 0 if late else 2 * threads - len(waiting))]
            if not waiting:
                return
            yield waiting.pop(0).result()
            done += 1
            if callback is not None:
                callback(done, len(tasks))
