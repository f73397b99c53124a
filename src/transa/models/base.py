"""What every model is: tables of parameters (`transa.models.tables`), a score, and what others need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.errors import InputError
from transa.models.tables import Rows, Tables
from transa.readable import graph_size

if TYPE_CHECKING:
    from transa.choices import Side
    from transa.data import KnowledgeGraph
    from transa.data.paths import GraphPaths
    from transa.models.linearised import Linearised, RelationRows
    from transa.models.residual_model import ResidualModel

__all__ = ["Array", "Differentiated", "Gradients", "Kernel", "MetricRules", "Model", "Rows", "check_choice"]

Array = npt.NDArray[Any]
#: Rows of ids, in torch or in numpy.
AnyTriples = TypeVar("AnyTriples", Tensor, npt.NDArray[Any])
#: Gradients with respect to heads, tails and each table of the relation.
Gradients = tuple[Array, Array, dict[str, Array]]
#: Scores of some triples, and the function that turns the loss's derivatives with respect to them into gradients.
Differentiated = tuple[Array, Callable[[Array], Gradients]]


@dataclass(frozen=True)
class Kernel:
    """How the compiled kernels compute a model's score.

    Attributes
    ----------
    score
        The name of a score of `transa.kernels.scores`.
    root
        Whether the square root is taken of it.
    """

    score: str
    root: bool = False


@dataclass(frozen=True)
class MetricRules:
    """What a model's metric W_r weighs, and how it may be learned.

    Attributes
    ----------
    absolute
        Whether W_r weighs the absolute values of the residual's entries, or the entries themselves.
    clip
        What the recipe's `metric_clip` sets to 0: negative ``"entries"`` of W_r, its negative ``"eigenvalues"``, or nothing (None).
    closed_form
        Whether a closed form gives W_r (`metric_update` "epoch" or "end"). Every metric can be learned by gradient.
    """

    absolute: bool
    clip: Literal["entries", "eigenvalues"] | None
    closed_form: bool = True


class Model(Tables):
    """A model: parameters for each entity, for each relation and for all of them, and a score that is lower for true triples.

    A subclass states its tables and its score. Training, evaluation, saving and both engines work from these. What explanations,
    neighbours, figures and the choice of settings need to know beyond that has defaults, and a subclass may state it too.
    `transa.models.tables.Tables` describes the constructor and the attributes.
    """

    #: The name in recipes and commands.
    name: ClassVar[str]
    #: The name as people write it.
    label: ClassVar[str]
    formula: ClassVar[str]
    #: The number of parameters, and of multiplications for a triple: n entities, m relations, dimension k; other letters are options.
    size: ClassVar[str]
    cost: ClassVar[str]
    #: Options of the constructor beyond `dim`; each is a field of the recipe.
    options: ClassVar[tuple[str, ...]] = ()
    #: Constraints on the rows of tables, such as ``{"relation.normal": "unit"}``; those on vectors are the recipe's.
    constraints: ClassVar[dict[str, str]] = {}
    #: Tables that training leaves as they are.
    fixed: ClassVar[tuple[str, ...]] = ()
    #: Whether training may start from the vectors of a TransE (`warm_epochs`).
    from_transe: ClassVar[bool] = False
    #: How it can be trained: by gradient, and otherwise.
    solvers: ClassVar[tuple[str, ...]] = ("gradient",)
    #: Whether triples are scored relation by relation, so that the work is matrix products.
    grouped: bool = False
    #: Whether the model has `differentiate` and `differentiate_excess`, so that a grouped model is trained without autograd.
    analytic_gradients: bool = False
    #: Whether scores are inner products, so that many heads can be scored against many tails without a vector for each pair.
    products: ClassVar[bool] = False
    #: The rules of its metric W_r (the table ``relation.metric``), or None where it has no metric.
    metric_rules: MetricRules | None = None
    #: The number of vectors u_m of a low-rank metric.
    rank: int = 0
    #: Whether it expects t at h + r (at h, if relations have no vector), in the space of entities.
    translates: ClassVar[bool] = False
    #: The relation's tables that translate. With zeros in their place, the score is the distance of two entities as the relation sees
    #: it. None where that is no distance.
    translation: tuple[str, ...] | None = None
    #: Whether entities have biases (the table ``entity.bias``), which are subtracted from the score.
    biases: bool = False
    #: Whether entities have vectors. Where they have none, rules are all there is.
    has_vectors: ClassVar[bool] = True
    #: Whether the score is the square root of what the `parts` of a residual add up to.
    root: bool = False
    #: Whether it is trained on paths as well, by an engine of its own.
    by_paths: ClassVar[bool] = False
    #: The paths of the graph that it was bound to (`bind`), if it reads paths.
    paths: GraphPaths | None = None
    #: How many of the best entities of its `first_stage` are put in another order by `reorder`.
    reranked: int = 0

    # ------------------------------------------------------------------ what a model states

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the dissimilarity of triples: lower is more plausible.

        The parameters come with any leading dimensions that broadcast against each other; the last ones are those of the tables. For
        a `grouped` model, `relation` is a single one, without leading dimensions.
        """
        raise NotImplementedError

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """Return the vector whose length is the score, or None where the score is no length. Called as `score` is."""
        return None

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return what each dimension of a residual adds to the score, or to its square if the score is a `root`."""
        raise NotImplementedError

    def metric_matrix(self, relation: int) -> npt.NDArray[np.float64] | None:
        """Return W_r as a symmetric k x k matrix in double precision, or None where the model has no metric."""
        return None

    def plain(self, norm: int | None = None) -> ResidualModel | None:
        """Return the model without its metric: a TransE on the same tables, or None where the model has no metric.

        Without a norm, it is the one the metric started as.
        """
        return None

    def excess(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """Return by how much triples violate the model's soft constraints, or None where it has none.

        Called as `score` is, for the positives of a batch. Its sum, times `soft_penalty`, is added to the loss.
        """
        return None

    def differentiate(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated:
        """Return the scores of triples of one relation and their backward pass; `head` and `tail` hold vectors as rows."""
        raise NotImplementedError

    def differentiate_excess(self, head: Array, relation: Mapping[str, Array], tail: Array) -> Differentiated | None:
        """Return the same for `excess`, or None where the model has no soft constraints."""
        return None

    @property
    def linear(self) -> bool:
        """Whether the score is linear in a candidate's vector and in squares, so that `linearise` applies."""
        return False

    def linearise(self, fixed: Array, relations: RelationRows, kept: Array | None = None) -> Linearised:
        """Return the scores of all candidates for some queries as linear functions of their vectors and of squares.

        `fixed` holds the vectors of the queries' entities, and `kept` what dropout multiplies them with once they are moved by the
        relation.
        """
        raise NotImplementedError

    def linear_scores(
        self, fixed: Rows, relation: Rows, candidates: Rows, at_head: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Return the negated scores of all candidates for some queries, by matrix products; see `linearise`.

        `fixed` and `relation` have a row for each query, and `at_head` tells of each whether the head is asked for.
        """
        raise NotImplementedError

    def adapt(self, graph: KnowledgeGraph, seed: int) -> None:
        """Compute tables that depend on the training triples, in place, before the first epoch."""

    def bind(self, graph: KnowledgeGraph) -> None:
        """Take note of a graph whose training triples the score reads beside the tables; most scores read none."""

    def first_stage(self) -> Model | None:
        """Return the model that ranks all entities before `reorder` ranks the best again; None where one stage is all."""
        return None

    def reorder(
        self,
        side: Side,
        fixed: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        answers: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Return the scores by which the best answers of the first stage are ranked in the end.

        Questions are sorted by relation. `answers` and `scores` are of shape (questions, `reranked`); -1 is no answer, and its score is
        infinite.
        """
        raise NotImplementedError

    def kernel(self) -> Kernel | None:
        """Return how the compiled kernels compute the score, or None where they cannot."""
        return None

    # ------------------------------------------------------------------ what all models share

    def inverted(self, triples: AnyTriples) -> AnyTriples:
        """Return triples (h, r, t) as (t, r + m, h), by which a directional model answers for their heads."""
        found = triples[:, [2, 1, 0]]
        found[:, 1] += self.graph_relations
        return found

    def score_triples(self, triples: Tensor) -> Tensor:
        """Return the score of each row of (head, relation, tail) ids; of a directional model, the mean of both directions."""
        if self.has_company:
            from transa.models.company import scores_in_company

            return scores_in_company(self, triples)
        if not self.directional:
            return self.score_rows(triples)
        return (self.score_rows(triples) + self.score_rows(self.inverted(triples))) / 2

    def score_rows(self, triples: Tensor) -> Tensor:
        """Return the score of each row of ids, the relation being a row of its tables: one direction of a directional model."""
        if not self.grouped:
            head, relation, tail = triples.unbind(1)
            return self.score(
                self.gather("entity", head), self.gather("relation", relation), self.gather("entity", tail)
            )
        scores = torch.empty(len(triples), dtype=self.entity.vector.dtype, device=triples.device)
        order = triples[:, 1].argsort(stable=True)
        relations, counts = torch.unique_consecutive(triples[order, 1], return_counts=True)
        for relation, rows in zip(relations, torch.split(order, counts.tolist()), strict=True):
            head, tail = triples[rows, 0], triples[rows, 2]
            one = self.gather("relation", relation)
            scores[rows] = self.score(self.gather("entity", head), one, self.gather("entity", tail))
        return scores

    def need_vectors(self, what: str) -> None:
        """Raise an `InputError` if entities have no vectors."""
        if not self.has_vectors:
            raise InputError(f"{what}: {self.label} alone have no vectors; train with `--with-rules` to have both")

    @property
    def title(self) -> str:
        """The label, with the norm where there is a choice."""
        return self.label

    def __repr__(self) -> str:
        chosen = "".join(f", {option}={getattr(self, option)!r}" for option in self.options)
        chosen += ", directional" if self.directional else ""
        return f"{type(self).__name__}({graph_size(self.num_entities, self.graph_relations)}, dim={self.dim}{chosen})"


def check_choice(field: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise an `InputError` that names the field if the value is not one of the choices."""
    if value not in choices:
        raise InputError(f"{field}: expected one of {', '.join(map(str, choices))}, found {value!r}")
