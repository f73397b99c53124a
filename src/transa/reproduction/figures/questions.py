"""What Figures 1 and 2 draw: a question (head, relation, ?), the tails that answer it, and some that do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation.scores import check_sizes
from transa.models import Model
from transa.reproduction.figures.scores import Ids, Potential, residuals


@dataclass(frozen=True, eq=False)
class Question:
    """A head and a relation, with the tails that are drawn.

    Attributes
    ----------
    head, relation
        Their ids.
    head_name, relation_name
        Their names.
    matched
        Tails that make a fact of train, valid or test.
    unmatched
        Tails that make none; `Others` chooses them.
    names
        The names of the matched and then of the unmatched tails.
    """

    head: int
    relation: int
    head_name: str
    relation_name: str
    matched: Ids
    unmatched: Ids
    names: tuple[str, ...]

    @property
    def tails(self) -> Ids:
        """The matched and then the unmatched tails."""
        return np.concatenate([self.matched, self.unmatched])

    @property
    def labels(self) -> npt.NDArray[np.int8]:
        """1 for each matched tail, -1 for each unmatched one."""
        return np.concatenate([np.ones(len(self.matched)), -np.ones(len(self.unmatched))]).astype(np.int8)


@dataclass(frozen=True)
class Others:
    """Which unmatched tails are drawn.

    Attributes
    ----------
    number
        How many; by default as many as are matched, and at least 10.
    nearest
        Take the tails that the models rank first, half of them from each of the two models, instead of random ones.
    seed
        The seed of the random choice.
    """

    number: int | None = None
    nearest: bool = False
    seed: int = 0


def ask(graph: KnowledgeGraph, models: list[Model], head: int, relation: int, others: Others | None = None) -> Question:
    """Return a question with its known tails and some unmatched ones.

    By default unmatched tails are drawn from the tails that the relation has for other heads, which favours no model. Where these are
    too few, the rest is drawn from all entities.

    Parameters
    ----------
    graph
        The graph whose train, valid and test facts count as known.
    models
        The models that are compared.
    head, relation
        Ids.
    others
        Which unmatched tails to draw.
    """
    others = others or Others()
    matched = graph.known().tails_of(head, relation).astype(np.int64)
    if not len(matched):
        raise InputError(f"({graph.entities[head]}, {graph.relations[relation]}, ?) has no known tail")
    for model in models:
        check_sizes(model, graph)
    number = max(len(matched), 10) if others.number is None else others.number
    if others.nearest:
        unmatched = _nearest(models, head, relation, matched, number)
    else:
        unmatched = _drawn(graph, head, relation, matched, number, others.seed)
    if not len(unmatched):
        raise InputError("every entity is a known tail: there is nothing to tell apart")
    names = tuple(graph.entities.name(int(one)) for one in [*matched, *unmatched])
    titles = graph.entities.name(head), graph.relations.name(relation)
    return Question(head, relation, *titles, matched, unmatched, names)


def _drawn(graph: KnowledgeGraph, head: int, relation: int, matched: Ids, number: int, seed: int) -> Ids:
    """Draw unmatched tails at random."""
    usual = np.unique(graph.train[graph.train[:, 1] == relation, 2])
    random = np.random.default_rng([seed, head, relation])
    kept: list[int] = []
    for pool in (usual, np.arange(len(graph.entities))):  # all entities only where the usual tails are too few
        free = np.setdiff1d(pool, [*matched, head, *kept])
        kept += random.permutation(free)[: number - len(kept)].tolist()
    return np.array(sorted(kept), dtype=np.int64)


def _nearest(models: list[Model], head: int, relation: int, matched: Ids, number: int) -> Ids:
    """Return the unmatched tails that the models rank first, taken from each model in turn."""
    orders = []
    for model in models:
        scores = Potential(model, relation)(residuals(model, head, relation))
        scores[[*matched, head]] = np.inf  # h itself lies near h + r for any short r, which is of no interest
        order = np.argsort(scores, kind="stable")
        orders.append(order[np.isfinite(scores[order])])
    taken: dict[int, None] = {}
    for each in zip(*orders, strict=True):
        for one in each:
            if len(taken) < number:
                taken.setdefault(int(one))
    return np.array(sorted(taken), dtype=np.int64)


def heads_by_tails(graph: KnowledgeGraph, relation: int | None = None) -> npt.NDArray[np.int64]:
    """Return rows of (head, relation, number of known tails), sorted by the number and then by the ids."""
    facts = graph.known()
    heads, relations = np.divmod(facts.tails.queries, facts.num_relations)
    rows = np.stack([heads, relations, np.diff(facts.tails.offsets)], axis=1)
    if relation is not None:
        rows = rows[rows[:, 1] == relation]
    return rows[np.lexsort((rows[:, 1], rows[:, 0], rows[:, 2]))]
