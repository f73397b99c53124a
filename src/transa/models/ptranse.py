"""PTransE: translations, and paths of relations that lead from head to tail.

Lin, Liu, Luan, Sun, Rao, Liu: *Modeling Relation Paths for Representation Learning of Knowledge Bases*, EMNLP 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.errors import InputError
from transa.models.base import Model, Rows, check_choice
from transa.models.residual_model import ResidualModel
from transa.models.transa import TransA
from transa.models.transe import TransE

if TYPE_CHECKING:
    from transa.choices import Side
    from transa.data import KnowledgeGraph
    from transa.kernels.path_terms import Compositions

Composition = Literal["add", "mul", "rnn"]
Pooling = Literal["mean", "best"]


class PTransE(ResidualModel):
    """``|h + r - t| + |t + r' - h|`` less what the paths between h and t say for r.

    r' is the vector of the inverse relation. A path p of one or two relations becomes a vector: their sum (``"add"``), their product
    entry by entry (``"mul"``), or A r_1 + B r_2 (``"rnn"``, the recurrent network of the authors' program, whose function is the
    identity). A pair's paths count by their reliability R(p | h, t) and by P(r | p), and each adds the bonus less ``|p - r|``.

    All entities are ranked by the translations, and the best of them again with their paths.

    Neighbours: TransE has no inverse and no paths. With W_r in the place of the norm (`weighted`), both distances are those of TransA.

    Parameters
    ----------
    norm
        1, or 2 for the square of the L2 norm.
    weighted
        Weigh the squares with a diagonal metric of the relation.
    composition
        How a path becomes a vector.
    reranked
        How many of the best entities are ranked again with their paths.
    path_weight, path_bonus
        What the paths are multiplied with, and what a path adds if its vector is that of the relation.
    path_relevance
        Whether a path is multiplied with P(r | p).
    path_pooling
        Whether all paths count, by their reliability, or the best one alone.
    inverse_paths
        Whether the paths from tail to head count for the inverse relation.
    own_paths
        Whether a triple of the graph counts as a path from its head to its tail.
    """

    name = "ptranse"
    label = "PTransE"
    formula = "|h + r - t| + |t + r' - h| - sum_p R(p|h,t) P(r|p) (b - |p - r|)"
    size = "n k + 2 m k"
    cost = "2 k"
    options: ClassVar[tuple[str, ...]] = (
        *("norm", "weighted", "composition", "reranked", "path_weight", "path_bonus", "path_relevance"),
        *("path_pooling", "inverse_paths", "own_paths"),
    )
    constraints: ClassVar[dict[str, str]] = {
        "relation.weight": "non_negative",
        "relation.inverse_weight": "non_negative",
    }
    translates = False
    translation: tuple[str, ...] | None = ("vector", "inverse_vector")
    by_paths = True

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        dim: int = 50,
        norm: int = 1,
        weighted: bool = False,
        composition: Composition = "add",
        path_pooling: Pooling = "mean",
        **paths: float,
    ) -> None:
        super().__init__(num_entities, num_relations, dim, norm)
        check_choice("composition", composition, ("add", "mul", "rnn"))
        if weighted and norm != 2:
            raise InputError(f"weighted: a metric weighs squares; expected norm 2, found {norm}")
        check_choice("path_pooling", path_pooling, ("mean", "best"))
        self.weighted = weighted
        self.path_pooling = path_pooling
        self.composition = composition
        self.reranked = int(paths.get("reranked", 500))
        self.path_weight = paths.get("path_weight", 1.0)
        self.path_bonus = paths.get("path_bonus", 10.0)
        self.path_relevance = bool(paths.get("path_relevance", True))
        self.inverse_paths = bool(paths.get("inverse_paths", True))
        self.own_paths = bool(paths.get("own_paths", False))

    # ------------------------------------------------------------------ the translations

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the vector of the inverse, and the weights of both."""
        names = ("vector", "inverse_vector", *(("weight", "inverse_weight") if self.weighted else ()))
        return dict.fromkeys(names, (self.dim,))

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the two matrices of the recurrent network."""
        return {"matrices": (2, self.dim, self.dim)} if self.composition == "rnn" else {}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Metrics and matrices start as the identity."""
        if table in ("weight", "inverse_weight"):
            return torch.ones(shape)
        if table == "matrices":
            return torch.eye(self.dim).repeat(2, 1, 1)
        return super().start(table, shape, width, generator)

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return h + r - t and, after it, t + r' - h."""
        there = head.vector + relation.vector - tail.vector
        return torch.cat([there, tail.vector + relation.inverse_vector - head.vector], dim=-1)

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        """Return the absolute values, the squares or the weighted squares of the entries."""
        parts = super().parts(residual, relation)
        return parts * torch.cat([relation.weight, relation.inverse_weight], dim=-1) if self.weighted else parts

    def score_triples(self, triples: Tensor) -> Tensor:
        """Return the score of each row of ids, with its paths if the graph is known."""
        scores = super().score_triples(triples)
        if self.paths is None or not self.path_weight or not len(triples):
            return scores
        ids = triples.cpu().numpy()
        order = np.argsort(ids[:, 1], kind="stable")
        terms = np.empty(len(ids))
        terms[order] = self._terms("tail", ids[order, 0], ids[order, 1], ids[order, 2:3])[:, 0]
        return scores - torch.from_numpy(terms).to(scores)

    def first_stage(self) -> Model:
        """Return the translations alone: h and -h after each other make them a TransE, or a TransA, of twice the dimension."""
        sizes = self.num_entities, self.num_relations, 2 * self.dim
        stage: ResidualModel = TransE(*sizes, norm=self.norm, squared=self.norm == 2)
        if self.weighted:
            stage = TransA(*sizes, metric="diagonal")
        if self.entity:
            both, relation = self.entity.vector, self.relation
            stage.entity = Rows({"vector": torch.cat([both, -both], dim=1)})
            stage.relation = Rows({"vector": torch.cat([relation.vector, relation.inverse_vector], dim=1)})
            if self.weighted:
                stage.relation["metric"] = torch.cat([relation.weight, relation.inverse_weight], dim=1).unsqueeze(1)
        return stage

    # ------------------------------------------------------------------ the paths

    def bind(self, graph: KnowledgeGraph) -> None:
        """Take the paths of a graph's training triples."""
        from transa.data.paths import GraphPaths

        self.paths = GraphPaths.of(graph.train, len(graph.entities), len(graph.relations))

    def adapt(self, graph: KnowledgeGraph, seed: int) -> None:
        """Take the paths of the graph."""
        self.bind(graph)

    def reorder(
        self,
        side: Side,
        fixed: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        answers: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Return the scores of some answers with their paths."""
        return scores - self._terms(side, fixed, relations, answers)

    def _terms(
        self,
        side: Side,
        fixed: npt.NDArray[np.int64],
        relations: npt.NDArray[np.int64],
        answers: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.float64]:
        """Return what paths add for each answer to each question; questions are sorted by relation."""
        if self.paths is None:
            raise InputError("the model has no graph whose paths it could read; call bind(graph)")
        from transa.kernels.path_terms import PathQuestions, PathRules, path_terms

        steps = relations + (self.num_relations if side == "head" else 0)
        borders = np.append(np.flatnonzero(np.diff(steps, prepend=-1)), len(steps))
        asked = PathQuestions(fixed, steps, np.ascontiguousarray(answers), borders)
        rules = PathRules(
            self.path_bonus, self.path_relevance, self.inverse_paths, self.own_paths, self.path_pooling == "best"
        )
        terms = path_terms(self.paths.index, self.compositions(), self.paths.relevance, asked, rules)
        return self.path_weight * terms

    def compositions(self) -> Compositions:
        """Return what the kernels need to compose the vectors of paths."""
        from transa.kernels.codes import ADD, DIAGONAL, L1, MUL, SQUARED_L2
        from transa.kernels.path_terms import Compositions

        relation = self.relation
        vectors = torch.cat([relation.vector, relation.inverse_vector]).numpy()
        left = right = vectors
        if self.composition == "rnn":
            left, right = (np.ascontiguousarray(vectors @ matrix.T) for matrix in self.shared.matrices.numpy())
        weights = vectors[:, :0]
        if self.weighted:
            weights = torch.cat([relation.weight, relation.inverse_weight]).numpy()
        norm = L1 if self.norm == 1 else DIAGONAL if self.weighted else SQUARED_L2
        kind = MUL if self.composition == "mul" else ADD
        return Compositions(vectors, left, right, np.ascontiguousarray(weights), kind, norm)

    @property
    def title(self) -> str:
        """The label with the composition and the norm."""
        return f"{self.label} ({self.composition.upper()}, 2-step), L{self.norm}"
