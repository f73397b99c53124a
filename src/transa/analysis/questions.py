"""What figures 1 and 2 have in common: a question (head, relation, ?), the tails that answer it and those that nearly do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from transa.analysis.weights import Matrix
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation.classification import best_threshold, check_sizes
from transa.evaluation.measures import roc_auc
from transa.inference.residual import exact_rows
from transa.models import Model

Vector = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

#: Scores residuals, one a row.
Potential = Callable[[Matrix], Vector]


@dataclass(frozen=True, eq=False)
class Question:
    """A head and a relation, with the entities that are drawn.

    Attributes
    ----------
    head, relation
        Ids.
    head_name, relation_name
        As people read them.
    matched
        The tails that make a fact of train, valid or test.
    unmatched
        Tails that make none; see `Others`.
    names
        Of the matched and then the unmatched ones.
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
        """1 for each matched tail, -1 for each other."""
        return np.concatenate([np.ones(len(self.matched)), -np.ones(len(self.unmatched))]).astype(np.int8)

    @property
    def title(self) -> str:
        """The question in words."""
        return f"({self.head_name}, {self.relation_name}, ?)"


@dataclass(frozen=True)
class Separation:
    """How well scores tell matched tails from unmatched ones.

    Attributes
    ----------
    threshold
        The score below which a tail counts as an answer: the one with the fewest mistakes among these very tails.
    mistakes
        Unmatched tails below it and matched ones above.
    wrongly_in, wrongly_out
        Each of the two.
    auc
        The chance that a matched tail scores better than an unmatched one.
    """

    threshold: float
    mistakes: int
    wrongly_in: int
    wrongly_out: int
    auc: float

    @classmethod
    def of(cls, scores: Vector, labels: npt.NDArray[np.int8]) -> Separation:
        """Find the threshold with the fewest mistakes."""
        threshold, right = best_threshold(scores, labels)
        within = scores < threshold
        auc = roc_auc(labels, -scores)
        return cls(
            threshold,
            len(labels) - right,
            int((within & (labels == -1)).sum()),
            int((~within & (labels == 1)).sum()),
            float("nan") if auc is None else float(auc),
        )


def same_vectors(model: Model, norm: int = 2) -> Model:
    """Return a TransE on a model's own vectors: what is left of it without its weights."""
    plain = model.plain(norm)
    if plain is None:
        raise InputError(f"{model.name} has no metric that could be left out")
    return plain


def potential_of(model: Model, relation: int) -> Potential:
    """Return the score of a model as a function of its residual, before a square root is taken: that changes no order."""
    given = exact_rows(model, "relation", relation)

    def potential(residuals: Matrix) -> Vector:
        found: Vector = model.parts(torch.from_numpy(residuals), given).sum(1).numpy()
        return found

    return potential


def residuals(model: Model, head: int, relation: int, tails: Ids | None = None) -> Matrix:
    """Return the residuals of (head, relation, tail) for some tails, or for all entities."""
    chosen = np.arange(model.num_entities) if tails is None else tails
    found = model.residual(
        exact_rows(model, "entity", head), exact_rows(model, "relation", relation), exact_rows(model, "entity", chosen)
    )
    if found is None:
        raise InputError(f"{model.name}: the figure needs a score that depends on a residual such as h + r - t alone")
    values: Matrix = found.numpy()
    return values


@dataclass(frozen=True)
class Others:
    """Which tails that make no fact are drawn.

    Attributes
    ----------
    number
        How many; by default as many as are matched, and at least 10.
    nearest
        Those that a model ranks first, half of them by each of the two compared, in place of a random choice.
    seed
        Of the random choice.
    """

    number: int | None = None
    nearest: bool = False
    seed: int = 0


def ask(graph: KnowledgeGraph, models: list[Model], head: int, relation: int, others: Others | None = None) -> Question:
    """Return a question with its known tails and some that make no fact.

    By default these are drawn from the tails that the relation has for other heads, which favours no model; from all entities where
    there are too few.

    Parameters
    ----------
    graph
        Whose train, valid and test facts are matched.
    models
        What is compared.
    head, relation
        Ids.
    others
        Which unmatched tails.
    """
    others = others or Others()
    matched = graph.known().tails_of(head, relation).astype(np.int64)
    if not len(matched):
        raise InputError(f"({graph.entities[head]}, {graph.relations[relation]}, ?) has no known tail")
    for model in models:
        check_sizes(model, graph)
    number = max(len(matched), 10) if others.number is None else others.number
    unmatched = (_nearest if others.nearest else _drawn)(graph, models, head, relation, matched, number, others.seed)
    if not len(unmatched):
        raise InputError("every entity is a known tail: there is nothing to tell apart")
    names = tuple(graph.entities.name(int(one)) for one in [*matched, *unmatched])
    titles = graph.entities.name(head), graph.relations.name(relation)
    return Question(head, relation, *titles, matched, unmatched, names)


def _drawn(
    graph: KnowledgeGraph, models: list[Model], head: int, relation: int, matched: Ids, number: int, seed: int
) -> Ids:
    usual = np.unique(graph.train[graph.train[:, 1] == relation, 2])
    random = np.random.default_rng([seed, head, relation])
    kept: list[int] = []
    for pool in (usual, np.arange(len(graph.entities))):  # the second only fills up
        free = np.setdiff1d(pool, [*matched, head, *kept])
        kept += random.permutation(free)[: number - len(kept)].tolist()
    return np.array(sorted(kept), dtype=np.int64)


def _nearest(
    graph: KnowledgeGraph, models: list[Model], head: int, relation: int, matched: Ids, number: int, seed: int
) -> Ids:
    orders = []
    for model in models:
        scores = potential_of(model, relation)(residuals(model, head, relation))
        scores[[*matched, head]] = np.inf  # h itself lies near h + r for any short r, which is of no interest
        order = np.argsort(scores, kind="stable")
        orders.append(order[np.isfinite(scores[order])])
    taken: dict[int, None] = {}
    for each in zip(*orders, strict=True):  # in turns
        for one in each:
            if len(taken) < number:
                taken.setdefault(int(one))
    return np.array(sorted(taken), dtype=np.int64)


def heads_by_tails(graph: KnowledgeGraph, relation: int | None = None) -> npt.NDArray[np.int64]:
    """Return rows of (head, relation, number of known tails), by number and then by id."""
    facts = graph.known()
    heads, relations = np.divmod(facts.tails.queries, facts.num_relations)
    rows = np.stack([heads, relations, np.diff(facts.tails.offsets)], axis=1)
    if relation is not None:
        rows = rows[rows[:, 1] == relation]
    return rows[np.lexsort((rows[:, 1], rows[:, 0], rows[:, 2]))]
