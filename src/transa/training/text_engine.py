"""Words, entities and relations in one space: entities are where the words of their texts put them.

Wang et al. (*Knowledge Graph and Text Jointly Embedding*, EMNLP 2014) and Zhong et al. (2015), who align both by descriptions, train
vectors of words and of entities side by side and pull those together that belong together. Here an entity has no vector of its own: it
is the sum of its words, weighted by rarity and scaled to length 1. So an entity that nobody has seen is as well placed as any other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from transa.data import KnowledgeGraph
from transa.data.text_vectors import TfIdf, entity_texts
from transa.models import Model, Rows
from transa.models.text_map import TextMap, WordMap
from transa.training.engine import EpochReport
from transa.training.recipe import Recipe
from transa.training.torch_softmax_engine import TorchSoftmaxEngine

#: Added to the root of the sum of squares in steps of Adagrad.
TINY = 1e-10


class TextEngine(TorchSoftmaxEngine):
    """Trains vectors of words and all that relations have by cross-entropy over entities, with Adagrad for words.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how. Words that stand in two texts of the graph get a vector.
    """

    name = "torch, texts"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        super().__init__(model, graph, recipe)
        texts = entity_texts(graph.entities)
        counted = TfIdf.learn(texts, dimensions=0)
        random = np.random.default_rng(recipe.seed)
        start = random.standard_normal((len(counted.words), model.dim)) / (2 * np.sqrt(model.dim))
        kind = model.entity.vector.dtype
        self._weights = counted.weights(texts)
        self._words = torch.from_numpy(start).to(kind)
        self._squares = torch.zeros_like(self._words)
        shapes = {name: tuple(table.shape[1:]) for name, table in model.entity.items()}
        width = sum(int(np.prod(shape)) for shape in shapes.values())
        matrix = torch.zeros(model.dim + 1, width, dtype=kind)
        matrix[: model.dim, : model.dim] = torch.eye(model.dim, dtype=kind)
        words = TfIdf(counted.words, counted.rarity, self._words.numpy())
        model.words = WordMap(words, TextMap(matrix, shapes, unit=True))
        self._placed = self._place(torch.arange(0))
        self._place_all()

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        report = super().train_epoch(number)
        self._place_all()
        return report

    def _place_all(self) -> None:
        every = torch.arange(self.model.num_entities)
        for some in torch.split(every, 1 << 14):
            self.model.entity["vector"][some] = self._place(some)[0]

    def _place(self, ids: Tensor, *, trained: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Return where the texts of some entities put them, the words in these texts, and the vectors of these words.

        Entities without a known word are at 0. If they are trained, the vectors of the words collect gradients.
        """
        rows = self._weights[ids.numpy()]
        touched, places = np.unique(rows.indices, return_inverse=True)
        chosen = torch.from_numpy(touched.astype(np.int64))
        words = self._words[chosen].requires_grad_(trained)
        weights = torch.from_numpy(rows.data).to(words)
        starts = torch.from_numpy(rows.indptr[:-1].astype(np.int64))
        sums = embedding_bag(torch.from_numpy(places), words, starts, mode="sum", per_sample_weights=weights)
        return normalize(sums, dim=1), chosen, words

    def _leaves(self, role: str, ids: Tensor | None) -> Rows:
        """Return rows of the tables; those of entities come from their words."""
        rows = super()._leaves(role, ids)
        if role == "entity":
            self._placed = self._place(torch.arange(self.model.num_entities) if ids is None else ids, trained=True)
            rows["vector"] = self._placed[0].detach().requires_grad_()
        return rows

    def _step(
        self, role: str, ids: Tensor | slice, places: Tensor | slice, leaves: Rows, learning_rate_factor: float
    ) -> None:
        if role == "entity":
            placed, chosen, words = self._placed
            placed.backward(leaves.pop("vector").grad)  # type: ignore[no-untyped-call]
            assert words.grad is not None  # noqa: S101
            squares = self._squares[chosen] + words.grad.square()
            rate = self.recipe.learning_rate * learning_rate_factor
            self._words[chosen] = words.detach() - rate * words.grad / (squares.sqrt() + TINY)
            self._squares[chosen] = squares
        super()._step(role, ids, places, leaves, learning_rate_factor)

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state; the words themselves are kept with the model."""
        return {**super().state(), "squares": self._squares}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        super().load_state(state)
        self._squares.copy_(state["squares"])
